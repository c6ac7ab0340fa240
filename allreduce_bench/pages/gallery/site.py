"""The pages of the gallery and the folder that they are written to."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

from ...algorithms import builtin
from ...runs.atomic_write import unique_name
from ...schedule.algorithm import Algorithm
from ...schedule.topology import Topology
from ...units import format_rate, format_size, format_time
from ..subject import refuse_many_ranks
from .charts import line_chart, map_chart
from .claims import COMPARED, PRICES, SIZES, steps_of, times_over_ranks
from .facts import PER_NODE, Facts, facts, promises
from .glossary import glossary_text, sections
from .machines import MACHINES, WinnerMap, winners_on
from .rendering import render, render_algorithm
from .telling import telling
from .transfers import transfers

COMPARED_ON = (16, 24)  # ranks: a power of two, and none
GROWTH = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # ranks
TRIED = range(2, 17)  # ranks at which promises are tried
LESSON_RANKS, ELEMENTS = (2, 4, 8, 16, 32), 1 << 20
FEWEST, MOST = 16, 1024  # ranks between which a growth is told


class SiteError(ValueError):
    """The folder that was asked for cannot be written."""


def write_site(folder: Path, ranks: int, names: str = "rank") -> Path:
    """Write all pages to a new `folder`, with pictures of `ranks` ranks, called as in `names`; return the first page.

    The folder is whole or absent. Raises SiteError where it exists, OSError where it cannot be written, AlgorithmError
    where a picture cannot show so many ranks.
    """
    if folder.exists() or folder.is_symlink():
        raise SiteError(f"-o {folder}: exists; the gallery is written to a new folder, so name another or remove it")
    refuse_many_ranks(ranks)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.parent / f"{folder.name}.{unique_name()}.tmp"
    beside.mkdir()
    try:
        for name, text in pages(ranks, names):
            (beside / name).write_text(text, encoding="utf-8")
        beside.rename(folder)
    except BaseException as error:
        rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError):
            error.filename = str(folder)  # whose name the user knows
        raise
    return folder / "index.html"


def pages(ranks: int, names: str) -> Iterator[tuple[str, str]]:
    """The name and the text of every file of the gallery; `ranks` and `names` as in `pages.page`.

    Raises AlgorithmError where a picture cannot show so many ranks.
    """
    own = builtin()
    kept = {name: promises(algorithm, TRIED) for name, algorithm in own.items()}
    maps = [(won, map_chart(won)) for won in map(winners_on, MACHINES)]
    told = {name: telling(algorithm) for name, algorithm in own.items()}
    counted = {name: _counted(algorithm) for name, algorithm in own.items()}
    tables = [_compared(counted, ranks) for ranks in COMPARED_ON]
    yield "index.html", render("index", "All-reduce algorithms", told=told, tables=tables, kept=kept, tried=TRIED)
    yield "lesson.html", render("lesson", "The first lesson, counted", **_lesson())
    yield "maps.html", render("maps", "Who wins where", maps=maps, **_winners([won for won, _ in maps]))
    yield "glossary.html", render("glossary", "Glossary", sections=sections(glossary_text()))
    order = list(own)
    for place, (name, algorithm) in enumerate(own.items()):
        values = {
            "own": algorithm,
            "told": told[name],
            "kept": kept[name],
            "maps": maps,
            **_growth(algorithm, counted[name]),
        }
        beside = {"before": order[place - 1], "after": order[(place + 1) % len(order)]}
        yield f"{name}.html", render_algorithm(name, ranks, names, **values, **beside)


def _counted(algorithm: Algorithm) -> list[Facts]:
    """The facts of `algorithm` at those of GROWTH on which it can run."""
    layouts = [Topology.filled(ranks, PER_NODE) for ranks in GROWTH]
    return [facts(algorithm, layout) for layout in layouts if not algorithm.unmet(len(layout.node_of), layout)]


def _compared(counted: Mapping[str, list[Facts]], ranks: int) -> list[Facts]:
    """The facts of all algorithms that can run on `ranks`, the fewest rounds first."""
    rows = [row for of_one in counted.values() for row in of_one if row.ranks == ranks]
    return sorted(rows, key=lambda row: (row.rounds, row.sent))


def _growth(algorithm: Algorithm, counted: list[Facts]) -> dict[str, Any]:
    """The facts of `algorithm` over ranks, and the numbers of ranks on which it cannot run."""
    missing = [str(ranks) for ranks in GROWTH if ranks not in {row.ranks for row in counted}]
    return {
        "growth": counted,
        "missing": f"{', '.join(missing)} ranks" if missing else "",
    }


def _winners(maps: list[WinnerMap]) -> dict[str, Any]:
    """Who wins somewhere, who nowhere, and a command that shows the last map in a terminal."""
    won = {name: sum(one.cells_of(name) for one in maps) for name in builtin()}
    machine = MACHINES[1].between
    rate = format_rate(1 / machine.beta_s_per_byte).replace(" ", "").removesuffix("/s")
    prices = f"--alpha {format_time(machine.alpha_s).replace(' ', '').replace('.0', '')} --bandwidth {rate}"
    return {
        "winners": [name for name, cells in won.items() if cells],
        "losers": [name for name, cells in won.items() if not cells],
        "example_command": f"allreduce-bench predict -n 2-64 {prices} --map",
    }


def _lesson() -> dict[str, Any]:
    """What the page of the first lesson shows."""
    lines = times_over_ranks()
    growths = [(nbytes, [line for line in lines if line.nbytes == nbytes]) for nbytes in SIZES]
    return {
        "elements": ELEMENTS,
        "transfers": [(ranks, transfers(ranks, ELEMENTS)) for ranks in LESSON_RANKS],
        "steps": steps_of(),
        "charts": [line_chart(f"{format_size(nbytes)}: time over ranks", of_size) for nbytes, of_size in growths],
        "growths": growths,
        "ring_growths": [(nbytes, of_size[0].growth(FEWEST, MOST)) for nbytes, of_size in growths],
        "compared": COMPARED,
        "fewest": FEWEST,
        "most": MOST,
        "prices": f"{format_time(PRICES.alpha_s)} a message and {format_rate(1 / PRICES.beta_s_per_byte)}",
    }

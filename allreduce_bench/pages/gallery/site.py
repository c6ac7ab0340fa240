"""Glossary of the documentation as values, and the pages and folder of the gallery."""

import re
import site
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

from ...algorithms import builtin
from ...machine.forks import in_forks
from ...runs.files import unique_name
from ...schedule.algorithm import Algorithm, Topology
from ...units import format_rate, format_size, format_time, in_ranks
from ...watching.progress import Progress, unsaid
from ...web import asset
from ..drawing import colour_of, refuse_many_ranks
from ..page import environment, frame, page
from .charts import MACHINES, WinnerMap, codes, line_chart, map_chart, winners_on
from .facts import (
    CLAIM_ALGORITHMS,
    CLAIM_PRICES,
    CLAIM_SIZES,
    PER_NODE,
    PIECES,
    Facts,
    facts,
    promises,
    steps_of,
    telling,
    times_over_ranks,
    transfers,
)

FILE = "glossary.md"
ROW = re.compile(r"\| (.+?) \| (.+) \|")
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
CODE = re.compile(r"`([^`]+)`")


class Piece(NamedTuple):
    """Part of a sentence; `code`: what a user types or reads on the screen."""

    text: str
    code: bool


class Term(NamedTuple):
    """Term and its meaning, in pieces; `anchor` is its place on a page."""

    anchor: str
    term: tuple[Piece, ...]
    meaning: tuple[Piece, ...]


class Section(NamedTuple):
    """Terms of one field."""

    title: str
    terms: tuple[Term, ...]


class GlossaryError(ValueError):
    """Error: the glossary is not where the package keeps it."""


def glossary_text() -> str:
    """Return the Markdown of the glossary, from the checkout or as installed. Raises GlossaryError if it is missing."""
    places = [Path(__file__).parents[3] / "docs"]
    installed = [sysconfig.get_path("data"), site.getuserbase()]
    places += [Path(data) / "share" / "allreduce-bench" / "docs" for data in installed]
    for place in places:
        if (place / FILE).is_file():
            return (place / FILE).read_text(encoding="utf-8")
    raise GlossaryError(f"no {FILE} found in {', '.join(map(str, places))}; reinstall the package")


def sections(text: str) -> list[Section]:
    """Return the tables below the second-level headings of `text`, without link targets, absent from the gallery."""
    found, anchors = [], set[str]()
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, table = part.partition("\n")
        rows = [match.groups() for match in map(ROW.fullmatch, table.splitlines()) if match]
        terms = [
            Term(_anchor(term, anchors), pieces(term), pieces(LINK.sub(r"\1", meaning)))
            for term, meaning in rows
            if term != "term" and not term.startswith("---")
        ]
        found.append(Section(title.strip(), tuple(terms)))
    return found


def pieces(text: str) -> tuple[Piece, ...]:
    """Split `text` into code between backticks and the rest."""
    return tuple(Piece(part, number % 2 == 1) for number, part in enumerate(CODE.split(text)) if part)


def _anchor(term: str, taken: set[str]) -> str:
    """Return an anchor for `term` that is not in `taken`, and add it there."""
    name = anchor = re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-") or "term"
    number = 2
    while anchor in taken:
        anchor, number = f"{name}-{number}", number + 1
    taken.add(anchor)
    return anchor


# Pages of the gallery, their words and numbers, and their folder


# Pages
PAGES_PACKAGE = "allreduce_bench.pages"  # holds the templates and styles
FIRST_PAGES = {"index.html": "All algorithms", "lesson.html": "First lesson", "maps.html": "Who wins where"}
LAST_PAGES = {"glossary.html": "Glossary"}
DASHES = ("", "8 3", "2 3", "10 3 2 3")  # of the lines of CLAIM_ALGORITHMS

# Contents
COMPARED_RANKS = (16, 24)  # one power of two, one not
GROWTH_RANKS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
TRIED_RANKS = range(2, 17)  # ranks at which promises are proved
LESSON_RANKS, ELEMENTS = (2, 4, 8, 16, 32), 1 << 20
GROWTH_FROM, GROWTH_TO = 16, 1024  # ranks whose times are compared


class SiteError(ValueError):
    """Error: the folder for the gallery cannot be written."""


class Look(NamedTuple):
    """Marks that distinguish algorithms in pictures: colours, letters, and dashes of lines."""

    colours: Mapping[str, str]
    codes: Mapping[str, str]
    dashes: Mapping[str, str]


def write_site(folder: Path, ranks: int, names: str = "rank", progress: Progress = unsaid) -> Path:
    """Write all pages to a new `folder`, with pictures of `ranks` ranks named as `names`; return the first page.

    The folder is complete or absent. Raises SiteError if it exists, OSError if it cannot be written, AlgorithmError if
    a picture cannot show so many ranks.
    """
    if folder.exists() or folder.is_symlink():
        raise SiteError(f"-o {folder}: exists; the gallery is written to a new folder, so name another or remove it")
    refuse_many_ranks(ranks)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.parent / f"{folder.name}.{unique_name()}.tmp"
    beside.mkdir()
    try:
        for name, text in pages(ranks, names, progress):
            (beside / name).write_text(text, encoding="utf-8")
        beside.rename(folder)
    except BaseException as error:
        rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError):
            error.filename = str(folder)  # the path that the user gave, not the temporary one
        raise
    return folder / "index.html"


def pages(ranks: int, names: str, progress: Progress = unsaid) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every file of the gallery; `ranks` and `names` as in `pages.page`.

    `progress` is told what comes next. Raises AlgorithmError if a picture cannot show so many ranks.
    """
    own = builtin()
    parts = [
        _Part(f"{FIRST_PAGES['lesson.html']}: counts messages and bytes", _lesson),
        *(_Part("draws the maps of who wins where", partial(winners_on, machine)) for machine in MACHINES),
        *(_Part(f"{name}: proves what it promises", partial(promises, own[name], TRIED_RANKS)) for name in own),
    ]
    lesson, *rest = _made(parts, progress)
    maps = [(won, map_chart(won)) for won in rest[: len(MACHINES)]]
    kept = dict(zip(own, rest[len(MACHINES) :]))
    counted = {}
    for name, algorithm in own.items():
        progress(f"{name}: counts messages and bytes")
        counted[name] = _counted(algorithm)
    tables = [_compared(counted, ranks) for ranks in COMPARED_RANKS]
    yield "index.html", render("index", "All-reduce algorithms", tables=tables, kept=kept, tried=TRIED_RANKS)
    yield "lesson.html", lesson
    yield (
        "maps.html",
        render("maps", "Who wins where", maps=maps, tables=tables, kept=kept, **_winners([won for won, _ in maps])),
    )
    yield "glossary.html", render("glossary", "Glossary", sections=sections(glossary_text()))
    order = list(own)

    def of_algorithm(name: str) -> str:
        place = order.index(name)
        values = {
            "own": own[name],
            "told": telling(own[name]),
            "kept": kept[name],
            "maps": maps,
            **_growth(own[name], counted[name]),
        }
        beside = {"before": order[place - 1], "after": order[(place + 1) % len(order)]}
        return render_algorithm(name, ranks, names, **values, **beside)

    texts = _made([_Part(f"{name}: draws its page", partial(of_algorithm, name)) for name in order], progress)
    yield from ((f"{name}.html", text) for name, text in zip(order, texts))


class _Part(NamedTuple):
    """A part of the gallery that any process can make."""

    doing: str
    make: Callable[[], Any]


def _made(parts: Sequence[_Part], progress: Progress) -> list[Any]:
    return in_forks(lambda part: part.make(), parts, lambda part: progress(part.doing))


def _counted(algorithm: Algorithm) -> list[Facts]:
    """Return the facts of `algorithm` at those of GROWTH_RANKS on which it can run."""
    layouts = [Topology.filled(ranks, PER_NODE) for ranks in GROWTH_RANKS]
    return [facts(algorithm, layout) for layout in layouts if not algorithm.unmet(len(layout.node_of), layout)]


def _compared(counted: Mapping[str, list[Facts]], ranks: int) -> list[Facts]:
    """Return the facts of all algorithms that can run on `ranks`, the fewest rounds first."""
    rows = [row for of_one in counted.values() for row in of_one if row.ranks == ranks]
    return sorted(rows, key=lambda row: (row.rounds, row.sent))


def _growth(algorithm: Algorithm, counted: list[Facts]) -> dict[str, Any]:
    """Return the facts of `algorithm` over ranks, and the numbers of ranks on which it cannot run."""
    missing = [str(ranks) for ranks in GROWTH_RANKS if ranks not in {row.ranks for row in counted}]
    return {
        "growth": counted,
        "missing": f"{', '.join(missing)} ranks" if missing else "",
    }


def _winners(maps: list[WinnerMap]) -> dict[str, Any]:
    """Return who wins somewhere, who nowhere, and a command that prints the second machine's map in a terminal."""
    won = {name: sum(one.cells_of(name) for one in maps) for name in builtin()}
    machine = MACHINES[1].between
    rate = format_rate(1 / machine.beta_s_per_byte).replace(" ", "").removesuffix("/s")
    prices = f"--alpha {format_time(machine.alpha_s).replace(' ', '').replace('.0', '')} --bandwidth {rate}"
    return {
        "winners": [name for name, cells in won.items() if cells],
        "losers": [name for name, cells in won.items() if not cells],
        "example_command": f"allreduce-bench predict -n 2-64 {prices} --map",
    }


def _lesson() -> str:
    """Return the page of the first lesson."""
    lines = times_over_ranks()
    growths = [(size_bytes, [line for line in lines if line.size_bytes == size_bytes]) for size_bytes in CLAIM_SIZES]
    values = {
        "elements": ELEMENTS,
        "transfers": [(ranks, transfers(ranks, ELEMENTS)) for ranks in LESSON_RANKS],
        "steps": steps_of(),
        "charts": [
            line_chart(f"{format_size(size_bytes)}: time over ranks", of_size) for size_bytes, of_size in growths
        ],
        "growths": growths,
        "ring_growths": [(size_bytes, of_size[0].growth(GROWTH_FROM, GROWTH_TO)) for size_bytes, of_size in growths],
        "compared": CLAIM_ALGORITHMS,
        "fewest": GROWTH_FROM,
        "most": GROWTH_TO,
        "prices": f"{format_time(CLAIM_PRICES.alpha_s)} a message and {format_rate(1 / CLAIM_PRICES.beta_s_per_byte)}",
    }
    return render("lesson", "The first lesson, counted", **values)


def share(value: float) -> str:
    """Return a volume as a share of the vector: `1.875 n`, `15 n`, `0`."""
    return f"{value:.4g} n" if value else "0"


def kept_at(kept: Sequence[int], tried: Sequence[int]) -> str:
    """Return at which `tried` ranks a promise is kept: `yes`, `no`, `2 ranks only`, `even p, and p = 3`."""
    if set(kept) == set(tried):
        return "yes"
    if not kept:
        return "no"
    for name, pattern in (("even p", _even(tried)), ("p = 2^k", _powers(tried))):
        if len(pattern) > 1 and pattern <= set(kept):
            others = sorted(set(kept) - pattern)
            return name + (f", and p = {', '.join(map(str, others))}" if others else "")
    return f"{in_ranks(kept)} only"


def layout_text(row: Facts) -> str:
    """Return the layout on which the facts of a table were counted."""
    layout = f"{row.ranks} ranks on {len(row.topology.nodes)} nodes of {PER_NODE}"
    return f"{layout}; trees cut the vector into {PIECES} segments"


def network_text(row: Facts) -> str:
    """Return the layouts on which the facts about networks were counted."""
    torus = "x".join(map(str, row.torus))
    return f"{row.ranks} ranks, on {len(row.topology.nodes)} nodes of {PER_NODE}, and on a torus of {torus}"


def times_as_long(factor: float) -> str:
    """Return `1.13 times`, `34 times`."""
    return f"{factor:.3g} times" if factor < 10 else f"{factor:.0f} times"


def _even(tried: Sequence[int]) -> set[int]:
    return {number for number in tried if number % 2 == 0}


def _powers(tried: Sequence[int]) -> set[int]:
    return {number for number in tried if number & (number - 1) == 0}


TEMPLATE_WORDS = (share, kept_at, pieces, layout_text, network_text, times_as_long, format_size)


def render(template: str, title: str, **values: Any) -> str:
    """Render a page without script from a template and `values`."""
    made = environment().get_template(f"gallery_{template}.html.j2")
    shown = shared(f"{template}.html", title) | values
    return made.render(shown | frame(more_style=asset(PAGES_PACKAGE, "gallery.css")))


def render_algorithm(name: str, ranks: int, names: str, **values: Any) -> str:
    """Render an algorithm's page with its moving picture on `ranks`, or on the most ranks below on which it can run."""
    own = builtin()[name]
    ranks = next(number for number in range(ranks, 0, -1) if not own.unmet(number, Topology.one_node(number)))
    shown = shared(f"{name}.html", name) | values
    style = asset(PAGES_PACKAGE, "gallery.css")
    return page([name], ranks, names=names, template="gallery_algorithm.html.j2", style=style, **shown)


def shared(file: str, title: str) -> dict[str, Any]:
    """Return the values common to all templates of the gallery; `file` is the page rendered."""
    names = list(builtin())
    colours = {name: colour_of(place, len(names)) for place, name in enumerate(names)}
    return {word.__name__: word for word in TEMPLATE_WORDS} | {
        "here": file,
        "title": title,
        "site_pages": [*{**FIRST_PAGES, **{f"{name}.html": name for name in names}, **LAST_PAGES}.items()],
        "look": Look(colours, codes(names), dict(zip(CLAIM_ALGORITHMS, DASHES))),
        "declared": builtin(),
        "segments": PIECES,
        "per_node": PER_NODE,
    }

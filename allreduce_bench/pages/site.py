"""Pages of `explain --all`: a folder with a page about each algorithm, and a first page that leads to them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

from markupsafe import Markup

from ..algorithms import builtin
from ..machine.forks import in_forks
from ..runs.files import unique_name
from ..schedule.algorithm import Algorithm, Topology
from ..units import in_ranks
from ..watching.progress import Progress, unsaid
from ..web import asset
from .drawing import drawing, refuse_many_ranks
from .facts import PER_NODE, PIECES, Facts, facts, promises, telling
from .layout import layout_of
from .page import environment, frame, page
from .pictures import Scene, definitions, moment
from .teaching import FIRST

COMPARED_RANKS = (16, 24)  # one power of two, one not
GROWTH_RANKS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
TRIED_RANKS = range(2, 17)  # ranks at which promises are proved


class SiteError(ValueError):
    """Error: the folder for the pages cannot be written."""


def write_site(folder: Path, ranks: int, progress: Progress = unsaid) -> Path:
    """Write all pages to a new `folder`, with pictures of `ranks` ranks; return the first page.

    The folder is complete or absent. Raises SiteError if it exists, OSError if it cannot be written, AlgorithmError if
    a picture cannot show so many ranks.
    """
    if folder.exists() or folder.is_symlink():
        raise SiteError(f"-o {folder}: exists; the pages are written to a new folder, so name another or remove it")
    refuse_many_ranks(ranks)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.parent / f"{folder.name}.{unique_name()}.tmp"
    beside.mkdir()
    try:
        for name, text in pages(ranks, progress):
            (beside / name).write_text(text, encoding="utf-8")
        beside.rename(folder)
    except BaseException as error:
        rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError):
            error.filename = str(folder)  # the path that the user gave, not the temporary one
        raise
    return folder / "index.html"


def pages(ranks: int, progress: Progress = unsaid) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every page; `progress` is told what comes next."""
    own = builtin()
    order = [*FIRST, *(name for name in own if name not in FIRST)]
    made = in_forks(
        lambda name: _page_and_facts(own[name], ranks, order), order, lambda name: progress(f"{name}: proves and draws")
    )
    counted = {name: found for name, (_, found) in zip(order, made)}
    tables = [_rows_on_ranks(counted, compared) for compared in COMPARED_RANKS]
    kept = {name: found["kept"] for name, found in counted.items()}
    first = [(own[name], _small_picture(name, ranks)) for name in FIRST]
    others = [own[name] for name in order if name not in FIRST]
    yield "index.html", _render_index(first=first, others=others, tables=tables, kept=kept, ranks=ranks)
    yield from ((f"{name}.html", text) for name, (text, _) in zip(order, made))


def _page_and_facts(algorithm: Algorithm, ranks: int, order: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the page of an algorithm, and what the first page says of it."""
    place = order.index(algorithm.name)
    layouts = [Topology.filled(number, PER_NODE) for number in GROWTH_RANKS]
    growth = [facts(algorithm, layout) for layout in layouts if not algorithm.unmet(len(layout.node_of), layout)]
    found: dict[str, Any] = {"growth": growth, "kept": promises(algorithm, TRIED_RANKS)}
    missing = [number for number in GROWTH_RANKS if number not in {row.ranks for row in growth}]
    values: dict[str, Any] = {
        "own": algorithm,
        "told": telling(algorithm),
        "missing": in_ranks(missing) if missing else "",
        "before": order[place - 1],
        "following": order[(place + 1) % len(order)],
    }
    most = next(number for number in range(ranks, 0, -1) if not algorithm.unmet(number, Topology.one_node(number)))
    text = page(
        [algorithm.name],
        most,
        template="site_algorithm.html.j2",
        style=_style(),
        **found,
        **values,
        **_values_of_tables(),
    )
    return text, found


def _style() -> Markup:
    return asset(__package__, "site.css")


def _values_of_tables() -> dict[str, Any]:
    return {"share": share, "promise_words": promise_words, "segments": PIECES, "per_node": PER_NODE}


def _rows_on_ranks(counted: dict[str, dict[str, Any]], ranks: int) -> list[Facts]:
    """Return the facts of all algorithms that can run on `ranks`, the fewest rounds first."""
    rows = [row for found in counted.values() for row in found["growth"] if row.ranks == ranks]
    return sorted(rows, key=lambda row: (row.rounds, row.sent))


def _small_picture(name: str, ranks: int) -> Markup:
    """Return the SVG of the first round, for a small picture without words."""
    drawn = drawing(name, ranks)
    scene = Scene(drawn, layout_of(drawn), FIRST.index(name))
    return Markup(
        f'<svg viewBox="0 0 640 {scene.layout.height}" role="img" aria-label="The first round of {name}">'
        f"<defs>{definitions(scene, named=False)}</defs>{moment(scene, 0)}</svg>"
    )


def _render_index(**values: Any) -> str:
    template = environment().get_template("site_index.html.j2")
    return template.render(**frame(more_style=_style()), tried=TRIED_RANKS, **values, **_values_of_tables())


def share(value: float) -> str:
    """Return a volume as a share of the vector: `1.875 n`, `15 n`, `0`."""
    return f"{value:.4g} n" if value else "0"


def promise_words(kept: Sequence[int], tried: Sequence[int]) -> str:
    """Return at which `tried` ranks a promise is kept: `yes`, `no`, `2 ranks only`, `even p, and p = 3`."""
    if set(kept) == set(tried):
        return "yes"
    if not kept:
        return "no"
    even, powers = ({n for n in tried if n % 2 == 0}, {n for n in tried if n & (n - 1) == 0})
    for name, pattern in (("even p", even), ("p = 2^k", powers)):
        if len(pattern) > 1 and pattern <= set(kept):
            others = sorted(set(kept) - pattern)
            return name + (f", and p = {', '.join(map(str, others))}" if others else "")
    return f"{in_ranks(kept)} only"

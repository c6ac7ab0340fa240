"""Pages of `explain --all`: a folder with a page about each algorithm, and a first page that leads to them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from textwrap import dedent
from typing import NamedTuple

from markupsafe import Markup

from ..algorithms import builtin
from ..machine.forks import in_forks
from ..runs.files import unique_name
from ..schedule.algorithm import Algorithm, Topology
from ..watching.progress import Progress, unsaid
from ..web import asset
from .drawing import drawing, refuse_many_ranks
from .layout import layout_of
from .page import environment, frame, page, values_of_ways
from .pictures import Scene, definitions, moment
from .teaching import FIRST


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
    yield (
        "index.html",
        environment()
        .get_template("site_index.html.j2")
        .render(
            **frame(more_style=_style()),
            **values_of_ways(order, ranks, None),
            ranks=ranks,
            named=[],
            first=[(own[name], _small_picture(name, ranks)) for name in FIRST],
            others=[own[name] for name in order if name not in FIRST],
        ),
    )
    texts = in_forks(
        lambda name: _algorithm_page(own[name], ranks, order), order, lambda name: progress(f"{name}: draws its page")
    )
    yield from ((f"{name}.html", text) for name, text in zip(order, texts))


def _algorithm_page(algorithm: Algorithm, ranks: int, order: Sequence[str]) -> str:
    """Return a page with pictures of `ranks` ranks, or of the most ranks below on which the algorithm can run."""
    place = order.index(algorithm.name)
    ranks = next(number for number in range(ranks, 0, -1) if not algorithm.unmet(number, Topology.one_node(number)))
    return page(
        [algorithm.name],
        ranks,
        template="site_algorithm.html.j2",
        style=_style(),
        own=algorithm,
        paragraphs=paragraphs(algorithm.doc),
        before=order[place - 1],
        following=order[(place + 1) % len(order)],
    )


def _style() -> Markup:
    return asset(__package__, "site.css")


class Paragraph(NamedTuple):
    """Paragraph of a docstring; `drawn`: its line breaks count, as in a table of rounds."""

    text: str
    drawn: bool


def paragraphs(doc: str) -> list[Paragraph]:
    """Return the paragraphs of a docstring, its title the first; one that is indented is drawn."""
    parts = [part for part in re.split(r"\n\s*\n", doc.strip("\n")) if part.strip()]
    return [
        Paragraph(dedent(part), True) if part.startswith("    ") else Paragraph(" ".join(part.split()), False)
        for part in parts
    ]


def _small_picture(name: str, ranks: int) -> Markup:
    """Return the SVG of the first round, for a small picture without words."""
    drawn = drawing(name, ranks)
    scene = Scene(drawn, layout_of(drawn), FIRST.index(name))
    return Markup(
        f'<svg viewBox="0 0 640 {scene.layout.height}" role="img" aria-label="The first round of {name}">'
        f"<defs>{definitions(scene, named=False)}</defs>{moment(scene, 0)}</svg>"
    )

"""From values to the text of a page: what all pages of the gallery have, and how algorithms look in their pictures."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...algorithms import builtin
from ...schedule.topology import Topology
from ...units import format_size
from ...web.document import asset
from ..colours import colour_of
from ..page import environment, frame, page
from .charts import codes
from .claims import COMPARED
from .facts import PER_NODE, PIECES
from .glossary import pieces
from .words import kept_at, layout_text, share, times_as_long

ROOM = "allreduce_bench.pages"
FIRST = {"index.html": "All algorithms", "lesson.html": "First lesson", "maps.html": "Who wins where"}
LAST = {"glossary.html": "Glossary"}
DASHES = ("", "8 3", "2 3", "10 3 2 3")
WORDS = (share, kept_at, pieces, layout_text, times_as_long, format_size)


class Look(NamedTuple):
    """What tells algorithms apart in pictures: colour, letters, and dashes of lines."""

    colours: Mapping[str, str]
    codes: Mapping[str, str]
    dashes: Mapping[str, str]


def render(template: str, title: str, **values: Any) -> str:
    """The page of a template, with no script. `values` are what it shows."""
    made = environment().get_template(f"gallery_{template}.html.j2")
    shown = shared(f"{template}.html", title) | values
    return made.render(shown | frame(more_style=asset(ROOM, "gallery.css")))


def render_algorithm(name: str, ranks: int, names: str, **values: Any) -> str:
    """The page of an algorithm with its moving picture of `ranks`, or of the most below on which it can run."""
    own = builtin()[name]
    ranks = next(number for number in range(ranks, 0, -1) if not own.unmet(number, Topology.one_node(number)))
    shown = shared(f"{name}.html", name) | values
    style = asset(ROOM, "gallery.css")
    return page([name], ranks, names=names, template="gallery_algorithm.html.j2", style=style, **shown)


def shared(file: str, title: str) -> dict[str, Any]:
    """What the templates of all pages of the gallery are told, the page in `file` among them."""
    names = list(builtin())
    colours = {name: colour_of(place, len(names)) for place, name in enumerate(names)}
    return {word.__name__: word for word in WORDS} | {
        "here": file,
        "title": title,
        "site_pages": [*{**FIRST, **{f"{name}.html": name for name in names}, **LAST}.items()],
        "look": Look(colours, codes(names), dict(zip(COMPARED, DASHES))),
        "declared": builtin(),
        "segments": PIECES,
        "per_node": PER_NODE,
    }

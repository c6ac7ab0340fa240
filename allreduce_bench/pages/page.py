"""Page about an algorithm, or about two in step: one file, no network, complete without its script and in print.

Each round is a section with its picture, its messages in words and what the ranks then hold; the script shows one of
them at a time, and prices the schedule as `schedule.price` does.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from .. import __version__
from ..schedule import elements
from ..schedule.draw import messages_of_rounds
from ..units import format_rate, format_size, format_time
from ..web import asset, engine, policy, script_data, theme
from .drawing import Held, Message, Subject, drawing_of, letters, subject, word, word_forms
from .layout import layout_of
from .pictures import STYLE, Scene, definitions, moment, round_title
from .teaching import (
    ALPHA_S,
    BETA_S_PER_BYTE,
    LONG_BYTES,
    SHORT_BYTES,
    SIZE_BYTES,
    Measured,
    busy_sentence,
    fastest_cut,
    price_subject,
    ways,
)

SCRIPTS = ("prices.js", "player.js")
MOST_CELLS_IN_WORDS = 64  # ranks times blocks; beyond, a round does not show what all ranks hold
LONGEST_WORD = 20  # characters; beyond, a sum is written as `a1+…+h1`


class Row(NamedTuple):
    """Message in words."""

    source: int
    dest: int
    content: str
    verb: str
    then: str  # what the receiver then holds in these blocks


class Moment(NamedTuple):
    """Round, or the end."""

    title: str
    picture: Markup
    rows: list[Row]
    holds: list[list[str]]  # of each rank its blocks in words, before the round; empty: too many


class Panel(NamedTuple):
    """Contents of a page about one algorithm."""

    number: int
    chosen: Subject
    scene: Scene
    definitions: Markup
    moments: list[Moment]
    total: str
    messages: int
    share: str  # of the vector that moves along the critical path
    busy: str

    @property
    def name(self) -> str:
        """Return the name of the algorithm."""
        return self.chosen.algorithm.name


def page(
    algorithms: Sequence[str],
    ranks: int,
    count: int | None = None,
    segment: int | None = None,
    ranks_per_node: int | None = None,
    measured: Measured | None = None,
    template: str = "explain.html.j2",
    style: str = "",
    **more: object,
) -> str:
    """Render a page about one algorithm, or about two in step, as HTML.

    `algorithms` are names or paths of users' .py files. `template` extends `explain.html.j2`, with the values of `more`
    and more `style` (Markup). Raises AlgorithmError, and Refusal if schedules are no all-reduce.
    """
    ranks_per_node = ranks_per_node or _shared_nodes(algorithms, ranks)
    panels = []
    for number, name in enumerate(algorithms):
        chosen = subject(name, ranks, count, segment, ranks_per_node)
        if len(algorithms) > 1 and segment is None:  # compare each at its fastest
            chosen, _ = fastest_cut(chosen, name, ranks_per_node)
        panels.append(_panel(number, chosen))
    values = {
        "panels": panels,
        "ranks": ranks,
        "data": script_data(_data(panels)),
        "measured": measured,
        "named": [panel.name for panel in panels],
    }
    shown = environment().get_template(template)
    return shown.render(**frame(SCRIPTS, style), **values, **values_of_ways(algorithms, ranks, ranks_per_node), **more)


def values_of_ways(names: Sequence[str], ranks: int, ranks_per_node: int | None) -> dict[str, object]:
    """Return the values of the table of algorithms at two sizes: `names`, and those that a reader meets first."""
    return {
        "prices": f"α = {format_time(ALPHA_S)} a message, {format_rate(1 / BETA_S_PER_BYTE)}",
        "sizes": [format_size(size) for size in (SIZE_BYTES, SHORT_BYTES, LONG_BYTES)],
        "ways": ways(names, ranks, ranks_per_node) if ranks > 1 else [],
    }


def _shared_nodes(algorithms: Sequence[str], ranks: int) -> int | None:
    """Return the ranks per node for compared algorithms if one of them uses several nodes by default, else None."""
    if len(algorithms) < 2:
        return None
    nodes = max(len(set(subject(name, ranks).topology.node_of)) for name in algorithms)
    return ranks // nodes if nodes > 1 else None


def frame(scripts: Sequence[str] = (), more_style: str = "") -> dict[str, object]:
    """Return the values common to all page templates: style, script, content security policy, version."""
    style = theme() + asset(__package__, "explain.css") + Markup(STYLE) + more_style
    script = asset(__package__, *scripts)
    return {
        "style": style,
        "script": script,
        "policy": policy([style], [script] if scripts else []),
        "version": __version__,
    }


@cache
def environment() -> Environment:
    """Return the template engine of pages: it escapes all texts.

    All pages share it: compiling a template takes longer than filling it in.
    """
    made = engine(__package__)
    made.globals["format_time"] = format_time
    return made


def _panel(number: int, chosen: Subject) -> Panel:
    drawing = drawing_of(chosen)
    scene = Scene(drawing, layout_of(drawing), number)
    way = price_subject(chosen)
    pairs = [[(message.source, message.dest) for message in round_.messages] for round_ in drawing.rounds]
    return Panel(
        number=number,
        chosen=chosen,
        scene=scene,
        definitions=Markup(definitions(scene)),
        moments=[_moment(scene, place) for place in range(len(drawing.rounds) + 1)],
        total=format_time(way.time),
        messages=way.messages,
        share=f"{way.elements / chosen.count:.4g}",
        busy=busy_sentence(pairs, drawing.ranks),
    )


def _moment(scene: Scene, number: int) -> Moment:
    """Return round `number` (from 0), or the end."""
    drawing = scene.drawing
    held = scene.held(number)
    own, rows = letters(drawing.ranks), []
    if number < len(drawing.rounds):
        messages, after = drawing.rounds[number].messages, drawing.rounds[number].held
        rows = [_row(message, after, own) for message in messages]
    in_words = drawing.ranks * drawing.blocks <= MOST_CELLS_IN_WORDS
    holds = [[_short_word(content, block, own, 8) for block, content in enumerate(contents)] for contents in held]
    return Moment(round_title(drawing, number), Markup(moment(scene, number)), rows, holds if in_words else [])


def _row(message: Message, after: Held, own: Sequence[str]) -> Row:
    content = " ".join(_short_word(held, block, own) for block, held in zip(message.blocks, message.content))
    then = " ".join(_short_word(after[message.dest][block], block, own) for block in message.blocks)
    return Row(message.source, message.dest, content, "adds" if message.reduce else "keeps", then)


def _short_word(content: frozenset[int], block: int, own: Sequence[str], longest: int = LONGEST_WORD) -> str:
    """Return the content of a block as a word, of at most about `longest` characters."""
    whole = word(content, block, own)
    return whole if len(whole) <= longest else word_forms(content, block, own)[-1]


def _data(panels: Sequence[Panel]) -> dict[str, Any]:
    """Return the input of the script: initial prices, and of each panel the messages of its rounds."""
    return {
        "ranks": len(panels[0].chosen.schedules),
        "alphaS": ALPHA_S,
        "betaSPerByte": BETA_S_PER_BYTE,
        "sizeBytes": SIZE_BYTES,
        "panels": [
            {"name": panel.name, "count": panel.chosen.count, "rounds": message_rows(panel.chosen)} for panel in panels
        ],
    }


def message_rows(chosen: Subject) -> list[list[list[int]]]:
    """Return for each round a list of numbers per message: source, its step, dest, its step, elements."""
    return [
        [[*sent, elements(chosen.schedules[sent.source][sent.source_step].send)] for sent in messages]
        for messages in messages_of_rounds(chosen.schedules)
    ]

"""Page about an algorithm, or two in step: one file, no network, complete without its script.

Its script replays the steps of all ranks, with the vector cut into blocks in several ways, and prices them as
`schedule.price` does, so that its totals are those of the schedules.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment

from .. import __version__
from ..schedule import Parts, elements
from ..schedule.draw import Sent, messages_of_rounds
from ..schedule.price import Path, price
from ..units import format_size, format_time
from ..web import asset, engine, policy, script_data, theme
from .drawing import (
    MOST_BLOCKS,
    MOST_MESSAGES,
    Drawing,
    Subject,
    colour_of,
    drawing_of,
    letters,
    rank_names,
    short_names,
    subject,
    word,
)
from .scene import Layout, layout_of

# Initial values of the page's controls
ALPHA_S, BETA_S_PER_BYTE, NBYTES = 5e-6, 8e-11, 2**20  # 5 us, 100 Gbit/s, 1 MiB

# Input of the script
SCRIPTS = ("replay.js", "prices.js", "picture.js", "charts.js", "player.js")
PIECES = (1, 2, 4, 8, 16, 32)  # segments of the vector in a pipeline
REDUCES, SENDS_ORIGINAL = 1, 2  # flags of a message

# Table of rounds
MOST_CELLS_IN_WORDS = 128  # ranks times blocks; beyond, the table omits what a receiver then holds
MOST_ROWS_OPEN = 200  # a longer table starts folded


class Cut(NamedTuple):
    """Algorithm with its vector cut into a certain number of blocks."""

    chosen: Subject
    drawing: Drawing
    layout: Layout


class Row(NamedTuple):
    """Message in the table of rounds."""

    source: str
    dest: str
    content: str
    verb: str
    then: str  # what the receiver then holds in these blocks; empty: omitted


class Panel(NamedTuple):
    """Contents of a page about one algorithm."""

    number: int
    name: str
    summary: str
    formula: str
    exact: bool  # the formula; False: an upper bound
    nodes: str  # in words; empty: one node
    shown: Cut
    blocks: list[int]  # that can be chosen
    rounds: list[list[Row]]
    total: str
    messages: int
    share: str  # of the vector that moves along the critical path


def page(
    algorithms: Sequence[str],
    ranks: int,
    count: int | None = None,
    segment: int | None = None,
    ranks_per_node: int | None = None,
    names: str = "rank",
    template: str = "explain.html.j2",
    style: str = "",
    **more: object,
) -> str:
    """Render a page about one algorithm, or about two in step, as HTML.

    `algorithms` are names or paths of users' .py files, `names` one of drawing.STYLES. `template` extends
    `explain.html.j2`, with the values of `more` and more `style` (Markup). Raises AlgorithmError, and Refusal if
    schedules are no all-reduce.
    """
    ranks_per_node = ranks_per_node or _shared_nodes(algorithms, ranks)
    cuts, panels = [], []
    for number, name in enumerate(algorithms):
        chosen = subject(name, ranks, count, segment, ranks_per_node)
        made = cuts_of(chosen, name, ranks_per_node)
        shown = next(one for one in made if one.chosen.segment == chosen.segment)
        if len(algorithms) > 1 and segment is None:  # compare each at its fastest
            shown = min(made, key=lambda one: path(one.chosen, ALPHA_S, BETA_S_PER_BYTE, NBYTES).time)
        cuts.append(made)
        panels.append(_panel(number, shown, made, names))
    values = {
        "panels": panels,
        "ranks": ranks,
        "names": rank_names(ranks, names),
        "short": short_names(ranks, names),
        "data": script_data(_data(panels, cuts, ranks, names)),
        "prices": f"α = {format_time(ALPHA_S)}, 100 Gbit/s, {format_size(NBYTES)}",
        "most_rows_open": MOST_ROWS_OPEN,
    }
    return environment().get_template(template).render(**frame(SCRIPTS, style), **values, **more)


def _shared_nodes(algorithms: Sequence[str], ranks: int) -> int | None:
    """Return the ranks per node for compared algorithms if one of them uses several nodes by default, else None."""
    if len(algorithms) < 2:
        return None
    nodes = max(len(set(subject(name, ranks).topology.node_of)) for name in algorithms)
    return ranks // nodes if nodes > 1 else None


def cut(chosen: Subject) -> Cut:
    """Lay out proved schedules. Raises AlgorithmError if the picture would be too large."""
    drawing = drawing_of(chosen)
    return Cut(chosen, drawing, layout_of(drawing))


def cuts_of(chosen: Subject, name: str, ranks_per_node: int | None) -> list[Cut]:
    """Return `chosen`, and for a pipelined algorithm other cuts as well, by ascending number of blocks.

    `name` is what the user called it. Raises AlgorithmError if `chosen` is too large for a picture.
    """
    cuts = {(first := cut(chosen)).drawing.blocks: first}
    ranks, count = len(chosen.schedules), chosen.count
    for pieces in PIECES if chosen.algorithm.segmented else ():
        if count % pieces or count // pieces == chosen.segment:
            continue
        other = subject(name, ranks, count, count // pieces, ranks_per_node)
        if len(Parts(other.schedules, count)) <= MOST_BLOCKS and _messages(other) <= MOST_MESSAGES:
            made = cut(other)
            cuts.setdefault(made.drawing.blocks, made)
    return [cuts[blocks] for blocks in sorted(cuts)]


def path(chosen: Subject, alpha_s: float, beta_s_per_byte: float, size_bytes: float) -> Path:
    """Return the critical path for a vector of `size_bytes`: seconds, messages, and elements of `chosen`'s count."""
    return price(chosen.schedules, alpha_s, beta_s_per_byte * size_bytes / chosen.count)


def cut_data(made: Cut) -> dict[str, Any]:
    """Return one cut for the script: its number of blocks, and for each round a list of numbers per message.

    A message is source, its step, dest, its step, flags, elements, then for each run of blocks its first and its last.
    """
    chosen, drawing = made.chosen, made.drawing
    parts = Parts(chosen.schedules, chosen.count)
    rounds = messages_of_rounds(chosen.schedules)
    return {
        "blocks": drawing.blocks,
        "count": chosen.count,
        "treeOfBlock": made.layout.tree_of_block,
        "rounds": [[_message_row(sent, chosen, parts) for sent in messages] for messages in rounds],
    }


def _message_row(sent: Sent, chosen: Subject, parts: Parts) -> list[int]:
    step = chosen.schedules[sent.source][sent.source_step]
    reduces = chosen.schedules[sent.dest][sent.dest_step].reduce
    runs = [number for span in step.send for number in (parts.of[span][0], parts.of[span][1] - 1)]
    return [*sent, reduces * REDUCES + step.original * SENDS_ORIGINAL, elements(step.send), *runs]


def _messages(chosen: Subject) -> int:
    return sum(bool(step.send) for steps in chosen.schedules for step in steps)


def frame(scripts: Sequence[str] = (), more_style: str = "") -> dict[str, object]:
    """Return the values common to all page templates: style, script, content security policy, version."""
    style, script = theme() + asset(__package__, "explain.css") + more_style, asset(__package__, *scripts)
    said = policy([style], [script] if scripts else [])
    return {"style": style, "script": script, "policy": said, "version": __version__}


@cache
def environment() -> Environment:
    """Return the template engine of pages: it escapes all texts, and offers `colour(index, of)`.

    All pages share it: compiling a template takes longer than filling it in.
    """
    made = engine(__package__)
    made.globals["colour"] = colour_of
    return made


def _panel(number: int, shown: Cut, made: Sequence[Cut], names: str) -> Panel:
    chosen, drawing = shown.chosen, shown.drawing
    way = path(chosen, ALPHA_S, BETA_S_PER_BYTE, NBYTES)
    nodes = chosen.topology
    return Panel(
        number=number,
        name=drawing.algorithm,
        summary=chosen.algorithm.summary,
        formula=f"{chosen.algorithm.formula} ({'exact' if chosen.algorithm.exact else 'bound'})",
        exact=chosen.algorithm.exact,
        nodes=f"{nodes.describe()} (nodes and ranks of each)" if len(drawing.nodes) > 1 else "",
        shown=shown,
        blocks=[one.drawing.blocks for one in made],
        rounds=_rows(drawing, rank_names(drawing.ranks, names)),
        total=format_time(way.time),
        messages=way.messages,
        share=f"{way.elements / chosen.count:.4g}",
    )


def _rows(drawing: Drawing, names: Sequence[str]) -> list[list[Row]]:
    """Return the messages of each round in words."""
    own, in_words = letters(drawing.ranks), drawing.ranks * drawing.blocks <= MOST_CELLS_IN_WORDS
    rounds = []
    for round_ in drawing.rounds:
        rows = []
        for message in round_.messages:
            content = " ".join(word(held, block, own) for block, held in zip(message.blocks, message.content))
            then = " ".join(word(round_.held[message.dest][block], block, own) for block in message.blocks)
            verb = "adds" if message.reduce else "keeps"
            rows.append(Row(names[message.source], names[message.dest], content, verb, then if in_words else ""))
        rounds.append(rows)
    return rounds


def _data(panels: Sequence[Panel], cuts: Sequence[Sequence[Cut]], ranks: int, names: str) -> dict[str, Any]:
    """Return the input of the script."""
    return {
        "ranks": ranks,
        "names": rank_names(ranks, names),
        "short": short_names(ranks, names),
        "letters": letters(ranks),
        "alphaS": ALPHA_S,
        "betaSPerByte": BETA_S_PER_BYTE,
        "size_bytes": NBYTES,
        "panels": [
            {
                "name": panel.name,
                "shown": list(made).index(panel.shown),
                "places": panel.shown.layout.places,
                "box": [panel.shown.layout.box_width, panel.shown.layout.box_height],
                "cuts": [cut_data(one) | {"colours": _block_colours(one)} for one in made],
            }
            for panel, made in zip(panels, cuts)
        ],
    }


def _block_colours(made: Cut) -> list[str]:
    return [colour_of(block, made.drawing.blocks) for block in range(made.drawing.blocks)]

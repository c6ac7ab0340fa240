"""Rounds of a drawing as SVG: what every rank holds, and the messages on their way; one file of all rounds.

A message is a pill on its arrow: solid if the receiver adds what arrives, dashed if it keeps it. The label of a pill
stands where it covers no box and no other pill, in its longest form that has such a place.
"""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import product
from math import ceil, hypot, sqrt
from typing import NamedTuple

from ..schedule.algorithm import AlgorithmError
from ..units import counted
from .drawing import Drawing, Held, Message, colour_of, letters, word_forms
from .layout import WIDTH, Layout, Point

LETTER_WIDTH = 14.0  # of a letter 20 high, which is above 11 pixels on a phone
PILL, DOT = 26.0, 16.0  # heights of a pill with a label and of one without
HEAD = 9.0  # of an arrow
ASIDE = 7.0  # of the line between two boxes, so that opposite messages are seen apart
SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.25, 0.75)  # of an arrow: where a label may stand
LIFTS = (0.0, 15.0, -15.0, 28.0, -28.0, 42.0, -42.0)  # beside the arrow
MOST_LABELS = 16  # ranks; of more, pills have no labels
MOST_BARS = 128  # ranks times blocks; of more, a rank has one bar for all its blocks
BAR_TOP, BAR_HEIGHT = 0.18, 0.26  # shares of a box's height, from its middle
MOST_PANELS = 100
GAP, CAPTION = 40.0, 60.0  # around the panels of a file

FILE_STYLE = """
svg { --ink: #1a1a1a; --paper: #fff; --line: #d4d7da; --edge: #767b80; --shade: #f3f5f6; --good: #00664b; }
text { font: 20px system-ui, "Segoe UI", Arial, "Liberation Sans", sans-serif; fill: var(--ink); }
.title { font-size: 26px; }
"""
STYLE = """
.net .frame { fill: var(--shade); stroke: var(--line); } .net .edges { stroke: var(--line); stroke-width: 1.5; }
.net .box { fill: var(--paper); stroke: var(--edge); stroke-width: 1.2; } .net .base { fill: var(--shade); }
.net .whole { fill: none; stroke: var(--good); stroke-width: 3.5; } .net text { font-size: 20px; fill: var(--ink); }
.net .name { text-anchor: middle; font-weight: 600; } .net .arrow { fill: none; stroke-width: 2.4; }
.net .keeps { stroke-dasharray: 7 4; } .net .pill rect { stroke: var(--paper); }
.net .pill text { fill: #fff; text-anchor: middle; font-weight: 600; }
"""


class Arrow(NamedTuple):
    """Way of a message's blocks in one tree, between the edges of two boxes."""

    start: Point
    end: Point
    colour: str
    adds: bool  # the receiver adds what arrives
    forms: tuple[str, ...]  # of its label, the longest first


class Pill(NamedTuple):
    """Message at rest, with its middle at `at`."""

    arrow: Arrow
    at: Point
    text: str
    width: float
    height: float


class Scene(NamedTuple):
    """Drawing with the places of its ranks; `number` tells it from others of the same document."""

    drawing: Drawing
    layout: Layout
    number: int = 0

    def held(self, number: int) -> Held:
        """Return what every rank holds before round `number` (from 0)."""
        return self.drawing.rounds[number - 1].held if number else self.drawing.start


def title(drawing: Drawing) -> str:
    """Return `ring on 4 ranks, 6 rounds`."""
    return f"{drawing.algorithm} on {counted(drawing.ranks, 'rank')}, {counted(len(drawing.rounds), 'round')}"


def round_title(drawing: Drawing, number: int) -> str:
    """Return the title of round `number` (from 0); the one after the last is the end."""
    if number == len(drawing.rounds):
        return "The end: every rank holds every sum"
    adds = {message.reduce for message in drawing.rounds[number].messages}
    what = "receivers add" if adds == {True} else "receivers keep" if adds == {False} else "add (solid), keep (dashed)"
    return f"Round {number + 1} of {len(drawing.rounds)}: {what}"


def labels(message: Message, names: Sequence[str]) -> tuple[str, ...]:
    """Return what a message carries, the longest form first, down to the numbers of its blocks: `a1 a2`, `1–2`."""
    each = [word_forms(content, block, names) for block, content in zip(message.blocks, message.content)]
    first, last = message.blocks[0] + 1, message.blocks[-1] + 1
    if len(each) == 1:
        return (*each[0], str(first))
    return " ".join(forms[0] for forms in each), " ".join(forms[-1] for forms in each), f"{first}–{last}"


def arrows(scene: Scene, number: int) -> list[Arrow]:
    """Return the arrows of round `number`; a message whose blocks belong to two trees has one in each."""
    drawing, layout = scene.drawing, scene.layout
    names, found = letters(drawing.ranks), []
    for message in drawing.rounds[number].messages:
        for tree, places in enumerate(layout.places):
            own = [place for place, block in enumerate(message.blocks) if layout.tree_of_block[block] == tree]
            if own:
                part = message._replace(
                    blocks=tuple(message.blocks[place] for place in own),
                    content=tuple(message.content[place] for place in own),
                )
                ends = _arrow_ends(layout, places[message.source], places[message.dest])
                colour = colour_of(part.blocks[0], drawing.blocks)
                found.append(Arrow(*ends, colour, message.reduce, labels(part, names)))
    return found


def _arrow_ends(layout: Layout, source: Point, dest: Point) -> tuple[Point, Point]:
    """Return where the arrow from one box to another leaves and arrives, a little to its left."""
    across, down = dest[0] - source[0], dest[1] - source[1]
    length = hypot(across, down) or 1.0
    x, y = across / length, down / length
    aside = min(ASIDE, layout.box_width / 6)
    edge = min(layout.box_width / 2 / max(abs(x), 1e-9), layout.box_height / 2 / max(abs(y), 1e-9)) + 2
    return (
        (source[0] + x * edge - y * aside, source[1] + y * edge + x * aside),
        (dest[0] - x * edge - y * aside, dest[1] - y * edge + x * aside),
    )


def pills(scene: Scene, found: Sequence[Arrow]) -> list[Pill]:
    """Place a pill on each arrow, where it covers no box and no other pill.

    The labels of a round are all as long: the longest for which there is room.
    """
    longest = max((len(arrow.forms) for arrow in found), default=0)
    for level in range(longest) if scene.drawing.ranks <= MOST_LABELS else ():
        placed = _place_pills(scene, found, level)
        if all(pill.text for pill in placed):
            return placed
    return _place_pills(scene, found, longest - 1 if scene.drawing.ranks <= MOST_LABELS else None)


def _place_pills(scene: Scene, found: Sequence[Arrow], level: int | None) -> list[Pill]:
    """Return the pills with labels of one form, and dots where there is no room; `level` None: dots alone."""
    layout = scene.layout
    taken = [(*place, layout.box_width / 2, layout.box_height / 2) for places in layout.places for place in places]
    placed = []
    for arrow in found:
        candidates = () if level is None else _candidates(arrow, arrow.forms[min(level, len(arrow.forms) - 1)])
        pill = next((pill for pill in candidates if _is_clear(pill, layout, taken)), _dot(arrow))
        taken.append((*pill.at, pill.width / 2, pill.height / 2))
        placed.append(pill)
    return placed


def _candidates(arrow: Arrow, text: str) -> Iterator[Pill]:
    """Yield pills with this label, the preferred place first."""
    (x, y), (to_x, to_y) = arrow.start, arrow.end
    across, down = to_x - x, to_y - y
    length, width = hypot(across, down) or 1.0, max(PILL, len(text) * LETTER_WIDTH + 12)
    for lift, share in product(LIFTS, SHARES) if width < WIDTH / 2 else ():
        at = x + across * share - down / length * lift, y + down * share + across / length * lift
        yield Pill(arrow, at, text, width, PILL)


def _dot(arrow: Arrow) -> Pill:
    (x, y), (to_x, to_y) = arrow.start, arrow.end
    size = min(DOT, max(6.0, max(abs(to_x - x), abs(to_y - y)) - 2))
    return Pill(arrow, ((x + to_x) / 2, (y + to_y) / 2), "", size, size)


def _is_clear(pill: Pill, layout: Layout, taken: Sequence[tuple[float, float, float, float]]) -> bool:
    """Return whether a pill is inside the picture and apart from all of `taken` (middles, half widths and heights)."""
    (x, y), wide, high = pill.at, pill.width / 2, pill.height / 2
    if not (wide <= x <= WIDTH - wide and high <= y <= layout.height - high):
        return False
    return all(abs(x - a) >= wide + w or abs(y - b) >= high + h for a, b, w, h in taken)


def definitions(scene: Scene, named: bool = True) -> str:
    """Return the elements that all moments share: frames of nodes, links, and the boxes of the ranks.

    A small picture has no names in them.
    """
    layout, number = scene.layout, scene.number
    wide, high = layout.box_width, layout.box_height
    back = [
        f'<rect class="frame" x="{frame.x}" y="{frame.y}" width="{frame.width}" height="{frame.height}" rx="10"/>'
        f'<text x="{frame.x + 8}" y="{frame.y + 21}">node {node}</text>'
        for node, frame in enumerate(layout.frames)
    ]
    boxes, ways = [], []
    for edges, places in zip(layout.edges, layout.places):
        ways += [f"M{_pair(places[one])}L{_pair(places[other])}" for one, other in edges]
        for rank, (x, y) in enumerate(places):
            left, inside = f"{x - wide / 2:.1f}", f"{x - wide / 2 + 4:.1f}"
            name = f'<text class="name" x="{x}" y="{y - high * 0.18 + 7:.1f}">{rank}</text>' if named else ""
            boxes.append(
                f'<rect class="box" x="{left}" y="{y - high / 2:.1f}" width="{wide}" height="{high}" rx="5"/>{name}'
                f'<rect class="base" x="{inside}" y="{y + high * BAR_TOP:.1f}" width="{wide - 8:.1f}" '
                f'height="{high * BAR_HEIGHT:.1f}"/>'
            )
    back.append(f'<path class="edges" d="{"".join(ways)}"/>')
    if len(layout.places) == 2:
        back += [_tree_name(places, name) for places, name in zip(layout.places, ("first", "second"))]
    return (
        f'<g id="back-{number}" class="net">{"".join(back)}</g><g id="ranks-{number}" class="net">{"".join(boxes)}</g>'
    )


def _tree_name(places: Sequence[Point], name: str) -> str:
    """Name a tree in the corner that its root leaves free."""
    x, y = min(places, key=lambda place: place[1])
    where = f'x="{WIDTH - 4}" text-anchor="end"' if x < WIDTH / 2 else 'x="4"'
    return f'<text class="tree" {where} y="{y + 7:.1f}">{name} tree</text>'


def moment(scene: Scene, number: int, moves: str = "data") -> str:
    """Return the SVG elements of round `number`, or of the end: what ranks hold before it, and its messages.

    `moves`: where pills keep their ways: `data` attributes for a script, or `style` for an animation.
    """
    back = [f'<use href="#back-{scene.number}"/>']
    found = arrows(scene, number) if number < len(scene.drawing.rounds) else []
    back += map(_arrow, found)
    back += [_pill(pill, moves) for pill in pills(scene, found)]
    return "".join([*back, f'<use href="#ranks-{scene.number}"/>', *_bars(scene, scene.held(number))])


def _arrow(arrow: Arrow) -> str:
    """Return a line with a head at its end."""
    (x, y), (to_x, to_y) = arrow.start, arrow.end
    length = hypot(to_x - x, to_y - y) or 1.0
    along, across = (to_x - x) / length, (to_y - y) / length
    wings = [
        (to_x - HEAD * along + side * HEAD * 0.55 * across, to_y - HEAD * across - side * HEAD * 0.55 * along)
        for side in (1, -1)
    ]
    line = f"M{_pair(arrow.start)}L{_pair(arrow.end)}M{_pair(wings[0])}L{_pair(arrow.end)}L{_pair(wings[1])}"
    return f'<path class="arrow{"" if arrow.adds else " keeps"}" stroke="{arrow.colour}" d="{line}"/>'


def _pill(pill: Pill, moves: str) -> str:
    x, y = pill.at
    ends = [(end[0] - x, end[1] - y) for end in (pill.arrow.start, pill.arrow.end)]
    if moves == "style":
        way = 'style="--from:{}px,{}px;--to:{}px,{}px"'.format(*(f"{value:.0f}" for end in ends for value in end))
    else:
        way = f'data-from="{_pair(ends[0])}" data-to="{_pair(ends[1])}"'
    wide, high = pill.width, pill.height
    text = f'<text y="7">{escape(pill.text)}</text>' if pill.text else ""
    return (
        f'<g transform="translate({_pair(pill.at)})"><g class="pill" {way}>'
        f'<rect x="{-wide / 2:.0f}" y="{-high / 2:.0f}" width="{wide:.0f}" height="{high:.0f}" rx="{high / 2:.0f}" '
        f'fill="{pill.arrow.colour}"/>{text}</g></g>'
    )


def _bars(scene: Scene, held: Held) -> Iterator[str]:
    """Yield in each rank's box a bar for each block, as high as it has contributions; outline who has all sums."""
    drawing, layout = scene.drawing, scene.layout
    wide, high = layout.box_width - 8, layout.box_height
    bottom = high * (BAR_TOP + BAR_HEIGHT)
    for tree, places in enumerate(layout.places):
        own = [block for block in range(drawing.blocks) if layout.tree_of_block[block] == tree]
        groups = [[block] for block in own] if drawing.ranks * drawing.blocks <= MOST_BARS else [own]
        each = wide / len(groups)
        for place, blocks in enumerate(groups):
            bars = []
            for (x, y), contents in zip(places, held):
                share = sum(len(contents[block]) for block in blocks) / (drawing.ranks * len(blocks))
                tall = share * high * BAR_HEIGHT
                left = x - wide / 2 + place * each
                bars.append(f"M{left:.1f} {y + bottom:.1f}v-{tall:.1f}h{max(each - 0.8, each * 0.8):.1f}v{tall:.1f}z")
            yield f'<path fill="{colour_of(blocks[0], drawing.blocks)}" d="{"".join(bars)}"/>'
    done = [
        f"M{x - wide / 2 - 4:.1f} {y - high / 2:.1f}h{wide + 8:.1f}v{high:.1f}h-{wide + 8:.1f}z"
        for places in layout.places
        for (x, y), contents in zip(places, held)
        if all(len(content) == drawing.ranks for content in contents)
    ]
    if done:
        yield f'<path class="whole" d="{"".join(done)}"/>'


def _pair(point: Point) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"


def svg(scene: Scene) -> str:
    """Return a file of all rounds side by side; their messages move one round after the other, over and over.

    Raises AlgorithmError if there are too many rounds.
    """
    drawing, layout = scene.drawing, scene.layout
    panels = len(drawing.rounds) + 1
    if panels > MOST_PANELS:
        raise AlgorithmError(
            f"{drawing.algorithm}: {panels - 1} rounds; an .svg file shows fewer than {MOST_PANELS}; use a longer "
            "--segment, or name an .html file"
        )
    tall = layout.height + CAPTION
    columns = min(panels, ceil(sqrt(panels * tall / WIDTH * 1.4)))
    width, height = columns * (WIDTH + GAP) + GAP, ceil(panels / columns) * tall + CAPTION + GAP
    parts = []
    for number in range(panels):
        row, column = divmod(number, columns)
        x, y = GAP + column * (WIDTH + GAP), CAPTION + row * tall
        parts.append(
            f'<text x="{x}" y="{y + 36:.0f}">{round_title(drawing, number)}</text>'
            f'<svg class="net" style="--at:{number}" x="{x}" y="{y + 50:.0f}" width="{WIDTH}" height="{layout.height}" '
            f'viewBox="0 0 {WIDTH:g} {layout.height}">{moment(scene, number, "style")}</svg>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width / 1.6:.0f}">'
        f"<title>{escape(title(drawing))}</title>"
        f"<style>{FILE_STYLE}{STYLE}{_motion(panels)}</style><defs>{definitions(scene)}</defs>"
        f'<rect width="100%" height="100%" fill="#fff"/><text class="title" x="{GAP}" y="44">{escape(title(drawing))}'
        f"</text>{''.join(parts)}</svg>\n"
    )


def _motion(panels: int) -> str:
    """Return the style that moves the pills of one panel after the other, 1.5 s each, unless a reader wants none."""
    share = 100 / panels
    steps = f"0% {{ transform: translate(var(--from)); }} {share:.2f}% {{ transform: translate(var(--to)); }}"
    return (
        f"@media (prefers-reduced-motion: no-preference) {{ .pill {{ animation: go {1.5 * panels:g}s ease-in-out "
        "infinite; animation-delay: calc(var(--at) * 1.5s); } }\n"
        f"@keyframes go {{ {steps} {share + 0.01:.2f}%, 100% {{ transform: none; }} }}\n"
    )

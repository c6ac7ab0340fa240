"""The order in which nodes are measured in pairs: rounds of disjoint pairs, which are measured at the same time.

Up to MOST_FOR_ALL nodes every pair is measured, by the circle method of round-robin tournaments (Lucas, Récréations
mathématiques, 1883): one node stays, the others move on by one place; p - 1 rounds for an even number p, p for an odd
one. With more nodes there are two rounds, the second of which pairs the slower half with the faster half (as DLRover's
check of nodes does), so that a slow node meets a fast one.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..runs.recorder import write_whole
from ..runs.typed_json import read_as
from .pair_folder import CheckSettings, PairRow

MOST_FOR_ALL = 64  # nodes: up to here all pairs are measured
ROUND_TRIPS = 10  # of the small message in a repetition
WARM_UPS = 1  # repetitions that are not kept

Pair = tuple[str, str]
Round = list[Pair]


class Order(NamedTuple):
    """The measurements of one launch."""

    nodes: list[str]  # in the order given to the launcher
    first_round: int  # its number in the check
    rounds: list[list[tuple[str, str]]]
    asked: CheckSettings
    timeout_s: float
    has_second: bool = False  # after its only round another one pairs slow with fast
    alone: bool = False  # rounds are single pairs

    def write(self, path: Path) -> None:
        """Write the order to a file. Raises OSError."""
        write_whole(path, json.dumps({**self._asdict(), "asked": self.asked._asdict()}).encode())

    @classmethod
    def read(cls, path: Path) -> "Order":
        """Read the order from a file. Raises OSError, ValueError."""
        kept = json.loads(path.read_text(encoding="utf-8"))
        rounds = [[(source, dest) for source, dest in pairs] for pairs in kept["rounds"]]
        return cls(**{**kept, "rounds": rounds, "asked": read_as(CheckSettings, kept["asked"])})


def circle_rounds(nodes: Sequence[str]) -> list[Round]:
    """Return every pair of `nodes` once, in rounds of disjoint pairs; with an odd number one node rests per round."""
    places: list[str | None] = [*nodes, *([None] if len(nodes) % 2 else [])]
    half, rounds = len(places) // 2, []
    for _ in range(len(places) - 1):
        facing = zip(places[:half], reversed(places[half:]))
        rounds.append([(one, other) for one, other in facing if one is not None and other is not None])
        places = [places[0], places[-1], *places[1:-1]]
    return rounds


def neighbour_round(nodes: Sequence[str]) -> Round:
    """Return the first of two rounds: each node with the next one; with an odd number the last one rests."""
    return list(zip(nodes[::2], nodes[1::2]))


def pair_slow_with_fast(time_of: Mapping[Pair, float], rested: Iterable[str] = ()) -> Round:
    """Return the second of two rounds, by the times of the first one: the slower half with the faster half.

    `time_of`: seconds of each pair. `rested`: nodes that have no time yet; they count as fast, so that they have a
    partner, and with an odd number the node in the middle rests. No pair repeats.
    """
    order = [*rested, *(node for pair in sorted(time_of, key=lambda pair: time_of[pair]) for node in pair)]
    half = len(order) // 2
    return [] if len(order) < 4 else list(zip(order[:half], order[-half:]))


def pack_pairs(pairs: Iterable[Pair]) -> list[Round]:
    """Pack pairs into rounds of disjoint ones: each in the first round in which both of its nodes are free."""
    rounds: list[Round] = []
    busy: list[set[str]] = []
    for pair in pairs:
        number = next((number for number, nodes in enumerate(busy) if nodes.isdisjoint(pair)), len(rounds))
        if number == len(rounds):
            rounds.append([])
            busy.append(set())
        rounds[number].append(pair)
        busy[number].update(pair)
    return rounds


def rounds_left(rounds: Iterable[Round], done: Collection[frozenset[str]], postponed: Collection[str]) -> list[Round]:
    """Return the rounds without the pairs that are done; pairs of `postponed` nodes, which failed before, come last."""
    left = [[pair for pair in pairs if frozenset(pair) not in done] for pairs in rounds]
    sound = [[pair for pair in pairs if not set(pair) & set(postponed)] for pairs in left]
    late = pack_pairs(pair for pairs in left for pair in pairs if set(pair) & set(postponed))
    return [*filter(None, sound), *late]


def second_round(nodes: Sequence[str], first: Round, rows: Iterable[PairRow]) -> Round:
    """Return the second of two rounds, from the rows of the first one."""
    pair_of = {frozenset(pair): pair for pair in first}
    times_s: dict[Pair, list[float]] = {}
    for row in rows:
        if row.time_s is not None and (pair := pair_of.get(frozenset((row.source, row.dest)))):
            times_s.setdefault(pair, []).append(row.time_s)  # of all sizes: large messages dominate
    timed = {name for pair in times_s for name in pair}
    sums_s = {pair: sum(values) for pair, values in times_s.items()}
    return pair_slow_with_fast(sums_s, [name for name in nodes if name not in timed])


def plan_rounds(nodes: Sequence[str], rows: Sequence[PairRow], done: Collection[frozenset[str]]) -> list[Round]:
    """Return the rounds of a check of `nodes` that are known so far, given its rows and the pairs that are done."""
    if len(nodes) <= MOST_FOR_ALL:
        return circle_rounds(nodes)
    first = neighbour_round(nodes)
    return [first] if any(frozenset(pair) not in done for pair in first) else [first, second_round(nodes, first, rows)]

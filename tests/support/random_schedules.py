"""Schedules that are an all-reduce and otherwise anything, for Hypothesis.

Random messages between random ranks come first, of several ranges in any order; then every block of elements gets what
it lacks at a random root, from untouched inputs, and is sent to everyone. Steps of a rank are joined at random, so that
one sends and receives at the same time, also over elements that overlap, wherever the whole stays an all-reduce.
"""

from itertools import pairwise

from hypothesis import assume
from hypothesis import strategies as st

from allreduce_bench.schedule import Ranges, Schedule, Step
from allreduce_bench.schedule.verify import Refusal, verify

Held = list[list[frozenset]]  # rank -> element -> the ranks that it contains


@st.composite
def all_reduces(draw) -> tuple[list[Schedule], int]:
    """Proved schedules of 2 to 5 ranks, and their count."""
    size, count = draw(st.integers(2, 5)), draw(st.integers(1, 12))
    schedules: list[Schedule] = [[] for _ in range(size)]
    held: Held = [[frozenset([rank])] * count for rank in range(size)]
    for _ in range(draw(st.integers(0, 6))):
        source, dest = draw(st.permutations(range(size)))[:2]
        move(schedules, held, source, dest, draw(messages(count)), draw(st.booleans()))
    for block in blocks(draw, count):
        roots = [rank for rank in range(size) if all(rank in held[rank][e] for e in block)]
        assume(roots)  # nobody can give a root its own input
        root = draw(st.sampled_from(roots))
        for source in set(range(size)) - {root}:
            lacking = [e for e in block if source not in held[root][e]]
            if lacking:
                move(schedules, held, source, root, runs(lacking), reduce=True, original=True)
        for dest in draw(st.permutations(sorted(set(range(size)) - {root}))):
            move(schedules, held, root, dest, runs(list(block)), reduce=False)
    return joined(draw, schedules, count), count


def move(schedules, held: Held, source: int, dest: int, ranges: Ranges, reduce: bool, original: bool = False) -> None:
    """One message; reduced only where no contribution is in it twice."""
    for e in (element for span in ranges for element in span):
        value = frozenset([source]) if original else held[source][e]
        reduce = reduce and not value & held[dest][e]
    for e in (element for span in ranges for element in span):
        value = frozenset([source]) if original else held[source][e]
        held[dest][e] = held[dest][e] | value if reduce else value
    schedules[source].append(Step(dest, ranges, None, (), original=original))
    schedules[dest].append(Step(None, (), source, ranges, reduce=reduce))


@st.composite
def messages(draw, count: int) -> Ranges:
    """One to three ranges that do not overlap, in any order."""
    cuts = sorted(draw(st.sets(st.integers(0, count), min_size=2, max_size=6)))
    spans = [range(a, b) for a, b in pairwise(cuts)]
    return tuple(draw(st.permutations(spans))[: draw(st.integers(1, 3))])


def blocks(draw, count: int) -> list[range]:
    cuts = sorted({0, count, *draw(st.sets(st.integers(0, count), max_size=2))})
    return draw(st.permutations([range(a, b) for a, b in pairwise(cuts)]))


def runs(elements: list[int]) -> Ranges:
    """Ascending numbers as ranges."""
    spans: list[range] = []
    for e in elements:
        if spans and spans[-1].stop == e:
            spans[-1] = range(spans[-1].start, e + 1)
        else:
            spans.append(range(e, e + 1))
    return tuple(spans)


def joined(draw, schedules: list[Schedule], count: int) -> list[Schedule]:
    """Some neighbouring steps of a rank as one, where that is proved."""
    for rank in range(len(schedules)):
        index = 0
        while index < len(schedules[rank]) - 1:
            one, two = schedules[rank][index : index + 2]
            sender, receiver = (one, two) if one.send else (two, one)
            fits = not sender.recv and not receiver.send and bool(sender.send) and bool(receiver.recv)
            if fits and draw(st.booleans()):
                both = sender._replace(source=receiver.source, recv=receiver.recv, reduce=receiver.reduce)
                attempt = [*schedules]
                attempt[rank] = [*schedules[rank][:index], both, *schedules[rank][index + 2 :]]
                if is_proved(attempt, count):
                    schedules = attempt
            index += 1
    return schedules


def is_proved(schedules: list[Schedule], count: int) -> bool:
    try:
        verify(schedules, count)
    except Refusal:
        return False
    return True

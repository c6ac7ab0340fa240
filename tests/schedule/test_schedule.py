"""The nouns of a schedule: blocks, steps without empty halves, and the parts of a vector."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.schedule import Parts, Step, contribution, drop_empty, elements, letter, split

spans = st.builds(lambda start, length: range(start, start + length), st.integers(0, 50), st.integers(0, 60))
ranges = st.lists(spans, max_size=3).map(tuple)
steps = st.builds(Step, st.integers(0, 9), ranges, st.integers(0, 9), ranges, st.booleans(), st.booleans())


@given(spans, st.integers(1, 40))
def test_split_cuts_into_contiguous_blocks_of_nearly_equal_length(span, parts):
    blocks = split(span, parts)
    lengths = [len(block) for block in blocks]
    assert len(blocks) == parts
    assert [element for block in blocks for element in block] == list(span)
    assert lengths == sorted(lengths, reverse=True)  # the longer ones come first
    assert max(lengths) - min(lengths) <= 1
    assert blocks[0].start == span.start and blocks[-1].stop == span.stop


def test_split_of_fewer_elements_than_parts_ends_in_empty_blocks():
    assert split(range(3, 5), 4) == (range(3, 4), range(4, 5), range(5, 5), range(5, 5))


@given(st.lists(steps, max_size=6))
def test_drop_empty_leaves_out_what_moves_nothing_and_nothing_else(schedule):
    kept = list(drop_empty(schedule))
    for step in kept:
        assert all(step.send) and all(step.recv) and (step.send or step.recv)
        assert (step.dest is None) == (not step.send)
        assert (step.source is None) == (not step.recv)
    for side in ("send", "recv"):
        before = [list(span) for step in schedule for span in getattr(step, side) if span]
        assert [list(span) for step in kept for span in getattr(step, side)] == before
    assert list(drop_empty(kept)) == kept


def test_drop_empty_keeps_full_steps_and_drops_halves_on_both_sides():
    full = Step(1, (range(2),), 2, (range(2, 4),), reduce=True, original=True)
    half = Step(1, (range(0),), 2, (range(3),), reduce=True, original=True)
    other_half = Step(1, (range(3),), 2, (range(0),), reduce=True, original=True)
    nothing = Step(1, (range(4, 4),), 2, (range(7, 7),), reduce=True)
    assert list(drop_empty([full, half, other_half, nothing])) == [
        full,
        Step(None, (), 2, (range(3),), reduce=True, original=False),
        Step(1, (range(3),), None, (), reduce=False, original=True),
    ]


@given(ranges)
def test_elements_counts_elements(some):
    assert elements(some) == sum(1 for span in some for _ in span)


@given(st.lists(st.lists(steps, max_size=4).map(lambda some: list(drop_empty(some))), max_size=3))
def test_parts_cut_the_vector_so_that_every_range_is_whole_parts(schedules):
    count = 110
    parts = Parts(schedules, count)
    assert [element for part in range(len(parts)) for element in parts.span(part)] == list(range(count))
    used = {span for schedule in schedules for step in schedule for span in (*step.send, *step.recv)}
    assert set(parts.of) == used
    for span, (first, stop) in parts.of.items():
        assert [element for part in range(first, stop) for element in parts.span(part)] == list(span)
    borders = {border for span in used for border in (span.start, span.stop)}
    assert set(parts.cuts) == borders | {0, count}  # no part is cut without need


@pytest.mark.parametrize("count, number", [(0, 0), (5, 1)])
def test_parts_without_messages(count, number):
    assert len(Parts([[], []], count)) == number


@pytest.mark.parametrize(
    "rank, part, name", [(0, 0, "a1"), (1, 0, "b1"), (25, 9, "z10"), (26, 0, "26.1"), (37, 11, "37.12")]
)
def test_contributions_are_named_as_in_the_classic_pictures(rank, part, name):
    assert contribution(rank, part) == name
    assert name.startswith(letter(rank))

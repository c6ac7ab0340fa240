"""The messages of Swing and Bine are those of their authors' programs (libswing, PICO's libpico), in words here.

Both number the ranks from a rank by numbers in base -2. Rank 0 exchanges with rho(s) = 1, -1, 3, -5, 11, ..., the
distance whose digits in base -2 are s+1 ones. What reaches a rank in step s and goes on from there in later steps has
other digits above those; odd ranks do the same in the other direction.
"""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule.algorithm import Topology

SIZES = (8, 16, 64, 6, 12, 24, 40)
RHO = (1, -1, 3, -5, 11, -21)


def value(digits: int) -> int:
    """The number that has these digits in base -2."""
    return sum((-2) ** place for place in range(digits.bit_length()) if digits >> place & 1)


def peer(rank: int, step: int, size: int) -> int:
    return (rank + (-RHO[step] if rank % 2 else RHO[step])) % size


def run(digits: int, steps: int) -> int:
    """How many of the lowest of `steps` digits are like the first."""
    return next((k for k in range(1, steps) if (digits >> k & 1) != (digits & 1)), steps)


def of_libswing(rank: int, step: int, size: int) -> set[int]:
    """The blocks that `rank` sends in a step of libswing's reduce-scatter, on one dimension and one port.

    Their distances have step+1 equal lowest digits, then another one. Where two ways lead to the same block, because
    the ranks are no power of two, the longer run of equal digits, that is the later step, has it.
    """
    steps, sign = (size - 1).bit_length(), -1 if rank % 2 else 1
    ways: dict[int, int] = {}  # block -> the latest step that it could be sent in
    for digits in range(1 << steps):
        towards = sign if digits & 1 else -sign  # digits that end in zeros count the other way
        block = (rank + towards * value(digits)) % size
        ways[block] = max(ways.get(block, 0), run(digits, steps) - 1)
    return {block for block, latest in ways.items() if latest == step and block != rank}


def place_in_bine(rank: int, size: int) -> int:
    """The number that PICO gives a rank: digits in base -2, as a Gray code, reversed; the smaller of two."""
    bits = (size - 1).bit_length()
    digits_of = {value(digits): digits for digits in range(1 << bits)}
    ways = (rank, rank - size) if rank % 2 else (-rank, size - rank)
    found = [digits_of[way] for way in ways if way in digits_of]
    return min(int(f"{digits ^ digits >> 1:0{bits}b}"[::-1], 2) for digits in found)


def messages(name: str, size: int) -> list[list[tuple[int, set[int], int, set[int]]]]:
    """Of each rank and step of the reduce-scatter: partner and elements, sent and received; a block is an element."""
    schedules = builtin()[name].schedules(size, Topology.one_node(size), size, size)
    return [
        [
            (step.dest, set().union(*step.send), step.source, set().union(*step.recv))
            for step in steps[: (size - 1).bit_length()]
        ]
        for steps in schedules
    ]


@pytest.mark.parametrize("size", SIZES)
def test_swing_sends_what_libswing_sends(size):
    for rank, steps in enumerate(messages("swing", size)):
        for step, message in enumerate(steps):
            other = peer(rank, step, size)
            assert message == (other, of_libswing(rank, step, size), other, of_libswing(other, step, size))


@pytest.mark.parametrize("size", [size for size in SIZES if size & (size - 1) == 0])
def test_bine_halves_the_vector_as_libpico_does(size):
    """The remapped variant, for a power of two: the rank with the lower number keeps the lower half."""
    for rank, steps in enumerate(messages("bine", size)):
        span = range(size)
        for step, message in enumerate(steps):
            other, half = peer(rank, step, size), len(span) // 2
            keeps_lower = place_in_bine(rank, size) < place_in_bine(other, size)
            kept, sent = (span[:half], span[half:]) if keeps_lower else (span[half:], span[:half])
            assert message == (other, set(sent), other, set(kept))
            span = kept
        assert [*span] == [place_in_bine(rank, size)]


@pytest.mark.parametrize("size", [size for size in SIZES if size & (size - 1)])
def test_bine_sends_the_blocks_that_libpico_sends_on_other_even_numbers_of_ranks(size):
    """Block by block: one goes when the highest bit of its number is that of the step, counted from the last."""

    def sent(rank: int, step: int) -> set[int]:
        last = (size - 1).bit_length() - 1
        blocks = [block for block in range(1, size) if place_in_bine(block, size).bit_length() - 1 == last - step]
        return {(rank - block if rank % 2 else rank + block) % size for block in blocks}

    for rank, steps in enumerate(messages("bine", size)):
        for step, message in enumerate(steps):
            other = peer(rank, step, size)
            assert message == (other, sent(rank, step), other, sent(other, step))


@pytest.mark.parametrize("size", [8, 16, 64])
def test_bine_lat_exchanges_whole_vectors_with_the_partners_of_libpico(size):
    for rank, steps in enumerate(messages("bine_lat", size)):
        assert [(dest, source) for dest, _, source, _ in steps] == [
            (peer(rank, step, size),) * 2 for step in range((size - 1).bit_length())
        ]


def test_the_numbers_of_bine_are_those_of_the_sources():
    assert [place_in_bine(rank, 8) for rank in range(8)] == [0, 4, 6, 1, 3, 7, 5, 2]
    assert sorted(place_in_bine(rank, 64) for rank in range(64)) == list(range(64))

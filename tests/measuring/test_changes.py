"""What changes between calls leaves an input whose all-reduce is known, and shows calls that are left out."""

import numpy as np
import pytest

from allreduce_bench.executing import Place, Prepared
from allreduce_bench.measuring.repeat import Changing, repeat_into, wrong_elements
from allreduce_bench.measuring.vectors import MOST_LINES, Check, exact_inputs, lines_of, seen

NOTHING = Prepared(lambda: None, lambda: None)
CALLS = 40


class Ranks:
    """Several ranks in one process, with places of their own, which sum float32 together."""

    def __init__(self, size: int, count: int, places: int = 1):
        check = Check(size, count, "float32", "sum", seed=5)
        self.periods = [exact_inputs(check, rank) for rank in range(size)]
        self.changing = [Changing(check, rank) for rank in range(size)]
        shapes = [[np.empty(count, "f4") for _ in range(2 * places)] for _ in range(size)]
        self.places = [[Place(NOTHING, *pair) for pair in zip(own[::2], own[1::2])] for own in shapes]
        self.used = 0
        for changing, own, (operand, _) in zip(self.changing, self.places, self.periods):
            for place in own:
                repeat_into(place.sendbuf, operand)
            changing.start(own, lambda: self.used)

    def batch(self, calls: int, all_reduce) -> None:
        for changing in self.changing:
            changing.prepare(calls)
        for call in range(calls):
            for changing in self.changing:
                changing.before(call)
            self.used = (self.used + 1) % len(self.places[0])
            all_reduce(call, [own[self.used] for own in self.places])
            for changing in self.changing:
                changing.after(call)

    def wrong(self) -> int:
        return sum(changing.wrong for changing in self.changing)

    def wrong_of_whole_vectors(self) -> int:
        """After a call: what a look at everything finds once the lines are hidden."""
        found = 0
        for changing, own, (operand, result) in zip(self.changing, self.places, self.periods):
            changing.hide(self.used, result)
            found += wrong_elements(own[self.used].recvbuf, result) + wrong_elements(own[self.used].sendbuf, operand)
        return found


def sound(call, places) -> None:
    total = sum(place.sendbuf for place in places)
    for place in places:
        place.recvbuf[:] = total


def only_the_first(call, places) -> None:
    if call == 0:
        sound(call, places)


def first_half(call, places) -> None:
    kept = [place.recvbuf.copy() for place in places]
    sound(call, places)
    for place, before in zip(places, kept):
        half = len(before) // 2
        place.recvbuf[half:] = before[half:] if call else place.recvbuf[half:]


def spoiling(call, places) -> None:
    sound(call, places)
    places[0].sendbuf[:] += 1


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 17, 5000])
@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_a_sound_all_reduce_is_never_accused_whatever_comes_between_batches(size, count, places):
    ranks = Ranks(size, count, places)
    for calls in (1, 7, 1, CALLS):
        ranks.batch(calls, sound)
        assert ranks.wrong() == 0
    assert ranks.wrong_of_whole_vectors() == 0
    ranks.batch(3, sound)
    for changing, own, (operand, _) in zip(ranks.changing, ranks.places, ranks.periods):
        for number, place in enumerate(own):
            changing.restore(number)
            assert wrong_elements(place.sendbuf, operand) == 0
    assert ranks.wrong() == 0


@pytest.mark.parametrize("fault", [only_the_first, first_half, spoiling])
@pytest.mark.parametrize("count", [2, 17, 5000])
def test_calls_and_halves_that_are_left_out_and_inputs_that_change_are_seen(fault, count):
    ranks = Ranks(4, count)
    ranks.batch(CALLS, fault)
    assert ranks.wrong() > 0


def test_about_half_of_the_calls_of_a_batch_and_each_of_a_few_are_looked_at_but_not_the_first_on_new_inputs():
    (changing,) = (ranks := Ranks(1, 100)).changing
    ranks.batch(1, sound)
    assert changing.calls_to_check.tolist() == [0]
    ranks.batch(1, sound)
    assert changing.calls_to_check.tolist() == [1]
    ranks.batch(3, sound)
    assert changing.calls_to_check.tolist() == [1, 1, 1]
    ranks.batch(1000, sound)
    assert 400 < changing.calls_to_check.sum() < 600


@pytest.mark.parametrize("size, count", [(1, 1), (2, 1), (2, 2), (3, 50), (4, 4096), (1000, 100_000)])
def test_lines_lie_in_their_parts_and_reach_every_element(size, count):
    starts, rooms, length = lines_of(size, count, 4)
    assert (starts == np.cumsum([0, *rooms])[:-1]).all() and rooms.sum() == count
    assert length * 4 <= 64 and (rooms >= length).all() and 1 <= len(starts) <= MOST_LINES
    if count > 100:
        return
    changing, reached = Changing(Check(size, count, "float32", "sum"), 0), np.zeros(count, int)
    at = changing._draw(1000).at
    for element in range(length):
        np.add.at(reached, at + element, 1)
    assert (reached > 0).all()


def test_the_probability_to_see_a_fault_grows_with_looks_and_holds():
    few, many = seen(2, 4, 3000, "float32", "max"), seen(200, 4, 3000, "float32", "max")
    assert all(0 < less <= more <= 1 for less, more in zip(few, many))
    assert many.left_out > 0.999 and many.reduction > 0.999
    assert all(seen(2, 64, count, "float32", "sum").left_out > 0.999 for count in (1, 2, 16)), "all elements change"
    assert seen(2, 64, 3000, "float32", "sum").left_out < 0.5
    looks, trials, found = 3, 400, 0
    promised = seen(looks, 2, 3000, "float32", "sum").element
    for trial in range(trials):
        changing = Changing(Check(2, 3000, "float32", "sum", seed=trial), 0)
        at, element = changing._draw(looks).at, 700
        found += bool(((at <= element) & (element < at + changing._lines.length)).any())
    assert found / trials >= promised - 3 * np.sqrt(promised * (1 - promised) / trials)

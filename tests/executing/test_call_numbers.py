"""Numbers of calls in an input show calls and parts that are left out, and nothing else."""

import numpy as np
import pytest

from allreduce_bench.executing.call_numbers import CallNumbers
from allreduce_bench.executing.sendrecv import UFUNCS
from allreduce_bench.measuring.vectors import values_of_calls

CALLS = 40


class Ranks:
    """Several ranks in one process, with places of their own."""

    def __init__(self, size: int, count: int, places: int = 1, op: str = "sum", dtype: str = "float32"):
        self.op, self.used = op, 0
        values = values_of_calls(size, dtype, op)
        self.numbers = [CallNumbers(rank, size, count, values) for rank in range(size)]
        self.inputs = [[np.full(count, 7 + rank, dtype) for _ in range(places)] for rank in range(size)]
        self.outputs = [[np.zeros(count, dtype) for _ in range(places)] for _ in range(size)]
        for numbers, inputs, outputs in zip(self.numbers, self.inputs, self.outputs):
            numbers.start(list(zip(inputs, outputs)), lambda: self.used)

    def batch(self, all_reduce, calls: int = CALLS) -> int:
        """The wrong elements of all ranks so far."""
        for call in range(calls):
            for numbers in self.numbers:
                numbers.write()
            self.used = (self.used + 1) % len(self.inputs[0])
            all_reduce(self, call)
            for numbers in self.numbers:
                numbers.look()
        return sum(int(numbers.wrong[0]) for numbers in self.numbers)

    def sound(self, call: int = 0, lacking: int | None = None) -> None:
        given = [inputs[self.used] for rank, inputs in enumerate(self.inputs) if rank != lacking]
        result = given[0]
        for vector in given[1:]:
            result = UFUNCS[self.op](result, vector)
        for outputs in self.outputs:
            outputs[self.used][:] = result / len(given) if self.op == "avg" else result


def only_the_first(ranks: Ranks, call: int) -> None:
    if call == 0:
        ranks.sound()


def without_the_last_block(ranks: Ranks, call: int) -> None:
    kept = [outputs[0].copy() for outputs in ranks.outputs]
    ranks.sound()
    for outputs, before in zip(ranks.outputs, kept):
        last = len(before) - len(before) // min(len(ranks.outputs), len(before))
        outputs[0][last:] = before[last:] if call else outputs[0][last:]


def returning_early(ranks: Ranks, call: int) -> None:
    """One rank leaves before the result is there."""
    kept = ranks.outputs[0][0].copy()
    ranks.sound()
    ranks.outputs[0][0][:] = kept


def every_second_lacks_a_rank(ranks: Ranks, call: int) -> None:
    ranks.sound(lacking=1 if call % 2 else None)


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 17, 5000])
@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_a_sound_all_reduce_is_never_accused_and_its_inputs_come_back(size, count, places):
    ranks = Ranks(size, count, places)
    assert ranks.batch(Ranks.sound) == 0
    result = np.full(1, -1, "f4")
    for rank, numbers in enumerate(ranks.numbers):
        for place in range(places):
            numbers.remove(place, result)
            assert (ranks.inputs[rank][place] == 7 + rank).all()
            assert (ranks.outputs[rank][place] == -1).sum() == min(size, count)
        assert numbers.wrong[0] == 0


@pytest.mark.parametrize("op, dtype", [("avg", "float16"), ("prod", "int64"), ("max", "int32"), ("min", "float64")])
def test_each_operation_gives_numbers_back(op, dtype):
    assert Ranks(3, 50, op=op, dtype=dtype).batch(Ranks.sound, 1100) == 0


@pytest.mark.parametrize("fault", [only_the_first, without_the_last_block, returning_early, every_second_lacks_a_rank])
@pytest.mark.parametrize("size, count", [(2, 1), (2, 2), (4, 17), (4, 5000)])
def test_what_is_left_out_shows(fault, size, count):
    assert Ranks(size, count).batch(fault) > 0


def test_an_input_that_a_call_changed_shows_in_the_element_of_the_number():
    ranks = Ranks(2, 2)
    ranks.batch(Ranks.sound, 1)
    ranks.inputs[1][0][:] = 0.5
    for numbers in ranks.numbers:
        numbers.remove(0, np.zeros(1, "f4"))
    assert [numbers.wrong[0] for numbers in ranks.numbers] == [0, 2]


def test_elements_of_few_calls_lie_all_over_each_block():
    (numbers,) = (ranks := Ranks(1, 10_000)).numbers
    at = []
    ranks.batch(lambda ranks, call: (ranks.sound(), at.extend(numbers.places[0].at)), 100)
    assert 45 < len(set(at)) < 55 and np.diff(sorted([0, *at, 10_000])).max() < 600

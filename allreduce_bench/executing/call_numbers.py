"""Numbers of calls in the input: a call that is left out, wholly or in a part, shows in its result.

In one element of each of min(p, count) blocks of the input, one rank has the number of the call, the ranks in turn, and
the others have the neutral value of the operation. The element moves through its block from call to call; it is the
first in a quarter of the calls, and the last in another, since ends are left out more easily. Numbers are written
before the common start, and looked for in the result after the exit: neither is timed. The turn of the ranks begins one
rank later in each round: else a fault of every p-th call would always meet the same rank.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

PARTS = (1 << 16) - 1  # of a block
SPREAD = 40503  # the golden section of 2^16: elements of consecutive calls spread over a block


class Values(NamedTuple):
    """Numbers in turn as elements of a type: [number] each."""

    given: np.ndarray  # by one rank
    result: np.ndarray
    neutral: np.ndarray  # by the others, [1]


class CallNumbers:
    """Numbers in the input of one rank; the same calls have the same number on all ranks.

    `write` comes before each call, `look` after it. Of several places that calls use in turn, the place of the last
    call gets the number of its next one: so it has time to leave the cache.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        count: int,
        values: Iterable[np.ndarray],
        first: int = 0,
        wait: Callable[[], object] | None = None,
    ):
        """Number the calls of vectors of `count` elements from `first` on; `values` are those of Values.

        `wait` for all ranks after each call if they share cores: otherwise a rank that looks could occupy a core that
        another one needs to leave the call.
        """
        self.rank, self.size, self.next, self.wait = rank, size, first, wait
        edges = np.arange(min(size, count) + 1) * count // max(1, min(size, count))
        self.starts, self.spans = edges[:-1], np.diff(edges) - 1  # a block's first element, and from there to its last
        self.values = Values._make(map(bits, values))
        self.wrong = np.zeros(1, np.int64)  # elements on this rank
        self.places: list[NumberedPlace] = []
        self._used: Callable[[], int] = _only

    def start(self, vectors: Sequence[tuple[np.ndarray, np.ndarray]], used: Callable[[], int] | None = None) -> None:
        """Number the inputs of these (input, output), one pair a place; `used` returns the place of the last call."""
        self._used = used or _only
        self.places = [NumberedPlace(self, *pair) for pair in vectors]
        for place in self.places:
            place.write()

    def write(self) -> None:
        """Write the next number into the place of the last call."""
        self.places[self._used()].write()

    def look(self) -> None:
        """Count wrong elements of the result of the last call."""
        if self.wait:
            self.wait()
        self.places[self._used()].look()

    def remove(self, number: int, result: np.ndarray) -> None:
        """Make input and output of a place one period again, as in `result`; count inputs that calls changed."""
        place = self.places[number]
        self.wrong += np.count_nonzero(place.sent[place.at] != place.given)
        place.sent[place.at] = place.kept
        place.got[place.at] = bits(result)[place.at % max(1, result.size)]


class NumberedPlace:
    """Elements of a place that hold a number; unsigned integers represent their bits."""

    def __init__(self, numbers: CallNumbers, sendbuf: np.ndarray, recvbuf: np.ndarray):
        self.numbers, self.sent, self.got = numbers, bits(sendbuf), bits(recvbuf)
        self.at = numbers.starts.copy()
        self.kept = self.sent[self.at]  # original elements there
        self.number = 0

    def write(self) -> None:
        """Restore the input, and write the next number."""
        numbers = self.numbers
        self.number, numbers.next = numbers.next, numbers.next + 1
        self.sent[self.at] = self.kept
        self.at[:] = numbers.starts + numbers.spans * part_of(self.number) // PARTS
        self.kept[:] = self.sent[self.at]
        self.sent[self.at] = self.given

    def look(self) -> None:
        """Count elements of the output that are not the number's result."""
        result = self.numbers.values.result
        self.numbers.wrong += np.count_nonzero(self.got[self.at] != result[self.number % len(result)])

    @property
    def given(self) -> np.unsignedinteger:
        """Return what this rank contributes."""
        given, _, neutral = self.numbers.values
        numbers, number = self.numbers, self.number
        is_own = (number + number // numbers.size) % numbers.size == numbers.rank
        return given[number % len(given)] if is_own else neutral[0]


def part_of(number: int) -> int:
    """Return how far into its blocks a call has its number: 0 at their first elements, PARTS at their last."""
    return min(max(2 * (number * SPREAD & PARTS) - PARTS // 2, 0), PARTS)


def bits(vector: np.ndarray) -> np.ndarray:
    """Return a view of the elements as unsigned integers."""
    return vector.view(f"u{vector.itemsize}")


def _only() -> int:
    return 0

"""What changes in the inputs between the calls of a cell, and which results are looked at.

Calls on one and the same input, of which only the last is looked at, hide an all-reduce that leaves out the others, or
remembers results, or leaves a part of the vector as it was. So between calls a line in each part of the input gets
other exact numbers, at a place drawn at random: a quarter of the lines are at the beginning of their part and a quarter
at its end, where faults are likelier. After calls drawn at random the lines of the result are looked
at. All this comes between the exit from a call and the common start of the next one. Of a cold cell the lines are those
of the place that the call used, which then has time to leave the cache.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..executing import Changes, Place
from ..runs.cell import splitmix64
from .vectors import KNOWN, Check, Lines, exact_inputs, lines_of

LOOKED, FEW = 2, 8  # one call in so many is looked at, at random; in a batch of fewer calls each is


class Changing:
    """The lines of all places of a cell, and what is drawn for the calls of a batch: the same on all ranks.

    A line is so many elements on end; unsigned integers stand for their bits.
    """

    def __init__(self, check: Check, rank: int, wait: Callable[[], object] | None = None):
        """`check` as of the inputs of the cell; the numbers of the lines have a seed of their own.

        `wait` for all ranks after each call, where they share cores: who looks has a core that another one may need to
        leave the call.
        """
        self._wait = wait
        (self._seed,) = splitmix64(check.seed, np.array([-1])).tolist()
        operand, result = exact_inputs(check._replace(length=KNOWN, seed=self._seed), rank)
        self._operand, self._result = _bits(operand), _bits(result)
        self._lines = lines_of(check.size, check.length, operand.itemsize)
        self._span, self._drawn = np.arange(self._lines.length), 0
        self._places, self._used = list[_Place](), _only
        self._is_new, self._first = True, 0  # no call since `start`; the first call of a batch that lines change before
        self._wrong = np.zeros(1, np.int64)
        self._next, self.looks = self._draw(0), np.zeros(0, np.int64)

    @property
    def wrong(self) -> int:
        """Elements on this rank that were found wrong at lines: of results, and of inputs that a call changed."""
        return int(self._wrong[0])

    def start(self, places: Sequence[Place], used: Callable[[], int] | None = None) -> None:
        """The inputs of `places` are new, and remain so for one call. `used` numbers the place of the last call."""
        self._used, self._is_new = used or _only, True
        self._places = [_Place(place, self._lines) for place in places]

    def prepare(self, calls: int) -> None:
        """Draw what a batch of so many calls needs; `looks` [call] is 1 where the result is looked at."""
        self._next = self._draw(calls)
        numbers = splitmix64(self._seed, np.arange(self._drawn, self._drawn + calls))
        self.looks = ((numbers % np.uint64(LOOKED) == 0) | (calls < FEW)).astype(np.int64)
        self._first = int(self._is_new)
        self.looks[: self._first], self._is_new = 0, False

    def before(self, call: int) -> None:
        """Before a call of the batch: change the lines of the place that the last one used."""
        if call < self._first:
            return
        place = self._places[self._used()]
        if place.is_changed:
            place.sent[place.index] = place.kept
        place.at[:], place.source[:], place.is_changed = self._next.at[call], self._next.source[call], True
        place.find(self._span)
        place.kept[:] = place.sent[place.index]
        place.sent[place.index] = self._operand[place.known]

    def after(self, call: int) -> None:
        """After the call: look at the lines of its place, if that was drawn."""
        if self._wait:
            self._wait()
        place = self._places[self._used()]
        self.looks[call] &= place.is_changed
        if self.looks[call]:
            self._look(place)

    def changes(self) -> Changes:
        """The same for a loop that does it itself, in the only place."""
        (place,) = self._places
        place.is_changed |= len(self.looks) > self._first
        known, now = (self._operand, self._result), (place.at, place.source, place.kept)
        return Changes(self._wait is not None, self._first, *known, *now, *self._next, self.looks, self._wrong)

    def hide(self, number: int, result: np.ndarray) -> None:
        """After a call: look at the lines of its place; from then on its input is one period, as that of `result`.

        So a whole look finds the period everywhere.
        """
        place = self._places[number]
        if place.is_changed:
            self._look(place)
            place.got[place.index] = _bits(result)[place.index % max(1, result.size)]
            self.restore(number)

    def restore(self, number: int) -> None:
        """The input of a place is one period again."""
        place = self._places[number]
        if place.is_changed:
            place.find(self._span)
            self._wrong += np.count_nonzero(place.sent[place.index] != self._operand[place.known])
            place.sent[place.index], place.is_changed = place.kept, False

    def _draw(self, calls: int) -> "_Next":
        starts, rooms, length = self._lines
        first, self._drawn = self._drawn, self._drawn + calls
        numbers = np.arange(first * len(starts), self._drawn * len(starts)).reshape(calls, len(starts))
        bits = splitmix64(self._seed ^ 1, numbers)
        shift = (bits % (2 * rooms).astype(np.uint64)).astype(np.int64) - rooms // 2
        source = (bits >> np.uint64(32)) % np.uint64(KNOWN - length + 1)
        return _Next(starts + np.clip(shift, 0, rooms - length), source.astype(np.int64))

    def _look(self, place: "_Place") -> None:
        place.find(self._span)
        self._wrong += np.count_nonzero(place.got[place.index] != self._result[place.known])
        self._wrong += np.count_nonzero(place.sent[place.index] != self._operand[place.known])


class _Next(NamedTuple):
    """Where the lines of the calls of a batch are in the vectors and in the known numbers: int64 [call, line]."""

    at: np.ndarray
    source: np.ndarray


class _Place:
    """Where the lines of one place are now."""

    def __init__(self, place: Place, lines: Lines):
        self.sent, self.got = _bits(place.sendbuf), _bits(place.recvbuf)
        self.at, self.source, self.is_changed = lines.starts.copy(), np.zeros(len(lines.starts), np.int64), False
        self.find(np.arange(lines.length))
        self.kept = self.sent[self.index]  # what is there where nothing is changed

    def find(self, span: np.ndarray) -> None:
        """The elements of the lines, in vectors and in known numbers: a loop of its own may have moved them."""
        self.index, self.known = self.at[:, None] + span, self.source[:, None] + span


def _bits(vector: np.ndarray) -> np.ndarray:
    return vector.view(f"u{vector.itemsize}")


def _only() -> int:
    return 0

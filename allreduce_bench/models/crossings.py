"""Crossings of algorithms: where another one becomes the fastest, over sizes and over numbers of ranks.

Over ranks powers of two are left aside: algorithms that fold, or need one, are faster there than beside it, and would
win and lose at every power. Nothing is said where no fastest is known. For given prices: of measured times, neighbours
within their intervals would change places with the noise.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..units import format_size
from .prediction import CompetingModels

FINEST = 1000  # relative resolution 1/FINEST of a size at which two curves cross
Winner = Callable[[int], str | None]  # None: the models do not tell it there
Middle = Callable[[int, int], int | None]  # a number between two; None: they are near enough


class Crossing(NamedTuple):
    """Change of the fastest: `faster` from just above `above` up to `until`; at `above` it was `slower`."""

    faster: str
    slower: str
    over: str  # sizes or ranks: what grows
    above: int  # where it changes; unit: bytes or ranks, as `over` says
    until: int | None  # up to where `faster` is the fastest; None: to the end of what was looked at
    at: int  # what is fixed; unit: ranks or bytes

    @property
    def sentence(self) -> str:
        """Return `two_tree overtakes ring above 240 ranks at 64 MiB, …`, `… from 79 B to 343 B on 64 ranks`."""
        over_sizes = self.over == "sizes"
        write = _size if over_sizes else str
        span = f"above {write(self.above)}"
        if self.until is not None:
            span = f"from {write(self.above)} to {write(self.until)}"
        where = f"on {self.at} ranks" if over_sizes else f"ranks at {format_size(self.at)}, powers of two aside"
        return f"{self.faster} overtakes {self.slower} {span} {where}"


def winner_map(group: CompetingModels, ranks: Sequence[int], sizes: Sequence[int]) -> list[list[str | None]]:
    """Return the fastest series [ranks, sizes], `ring ?` by its prediction alone; None if none is known."""
    return [[named(group, number, size_bytes) for size_bytes in sizes] for number in ranks]


def named(group: CompetingModels, ranks: int, size_bytes: int) -> str | None:
    """Return the fastest series, with ` ?` if it is named by its prediction alone; None: not known."""
    fastest = group.fastest(ranks, size_bytes)
    return fastest and fastest.predicted.series + ("" if fastest.is_sure else " ?")


def over_sizes(
    group: CompetingModels, ranks: int, smallest: int, largest: int, shown: Iterable[int] = ()
) -> list[Crossing]:
    """Return the crossings on `ranks` ranks between two sizes in bytes; the sizes `shown` are evaluated, too."""
    grid = sorted({smallest, *(1 << n for n in range(smallest.bit_length(), largest.bit_length())), largest, *shown})

    def middle(low: int, high: int) -> int | None:
        return (low + high) // 2 if high - low > max(1, low // FINEST) else None

    return _crossings(lambda size_bytes: _winner(group, ranks, size_bytes), grid, middle, "sizes", ranks)


def over_ranks(
    group: CompetingModels, size_bytes: int, fewest: int, most: int, shown: Iterable[int] = ()
) -> list[Crossing]:
    """Return the crossings at `size_bytes` between two numbers of ranks; the ranks `shown` are evaluated, too.

    Skips powers of two and, with several ranks per node, numbers that leave a node partly empty.
    """
    step = group.step
    first, last = -(-fewest // step), most // step
    grid = {3 << power for power in range(last.bit_length())} | {first, first + 1, last - 1, last}
    filled = {nodes * step for nodes in grid if first <= nodes <= last}
    numbers = sorted(number for number in filled | {*shown} if fewest <= number <= most and not _is_power(number))

    def middle(low: int, high: int) -> int | None:
        near = (low + high) // 2 // step * step
        return next((number for number in (near, near + step) if low < number < high and not _is_power(number)), None)

    return _crossings(lambda ranks: _winner(group, ranks, size_bytes), numbers, middle, "ranks", size_bytes)


def _winner(group: CompetingModels, ranks: int, size_bytes: int) -> str | None:
    fastest = group.fastest(ranks, size_bytes)
    return fastest.predicted.series if fastest else None


def _crossings(winner: Winner, grid: Sequence[int], middle: Middle, over: str, at: int) -> list[Crossing]:
    """Return every change between neighbours of `grid` whose sides are both known."""
    lows = [low for pair in zip(grid, grid[1:]) for low in _changes(winner, *pair, middle)]
    found = []
    for (low, slower, faster), end in zip(lows, [*lows[1:], None]):
        if slower and faster:
            found.append(Crossing(faster, slower, over, low, end and end[0], at))
    return found


def _changes(winner: Winner, low: int, high: int, middle: Middle) -> Iterator[tuple[int, str | None, str | None]]:
    """Yield the number at which the winner changes, and who it was and becomes, bisected to the end of `middle`."""
    before, after = winner(low), winner(high)
    between = middle(low, high) if before != after else None
    if between is not None:
        yield from _changes(winner, low, between, middle)
        yield from _changes(winner, between, high, middle)
    elif before != after:
        yield low, before, after


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _size(size_bytes: int) -> str:
    """Format a size with three digits, its precision."""
    exact = format_size(size_bytes)
    number, unit = exact.split()
    return f"{float(number):.3g} {unit}" if unit != "B" and float(number) < 1000 else exact

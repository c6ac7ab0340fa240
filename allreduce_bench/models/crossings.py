"""Where one algorithm becomes faster than the one that was fastest: over sizes and over numbers of ranks.

Numbers of ranks that are a power of two are looked at by themselves: algorithms that fold, or need one, are faster
there than beside it, and would else win and lose with every power.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..units import format_size
from .prediction import Group

FINEST = 1000  # a size at which two curves cross is known to one part in so many


class Crossing(NamedTuple):
    """`faster` is the fastest from just above `above` on, up to where `slower` was; `at` is what was kept fixed."""

    faster: str
    slower: str
    over: str  # sizes, or ranks
    above: int  # bytes, or ranks
    at: int  # ranks, or bytes
    speculative: bool = False

    @property
    def sentence(self) -> str:
        """`two_tree overtakes ring above 240 ranks at 64 MiB`."""
        words = f"{self.faster} overtakes {self.slower} above "
        if self.over == "sizes":
            words += f"{_size(self.above)} on {self.at} ranks"
        else:
            words += f"{self.above} ranks at {format_size(self.at)}"
        return words + (" (speculative)" if self.speculative else "")


class Stretch(NamedTuple):
    """Powers of two of ranks at which another algorithm is fastest than at the numbers of ranks between them."""

    fastest: str
    first: int
    last: int
    nbytes: int

    @property
    def sentence(self) -> str:
        """`at powers of two from 4 to 16384 ranks rabenseifner is fastest at 64 MiB`."""
        where = (
            f"powers of two from {self.first} to {self.last} ranks" if self.first < self.last else f"{self.first} ranks"
        )
        return f"{self.fastest} is fastest at {where} at {format_size(self.nbytes)}"


def winner_map(group: Group, ranks: Sequence[int], sizes: Sequence[int]) -> list[list[str | None]]:
    """The fastest series [ranks, sizes]; None where none can run."""
    return [[_winner(group, number, nbytes) for nbytes in sizes] for number in ranks]


def over_sizes(group: Group, ranks: int, smallest: int, largest: int) -> list[Crossing]:
    """Where the fastest series changes on `ranks` between two sizes in bytes."""
    grid = [smallest, *(1 << power for power in range(smallest.bit_length(), largest.bit_length())), largest]
    changes = _changes(lambda nbytes: _winner(group, ranks, nbytes), sorted(set(grid)), _between_sizes)
    return [
        Crossing(faster, slower, "sizes", above, ranks, _is_speculative(group, faster, slower, ranks, above))
        for above, slower, faster in changes
    ]


def over_ranks(group: Group, nbytes: int, fewest: int, most: int) -> list[Crossing]:
    """Where the fastest series changes at `nbytes` between two numbers of ranks; powers of two are passed over."""
    grid = [3 << power for power in range(most.bit_length()) if fewest < 3 << power < most]
    ends = [number for number in (_no_power(fewest, 1), _no_power(most, -1)) if fewest <= number <= most]
    changes = _changes(lambda ranks: _winner(group, ranks, nbytes), sorted({*grid, *ends}), _between_ranks)
    return [
        Crossing(faster, slower, "ranks", above, nbytes, _is_speculative(group, faster, slower, above, nbytes))
        for above, slower, faster in changes
    ]


def at_powers_of_two(group: Group, nbytes: int, fewest: int, most: int) -> list[Stretch]:
    """Powers of two of ranks at which the fastest series is another than half-way to the powers below and above."""
    found: list[Stretch] = []
    for ranks in (1 << power for power in range(2, most.bit_length()) if fewest <= 1 << power <= most):
        winner = _winner(group, ranks, nbytes)
        beside = [
            _winner(group, number, nbytes) for number in (ranks * 3 // 4, ranks * 3 // 2) if fewest <= number <= most
        ]
        if winner is None or winner in beside or not beside:
            continue
        if found and found[-1].fastest == winner and found[-1].last == ranks // 2:
            found[-1] = found[-1]._replace(last=ranks)
        else:
            found.append(Stretch(winner, ranks, ranks, nbytes))
    return found


def _winner(group: Group, ranks: int, nbytes: int) -> str | None:
    fastest = group.fastest(ranks, nbytes)
    return fastest.series if fastest else None


def _is_speculative(group: Group, faster: str, slower: str, ranks: int, nbytes: int) -> bool:
    both = [group.at(series, ranks, nbytes).prediction for series in (faster, slower)]
    return any(one.speculative for one in both if one)


Change = tuple[int, str, str]  # above which, from, to


def _changes(winner: Callable[[int], str | None], grid: Sequence[int], middle: Callable) -> list[Change]:
    """Every change between neighbours of `grid`, bisected until `middle` finds nothing between two numbers."""
    return [change for low, high in zip(grid, grid[1:]) for change in _bisected(winner, low, high, middle)]


def _bisected(winner: Callable[[int], str | None], low: int, high: int, middle: Callable) -> Iterator[Change]:
    before, after = winner(low), winner(high)
    if before == after or before is None or after is None:
        return
    between = middle(low, high)
    if between is None:
        yield low, before, after
        return
    yield from _bisected(winner, low, between, middle)
    yield from _bisected(winner, between, high, middle)


def _between_sizes(low: int, high: int) -> int | None:
    return (low + high) // 2 if high - low > max(1, low // FINEST) else None


def _between_ranks(low: int, high: int) -> int | None:
    """A number between two that is no power of two, if there is one."""
    middle = (low + high) // 2
    return next((number for number in (middle, middle + 1) if low < number < high and number & (number - 1)), None)


def _no_power(ranks: int, step: int) -> int:
    """`ranks`, or the next number in the direction of `step` that is no power of two."""
    while ranks > 0 and not ranks & (ranks - 1):
        ranks += step
    return ranks


def _size(nbytes: int) -> str:
    """With three digits, as far as it is known."""
    exact = format_size(nbytes)
    number, unit = exact.split()
    return f"{float(number):.3g} {unit}" if unit != "B" and float(number) < 1000 else exact

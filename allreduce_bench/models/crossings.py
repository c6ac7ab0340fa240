"""Where one algorithm becomes faster than the one that was fastest: over sizes and over numbers of ranks.

Numbers of ranks that are a power of two are looked at by themselves: algorithms that fold, or need one, are faster
there than beside it, and would else win and lose with every power.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..units import format_size
from .prediction import CompetingModels

FINEST = 1000  # a size at which two curves cross is known to one part in so many


class Crossing(NamedTuple):
    """`faster` is the fastest from just above `above` on, up to where `slower` was."""

    faster: str
    slower: str
    over: str  # sizes, or ranks
    above: int  # bytes, or ranks
    at: int  # ranks, or bytes: what was kept fixed
    last: int  # from `at` up to which it is so
    speculative: bool

    @property
    def sentence(self) -> str:
        """`two_tree overtakes ring above 240 ranks at 64 MiB`."""
        phrase = f"{self.faster} overtakes {self.slower} above "
        if self.over == "sizes":
            phrase += f"{_size(self.above)} on {self.at} ranks"
        else:
            phrase += f"{self.above} ranks at {_sizes(self.at, self.last)}"
        return phrase + (" (speculative)" if self.speculative else "")


class Stretch(NamedTuple):
    """Powers of two of ranks at which another algorithm is fastest than at the numbers of ranks between them."""

    fastest: str
    first: int
    final: int
    at: int  # bytes
    last: int  # from `at` up to which it is so

    @property
    def sentence(self) -> str:
        """`rabenseifner is fastest at powers of two from 4 to 16384 ranks at 64 MiB`."""
        several = f"powers of two from {self.first} to {self.final} ranks"
        where = several if self.first < self.final else f"{self.first} ranks"
        return f"{self.fastest} is fastest at {where} at {_sizes(self.at, self.last)}"


Finding = Crossing | Stretch


def merged(findings: Sequence[Finding], sizes: Sequence[int]) -> list[Finding]:
    """What is so at several of `sizes` in a row, said once: `at 8 B to 32 KiB`. `found` is in their order."""
    before = dict(zip(sizes[1:], sizes))
    kept: list[Finding] = []
    for finding in findings:
        matches = [index for index, other in enumerate(kept) if finding._replace(at=other.at, last=other.last) == other]
        if matches and kept[matches[-1]].last == before.get(finding.at):
            kept[matches[-1]] = kept[matches[-1]]._replace(last=finding.at)
        else:
            kept.append(finding)
    return kept


def winner_map(group: CompetingModels, ranks: Sequence[int], sizes: Sequence[int]) -> list[list[str | None]]:
    """The fastest series [ranks, sizes]; None where none can run."""
    return [[_winner(group, number, nbytes) for nbytes in sizes] for number in ranks]


def over_sizes(group: CompetingModels, ranks: int, smallest: int, largest: int) -> list[Crossing]:
    """Where the fastest series changes on `ranks` between two sizes in bytes."""
    grid = {smallest, *(1 << power for power in range(smallest.bit_length(), largest.bit_length())), largest}
    changes = _changes(lambda nbytes: _winner(group, ranks, nbytes), sorted(grid), _between_sizes)
    return [
        Crossing(faster, slower, "sizes", above, ranks, ranks, _is_speculative(group, faster, slower, ranks, above))
        for above, slower, faster in changes
    ]


def over_ranks(group: CompetingModels, nbytes: int, fewest: int, most: int) -> list[Crossing]:
    """Where the fastest series changes at `nbytes` between two numbers of ranks.

    Powers of two are passed over, and where nodes have several ranks all numbers that leave one of them half empty.
    """
    step = group.step
    first, last = -(-fewest // step), most // step
    grid = {3 << power for power in range(last.bit_length())} | {first, first + 1, last - 1, last}
    numbers = sorted(nodes * step for nodes in grid if first <= nodes <= last and not _is_power(nodes * step))
    changes = _changes(
        lambda ranks: _winner(group, ranks, nbytes), numbers, lambda low, high: _between_ranks(low, high, step)
    )
    return [
        Crossing(faster, slower, "ranks", above, nbytes, nbytes, _is_speculative(group, faster, slower, above, nbytes))
        for above, slower, faster in changes
    ]


def at_powers_of_two(group: CompetingModels, nbytes: int, fewest: int, most: int) -> list[Stretch]:
    """Powers of two of ranks at which the fastest series is another than half-way to the powers below and above."""
    stretches: list[Stretch] = []
    for ranks in (1 << power for power in range(2, most.bit_length()) if fewest <= 1 << power <= most):
        winner = _winner(group, ranks, nbytes)
        between = [number for number in (ranks * 3 // 4, ranks * 3 // 2) if fewest <= number <= most]
        others = [_winner(group, number, nbytes) for number in between if number % group.step == 0]
        if ranks % group.step or not others or winner is None or winner in others:
            continue
        if stretches and stretches[-1].fastest == winner and stretches[-1].final == ranks // 2:
            stretches[-1] = stretches[-1]._replace(final=ranks)
        else:
            stretches.append(Stretch(winner, ranks, ranks, nbytes, nbytes))
    return stretches


def _winner(group: CompetingModels, ranks: int, nbytes: int) -> str | None:
    fastest = group.fastest(ranks, nbytes)
    return fastest.series if fastest else None


def _is_speculative(group: CompetingModels, faster: str, slower: str, ranks: int, nbytes: int) -> bool:
    predictions = [group.at(series, ranks, nbytes).prediction for series in (faster, slower)]
    return any(prediction.speculative for prediction in predictions if prediction)


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


def _between_ranks(low: int, high: int, step: int) -> int | None:
    """A multiple of `step` between two that is no power of two, if there is one."""
    middle = (low + high) // 2 // step * step
    return next((number for number in (middle, middle + step) if low < number < high and not _is_power(number)), None)


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _sizes(first: int, last: int) -> str:
    return format_size(first) + (f" to {format_size(last)}" if last > first else "")


def _size(nbytes: int) -> str:
    """With three digits, as far as it is known."""
    exact = format_size(nbytes)
    number, unit = exact.split()
    return f"{float(number):.3g} {unit}" if unit != "B" and float(number) < 1000 else exact

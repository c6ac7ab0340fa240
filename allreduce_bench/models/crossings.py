"""Crossings of algorithms: where another one becomes the fastest, over sizes and over numbers of ranks.

Powers of two of ranks are treated separately: algorithms that fold, or need one, are faster there than beside it, and
would otherwise win and lose at every power. Statements never contradict each other, nor `CompetingModels.fastest`
where a table shows it: each crossing says up to where it holds, and whether it does at powers of two. Nothing is said
where no fastest is known. For given prices: of measured times, neighbours within their intervals would change places
with the noise.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from ..units import format_size
from .prediction import CompetingModels

FINEST = 1000  # relative resolution 1/FINEST of a size at which two curves cross


class Crossing(NamedTuple):
    """Change of the fastest: `faster` from just above `above` up to `until`; at `above` it was `slower`."""

    faster: str  # algorithm that is the fastest from just above `above` up to `until`
    slower: str  # algorithm that was
    over: str  # sizes or ranks: what grows
    above: int  # where it changes; unit: bytes or ranks, as `over` says
    at: int  # what is fixed; unit: ranks or bytes
    last: int  # from `at` up to which it is so
    # up to where `faster` is the fastest; None: to the end of what was looked at; unit as of above
    until: int | None = None
    no_powers: bool = False  # of ranks: at some powers of two in between another is the fastest, or none is named

    @property
    def sentence(self) -> str:
        """Return `two_tree overtakes ring above 240 ranks at 64 MiB`, `… from 79 B to 343 B on 64 ranks`."""
        write, unit = (_size, "") if self.over == "sizes" else (str, " ranks")
        above = f"above {write(self.above)}"
        span = above if self.until is None else f"from {write(self.above)} to {write(self.until)}"
        where = f"on {self.at} ranks" if self.over == "sizes" else f"at {_sizes(self.at, self.last)}"
        aside = ", powers of two aside" if self.no_powers else ""
        return f"{self.faster} overtakes {self.slower} {span}{unit} {where}{aside}"


class Stretch(NamedTuple):
    """Range of powers of two of ranks with another fastest algorithm than the numbers between them."""

    fastest: str  # algorithm that is fastest at powers of two alone
    first: int  # first power of two; ranks
    final: int  # last power of two; ranks
    at: int  # what is fixed; bytes
    last: int  # from `at` up to which it is so; bytes

    @property
    def sentence(self) -> str:
        """Return `rabenseifner is fastest at powers of two from 4 to 16384 ranks at 64 MiB`."""
        several = f"powers of two from {self.first} to {self.final} ranks"
        where = several if self.first < self.final else f"{self.first} ranks"
        return f"{self.fastest} is fastest at {where} at {_sizes(self.at, self.last)}"


Finding = Crossing | Stretch


def merged(findings: Sequence[Finding], sizes: Sequence[int]) -> list[Finding]:
    """Merge equal findings at consecutive `sizes`: `at 8 B to 32 KiB`. `findings` are in the order of `sizes`."""
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
    changes = _changes(lambda size_bytes: _winner(group, ranks, size_bytes), grid, _between_sizes)
    return [
        Crossing(change.after, change.before, "sizes", change.low, ranks, ranks, until)
        for change, until in _told(changes)
    ]


def over_ranks(
    group: CompetingModels, size_bytes: int, fewest: int, most: int, shown: Iterable[int] = ()
) -> list[Crossing]:
    """Return the crossings at `size_bytes` between two numbers of ranks; the ranks `shown` are evaluated, too.

    Skips powers of two and, with several ranks per node, numbers that leave a node partly empty. A power of two right
    at a crossing belongs to the series that is fastest there.
    """
    step = group.step
    first, last = -(-fewest // step), most // step
    grid = {3 << power for power in range(last.bit_length())} | {first, first + 1, last - 1, last}
    filled = {nodes * step for nodes in grid if first <= nodes <= last}
    numbers = sorted(number for number in filled | {*shown} if fewest <= number <= most and not _is_power(number))

    def winner(ranks: int) -> str | None:
        return _winner(group, ranks, size_bytes)

    def between(low: int, high: int) -> int | None:
        return _between_ranks(low, high, step)

    changes = [_at_its_power(change, winner, step) for change in _changes(winner, numbers, between)]
    crossings = []
    for change, until in _told(changes):
        powers = [power for power in _powers(change.low + 1, until or most) if power % step == 0]
        aside = any(winner(power) != change.after for power in powers)
        found = Crossing(change.after, change.before, "ranks", change.low, size_bytes, size_bytes, until, aside)
        crossings.append(found)
    return crossings


def at_powers_of_two(group: CompetingModels, size_bytes: int, fewest: int, most: int) -> list[Stretch]:
    """Return the powers of two of ranks whose fastest series differs from the numbers just below and above."""
    stretches: list[Stretch] = []
    for ranks in _powers(max(4, fewest), most):
        winner = _winner(group, ranks, size_bytes)
        between = [number for number in (ranks - group.step, ranks + group.step) if fewest <= number <= most]
        others = [_winner(group, number, size_bytes) for number in between]
        if ranks % group.step or not any(others) or winner is None or winner in others:
            continue
        if stretches and stretches[-1].fastest == winner and stretches[-1].final == ranks // 2:
            stretches[-1] = stretches[-1]._replace(final=ranks)
        else:
            stretches.append(Stretch(winner, ranks, ranks, size_bytes, size_bytes))
    return stretches


def _winner(group: CompetingModels, ranks: int, size_bytes: int) -> str | None:
    fastest = group.fastest(ranks, size_bytes)
    return fastest.predicted.series if fastest else None


Winner = Callable[[int], str | None]


class Change(NamedTuple):
    """Change of the fastest series between `low` and `high`; None: the models do not tell it there."""

    low: int
    high: int
    before: str | None
    after: str | None


class ToldChange(NamedTuple):
    """Change between two known fastest series."""

    low: int
    before: str
    after: str


def _changes(winner: Winner, grid: Sequence[int], middle: Callable) -> list[Change]:
    """Return every change between neighbours of `grid`, bisected until `middle` finds nothing between two numbers."""
    return [change for low, high in zip(grid, grid[1:]) for change in _bisected(winner, low, high, middle)]


def _bisected(winner: Callable, low: int, high: int, middle: Callable) -> Iterator[Change]:
    before, after = winner(low), winner(high)
    if before == after:
        return
    between = middle(low, high)
    if between is None:
        yield Change(low, high, before, after)
        return
    yield from _bisected(winner, low, between, middle)
    yield from _bisected(winner, between, high, middle)


def _told(changes: Sequence[Change]) -> Iterator[tuple[ToldChange, int | None]]:
    """Yield the changes with both sides known, and up to where the second one holds; None: to the end."""
    ends = [change.low for change in changes[1:]]
    for change, until in zip_longest(changes, ends):
        if change.before is not None and change.after is not None:
            yield ToldChange(change.low, change.before, change.after), until


def _at_its_power(change: Change, winner: Winner, step: int) -> Change:
    """Move `change` to the power of two between its ends, if the former series is still fastest there."""
    for power in _powers(change.low + 1, change.high - 1):
        if power % step == 0 and winner(power) == change.before:
            return change._replace(low=power)
    return change


def _powers(fewest: int, most: int) -> Iterator[int]:
    """Return the powers of two from `fewest` to `most`."""
    return (1 << power for power in range((max(fewest, 1) - 1).bit_length(), most.bit_length()))


def _between_sizes(low: int, high: int) -> int | None:
    return (low + high) // 2 if high - low > max(1, low // FINEST) else None


def _between_ranks(low: int, high: int, step: int) -> int | None:
    """Return a multiple of `step` strictly between two numbers that is no power of two, or None."""
    middle = (low + high) // 2 // step * step
    return next((number for number in (middle, middle + step) if low < number < high and not _is_power(number)), None)


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _sizes(first: int, last: int) -> str:
    return format_size(first) + (f" to {format_size(last)}" if last > first else "")


def _size(size_bytes: int) -> str:
    """Format a size with three digits, its precision."""
    exact = format_size(size_bytes)
    number, unit = exact.split()
    return f"{float(number):.3g} {unit}" if unit != "B" and float(number) < 1000 else exact

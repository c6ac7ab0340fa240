"""Crossings of algorithms: where another one becomes the fastest, over sizes and over numbers of ranks.

Powers of two of ranks are treated separately: algorithms that fold, or need one, are faster there than beside it, and
would otherwise win and lose at every power. Statements never contradict each other, nor `CompetingModels.winner` at the
sizes and ranks that a table shows: each crossing says up to where it holds, and whether it does at powers of two.
Nothing is said where the models do not tell the fastest. Where the times of the two are within their intervals, their
order is open: a crossing says from where to where, and is left out if one of them is nowhere shown to be the faster.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from ..units import format_size
from .prediction import CompetingModels

FINEST = 1000  # relative resolution 1/FINEST of a size at which two curves cross


class Crossing(NamedTuple):
    """Change of the least time: `faster` from just above `above` up to `until`; at `above` it was `slower`.

    From `open_from` to `open_to` their order is within their intervals, or was not looked at.
    """

    faster: str  # algorithm that is the fastest from just above `above` up to `until`
    slower: str  # algorithm that was
    over: str  # sizes or ranks: what grows
    above: int  # where it changes; unit: bytes or ranks, as `over` says
    at: int  # what is fixed; unit: ranks or bytes
    last: int  # from `at` up to which it is so
    speculative: bool  # whether it is far beyond the measured numbers of ranks
    # up to where `faster` is the fastest; None: to the end of what was looked at; unit as of above
    until: int | None = None
    no_powers: bool = False  # of ranks: at some powers of two in between another is the fastest, or none is named
    open_from: int | None = None  # from where on the order of the two is within their intervals; None: nowhere
    open_to: int | None = None  # up to where it is; None: nowhere; unit as of above

    @property
    def sentence(self) -> str:
        """Return `two_tree overtakes ring above 240 ranks at 64 MiB`, `… from 79 B to 343 B on 64 ranks`.

        With `(order open from 180 to 300)` before where it is, if it is open somewhere.
        """
        write, unit = (_size, "") if self.over == "sizes" else (str, " ranks")
        above = f"above {write(self.above)}"
        span = above if self.until is None else f"from {write(self.above)} to {write(self.until)}"
        where = f"on {self.at} ranks" if self.over == "sizes" else f"at {_sizes(self.at, self.last)}"
        aside = ", powers of two aside" if self.no_powers else ""
        unsure = ""
        if self.open_from is not None and self.open_to is not None:
            unsure = f" (order open from {write(self.open_from)} to {write(self.open_to)})"
        phrase = f"{self.faster} overtakes {self.slower} {span}{unit}{unsure} {where}{aside}"
        return phrase + (" (speculative)" if self.speculative else "")


class Stretch(NamedTuple):
    """Range of powers of two of ranks with another fastest algorithm than the numbers between them."""

    fastest: str  # algorithm that is fastest at powers of two alone
    first: int  # first power of two; ranks
    final: int  # last power of two; ranks
    at: int  # what is fixed; bytes
    last: int  # from `at` up to which it is so; bytes
    speculative: bool = False  # whether all these numbers of ranks are far beyond the measured ones

    @property
    def sentence(self) -> str:
        """Return `rabenseifner is fastest at powers of two from 4 to 16384 ranks at 64 MiB`."""
        several = f"powers of two from {self.first} to {self.final} ranks"
        where = several if self.first < self.final else f"{self.first} ranks"
        phrase = f"{self.fastest} is fastest at {where} at {_sizes(self.at, self.last)}"
        return phrase + (" (speculative)" if self.speculative else "")


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
    """Return the series with the least time [ranks, sizes], `ring =` if another equals it; None if none is known."""
    return [[named(group, number, size_bytes) for size_bytes in sizes] for number in ranks]


def named(group: CompetingModels, ranks: int, size_bytes: int) -> str | None:
    """Return the series with the least time, with ` =` if another equals it; None: not known."""
    winner = _winner(group, ranks, size_bytes)
    return f"{winner} =" if winner and group.equals(ranks, size_bytes) else winner


def over_sizes(
    group: CompetingModels, ranks: int, smallest: int, largest: int, shown: Iterable[int] = ()
) -> list[Crossing]:
    """Return the crossings on `ranks` ranks between two sizes in bytes; the sizes `shown` are evaluated, too."""
    grid = sorted({smallest, *(1 << n for n in range(smallest.bit_length(), largest.bit_length())), largest, *shown})
    changes = _changes(lambda size_bytes: _winner(group, ranks, size_bytes), grid, _between_sizes)
    crossings = []
    for change, start, until in _told(changes, grid[0]):

        def is_open(size_bytes: int, change: ToldChange = change) -> bool:
            return group.is_open(change.before, group.at(change.after, ranks, size_bytes))

        open_range = _open_range(is_open, grid, start, change.low, until or largest, _between_sizes)
        if open_range is not None:
            far = _is_speculative(group, change.after, change.before, ranks, change.low)
            found = Crossing(change.after, change.before, "sizes", change.low, ranks, ranks, far, until)
            crossings.append(found._replace(open_from=open_range[0], open_to=open_range[1]))
    return crossings


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
    for change, start, until in _told(changes, numbers[0] if numbers else fewest):

        def is_open(ranks: int, change: ToldChange = change) -> bool:
            return group.is_open(change.before, group.at(change.after, ranks, size_bytes))

        end = until or most
        open_range = _open_range(is_open, numbers, start, change.low, end, between)
        if open_range is None:
            continue
        low, high = open_range
        powers = [power for power in _powers(change.low + 1, end) if power % step == 0]
        settled = [power for power in powers if low is None or high is None or not low <= power <= high]
        aside = any(winner(power) != change.after for power in powers) or any(map(is_open, settled))
        far = _is_speculative(group, change.after, change.before, change.low, size_bytes)
        found = Crossing(change.after, change.before, "ranks", change.low, size_bytes, size_bytes, far, until, aside)
        crossings.append(found._replace(open_from=low, open_to=high))
    return crossings


def at_powers_of_two(group: CompetingModels, size_bytes: int, fewest: int, most: int) -> list[Stretch]:
    """Return the powers of two of ranks whose fastest series is not that of the numbers just below or above."""
    stretches: list[Stretch] = []
    for ranks in _powers(max(4, fewest), most):
        winner = _winner(group, ranks, size_bytes)
        between = [number for number in (ranks - group.step, ranks + group.step) if fewest <= number <= most]
        others = [_winner(group, number, size_bytes) for number in between]
        if (
            ranks % group.step
            or not any(others)
            or winner is None
            or winner in others
            or group.equals(ranks, size_bytes)
        ):
            continue
        far = _is_speculative(group, winner, winner, ranks, size_bytes)
        if stretches and stretches[-1].fastest == winner and stretches[-1].final == ranks // 2:
            stretches[-1] = stretches[-1]._replace(final=ranks, speculative=stretches[-1].speculative and far)
        else:
            stretches.append(Stretch(winner, ranks, ranks, size_bytes, size_bytes, far))
    return stretches


def _winner(group: CompetingModels, ranks: int, size_bytes: int) -> str | None:
    fastest = group.winner(ranks, size_bytes)
    return fastest.series if fastest else None


def _is_speculative(group: CompetingModels, faster: str, slower: str, ranks: int, size_bytes: int) -> bool:
    predictions = [group.at(series, ranks, size_bytes).prediction for series in (faster, slower)]
    return any(prediction.speculative for prediction in predictions if prediction)


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


def _told(changes: Sequence[Change], first: int) -> Iterator[tuple[ToldChange, int, int | None]]:
    """Yield the changes with both sides known, and from where to where each side holds; None: to the end."""
    starts = [first, *(change.high for change in changes)]
    ends = [change.low for change in changes[1:]]
    for change, start, until in zip_longest(changes, starts[:-1], ends):
        if change.before is not None and change.after is not None:
            yield ToldChange(change.low, change.before, change.after), start, until


def _open_range(
    is_open: Callable[[int], bool], grid: Sequence[int], start: int, low: int, until: int, middle: Callable
) -> tuple[int | None, int | None] | None:
    """Return from where to where the order of two series is open, whose times cross just above `low`.

    The numbers of `grid` from `start` to `until` are looked at, and refined by `middle`. (None, None): nowhere; None:
    one of the series is nowhere shown to be faster than the other, or at a single number at the end.
    """
    numbers = sorted({start, low, until, *(number for number in grid if start < number < until)})
    closed = [number for number in numbers if not is_open(number)]
    below, above = [number for number in closed if number <= low], [number for number in closed if number > low]
    if not below or not above:
        return None
    changes = [change for one, other in zip(numbers, numbers[1:]) for change in _bisected(is_open, one, other, middle)]
    opened, shut = [one.low for one in changes if one.after], [one.high for one in changes if one.before]
    if not changes:
        return None, None
    if opened[:1] == [start] or shut[-1:] == [until]:
        return None
    return (opened[0] if not is_open(numbers[0]) else numbers[0]), (
        shut[-1] if not is_open(numbers[-1]) else numbers[-1]
    )


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

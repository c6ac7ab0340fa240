"""What a user can set: where an algorithm of the library is faster than the library's default.

The control is native:default, measured in the same forced launches; where it was not measured, native. An algorithm
gains where the control is slower by `rounds.relation`, and over two neighbouring sizes, unless there is but one.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ..runs.competitor import FORCED_DEFAULT, NATIVE, Competitor
from ..runs.plan import ImportedPlan, Plan
from ..runs.schema import SLOWER
from ..units import as_printed
from .competing import competing
from .doubts import OTHER_DEFAULT, REFERENCE
from .grade import NOT_RELIABLE
from .rounds import ratios_by_round, relation, times_by_round
from .summary_row import SummaryRow, time_of
from .verdict import FEWEST_SIZES

SOUND = (None, OTHER_DEFAULT, REFERENCE)  # doubts that do not stand against a comparison within forced launches


class Gain(NamedTuple):
    """Neighbouring sizes at which one algorithm of the library is faster than the control."""

    name: str
    low: int  # bytes
    high: int
    least: float  # how many times as fast as the control, at the size where it gains least
    most: float
    worst: float  # the least in any round of any of these sizes
    launches: int  # rounds that both have


class Settable(NamedTuple):
    """What the algorithms of the library gain over its default on one number of ranks."""

    control: str
    tried: int  # algorithms
    gains: tuple[Gain, ...]


def settable(rows: Iterable[SummaryRow]) -> Settable | None:
    """Return the gains of `rows` of one number of ranks; None: no algorithm of the library was measured."""
    timed = [row for row in rows if row["time_s"] and row["size_bytes"] and row.get("doubt") in SOUND]
    forced = [row for row in timed if Competitor(row["competitor"]).is_forced and row["competitor"] != FORCED_DEFAULT]
    if not forced:
        return None
    control = FORCED_DEFAULT if any(row["competitor"] == FORCED_DEFAULT for row in timed) else NATIVE
    control_at = {row["size_bytes"]: row for row in timed if row["competitor"] == control}
    best_at = {size_bytes: _best(forced, of_control) for size_bytes, of_control in sorted(control_at.items())}
    tried = len({row["competitor"] for row in forced})
    return Settable(control, tried, tuple(_gains(best_at, control_at)))


def lacks_settable(plan: Plan, rows: Sequence[SummaryRow]) -> bool:
    """Return whether native was measured beside others, but no algorithm of the library that a user could set."""
    names = {row["competitor"] for row in competing(rows)}
    is_rival = len(names) > 1 and any(Competitor(name).is_native for name in names)
    return is_rival and not isinstance(plan, ImportedPlan) and not any(Competitor(name).is_forced for name in names)


def _best(forced: Sequence[SummaryRow], control: SummaryRow) -> SummaryRow | None:
    """Return the row with the lowest time of those that are faster than the control at its size; None: none is."""
    control_s = times_by_round(control["launch_medians"])
    faster = [
        row
        for row in forced
        if row["size_bytes"] == control["size_bytes"]
        and row["grade"] != NOT_RELIABLE
        and relation(control_s, times_by_round(row["launch_medians"])) == SLOWER
    ]
    return min(faster, key=time_of, default=None)


def _gains(best_at: dict[int, SummaryRow | None], control_at: dict[int, SummaryRow]) -> Iterator[Gain]:
    """Yield the gains, from the smallest size on."""
    for name, best in groupby(best_at.values(), lambda row: row["competitor"] if row else ""):
        rows = list(filter(None, best))
        if not name or len(rows) < min(FEWEST_SIZES, len(best_at)):
            continue
        pairs = [(control_at[row["size_bytes"]], row) for row in rows]
        factors = [as_printed(time_of(control)) / as_printed(time_of(row)) for control, row in pairs]
        by_round = [ratios_by_round(control["launch_medians"], row["launch_medians"]) for control, row in pairs]
        worst = min(ratio for of_size in by_round for ratio in of_size.values())
        launches = len({launch for of_size in by_round for launch in of_size})
        low, high = rows[0]["size_bytes"], rows[-1]["size_bytes"]
        yield Gain(name, low, high, min(factors), max(factors), worst, launches)

"""The standing of every row: what tables, map, page and JSON show of who is the fastest at each size.

Only times without a `doubt` are ranked, each against the lowest and the others of its size by `rounds.relation`:

* The one with the lowest time is the fastest if every other one is slower than it.
* Equal: within NEGLIGIBLE of the lowest time, and in every round within ALIKE; so is the lowest time itself then.
* Slower: any other one is lower in nearly all rounds, and its median by NEGLIGIBLE.
* Unclear: all else, and the lowest time where nobody is the fastest.

No algorithm is the fastest where a doubted time may be lower (in some launch it is below the lowest ranked time), or
where the grade of the times is "not reliable".
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..runs.schema import EQUAL, FASTEST, SLOWER, UNCLEAR
from .competing import tables
from .doubts import APART
from .grade import NOT_RELIABLE
from .rounds import is_probably_faster, relation, times_by_round
from .summary_row import SummaryRow, time_of


class Contest(NamedTuple):
    """The ranked rows of one size."""

    rows: Mapping[str, SummaryRow]  # by algorithm
    lowest: str  # the algorithm of the lowest time
    is_open: bool  # times are reliable, and no doubted one may be lower

    @property
    def others(self) -> list[str]:
        """All algorithms but the one of the lowest time."""
        return [name for name in self.rows if name != self.lowest]


def rank_rows(rows: Sequence[SummaryRow]) -> list[SummaryRow]:
    """Return `standing` of all rows, which have a `doubt` and a `grade`; None: not ranked, or no rival is."""
    found: dict[tuple[int, int, str], str] = {}
    for ranks, sizes in tables(rows).items():
        for size_bytes, rows_of_size in sizes.items():
            if size_bytes and (contest := contest_of(rows_of_size)):
                found |= {(ranks, size_bytes, name): standing for name, standing in standings_of(contest).items()}
    return [{"standing": found.get((row["ranks"], row["size_bytes"], row["competitor"]))} for row in rows]


def standings_of(contest: Contest) -> dict[str, str]:
    """Return the standing of each competitor of one size."""
    times_s = {name: times_by_round(row["launch_medians"]) for name, row in contest.rows.items()}
    lowest_s = times_s[contest.lowest]
    standings = {name: relation(times_s[name], lowest_s) for name in contest.others}
    if contest.is_open and all(standing == SLOWER for standing in standings.values()):
        return {contest.lowest: FASTEST, **standings}
    for name in contest.others:
        if standings[name] == FASTEST:  # than the lowest time, in the rounds that both have
            standings[name] = UNCLEAR
        if any(relation(times_s[name], other_s) == SLOWER for other_s in times_s.values()):
            standings[name] = SLOWER
    is_equal = contest.is_open and EQUAL in standings.values()
    return {contest.lowest: EQUAL if is_equal else UNCLEAR, **standings}


def probably_fastest(contest: Contest) -> str | None:
    """Return the competitor that is probably the fastest of one size, as few launches say; None: nobody is."""
    times_s = {name: times_by_round(row["launch_medians"]) for name, row in contest.rows.items()}
    lowest_s = times_s[contest.lowest]
    is_probable = all(is_probably_faster(lowest_s, times_s[name]) for name in contest.others)
    return contest.lowest if contest.is_open and is_probable else None


def contest_of(rows: Sequence[SummaryRow]) -> Contest | None:
    """Return the contest between the measured rows of one size; None: fewer than two can be ranked."""
    ranked = {row["competitor"]: row for row in rows if row["doubt"] is None}
    if len(ranked) < 2:
        return None
    lowest = min(ranked.values(), key=time_of)
    doubted = [row for row in rows if row["doubt"] not in (None, *APART)]
    is_lowest = all(min(row["launch_medians"].values()) > time_of(lowest) for row in doubted)
    return Contest(ranked, lowest["competitor"], is_lowest and lowest["grade"] != NOT_RELIABLE)

"""Three numbers at the top of a page: the lowest time at the most common size, and its factor and efficiency."""

from collections.abc import Sequence
from typing import NamedTuple

from ..evaluation.doubts import APART
from ..evaluation.summary_row import SummaryRow, time_of
from ..models.bounds import Bounds
from ..runs.competitor import Competitor
from ..units import format_size, format_time, in_ranks, three_digits
from .distribution import with_limit
from .grid import lowest_of
from .verdict_sentence import printed_factor


class Headline(NamedTuple):
    """A number and what it is."""

    number: str  # `1.96 times`
    words: str


def headline(at_size: Sequence[SummaryRow], least: Bounds | None) -> list[Headline]:
    """Return time, factor over native and efficiency of the lowest time of `at_size`, the rows of one size.

    Where native is the lowest, the factor is that over the second. What is unknown is left out.
    """
    lowest = lowest_of(at_size)
    if lowest is None:
        return []
    place = f"{format_size(lowest['size_bytes'])} on {in_ranks([lowest['ranks']])}"
    rivals = (row for row in at_size if row["time_s"] and row.get("doubt") not in APART)  # doubtful ones, too
    is_lowest = all(time_of(lowest) <= time_of(row) for row in rivals)
    lowest_time = "the lowest time" if is_lowest else "the lowest time that is ranked"
    found = [Headline(format_time(time_of(lowest)), f"{lowest['competitor']} takes for {place}: {lowest_time}")]
    beside = Competitor(lowest["competitor"]).native_beside
    others = [row for row in at_size if row is not lowest]
    native = next((row for row in others if row["competitor"] == beside and row["time_s"]), None)
    other = native or lowest_of(others)
    if other is not None:
        factor = three_digits(printed_factor(time_of(other), time_of(lowest)))
        found.append(Headline(f"{factor} times", f"as fast as {other['competitor']}"))
    if share := with_limit(lowest, least).get("of_limit"):
        found.append(Headline(f"{100 * share:.0f} %", "efficiency: lower bound / time"))
    return found

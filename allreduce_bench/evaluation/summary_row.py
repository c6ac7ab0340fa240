"""One row of a summary: a cell of a run over all its launches.

`schema.SummaryColumns` declares the columns. `number_of`, `time_of` and `cell_of` read
a row.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypedDict, cast

from ..runs.competitor import Competitor
from ..runs.identified import Ran
from ..runs.plan import Cell
from ..runs.schema import KINDS, SummaryColumns


class Accident(NamedTuple):
    """A launch in which the cell hung, and why."""

    launch: str
    reason: str

    @property
    def words(self) -> str:
        """Format `in launch 4r-2: rank 3 is late`."""
        return f"in launch {self.launch}: {self.reason}"


class LaunchStates(NamedTuple):
    """The two sides of a gap among the launches of a cell: two levels, or one launch apart from all others."""

    low_s: float  # median of the launches below the gap, seconds
    high_s: float  # of those above
    low_launches: tuple[str, ...]
    high_launches: tuple[str, ...]
    differences: tuple[str, ...] = ()  # labels of the facts that divide the launches of both sides

    @property
    def apart(self) -> str:
        """The launch that is alone on its side; empty: there are two levels."""
        return next((side[0] for side in (self.low_launches, self.high_launches) if len(side) == 1), "")


class Reason(NamedTuple):
    """One reason why times are not graded good, or are to be read with care."""

    code: str  # a name of `grade.CRITERIA`
    grade: str  # the best grade that it allows
    value: float  # a share, a factor or a number, as its criterion says
    limit: float | None = None  # what it is held against, where that is no constant: cores, launches of other cells


class Grade(NamedTuple):
    """The grade of the times of one rank count."""

    level: str  # one of `schema.GRADES`
    reasons: tuple[Reason, ...]  # the weightiest first
    unknown: tuple[str, ...] = ()  # facts that the launches lack: `load`

    @property
    def reasons_text(self) -> str:
        """Format `others=0.38 oversubscribed=4/2 launches=1`, as the summary holds it."""
        return " ".join(
            f"{reason.code}={reason.value:.3g}" + (f"/{reason.limit:g}" if reason.limit is not None else "")
            for reason in self.reasons
        )


class SummaryFacts(TypedDict, total=False):
    """The part of a row beside the columns; it is in no file."""

    launch_medians: dict[str, float]  # launch -> the median of its calls, seconds; of a cell that has a time
    launch_states: LaunchStates | None  # two levels, see `launch_states.split_launches`
    launch_apart: LaunchStates | None  # one launch apart; it costs no verdict
    went_on_by_barriers: bool  # in some launch that begins calls at a time, since no call began on time
    accidents: list[Accident]
    checks: int | None  # calls whose result was checked, over all launches; None: early runs did not count them
    imported: bool  # another program ran an algorithm of its own: a time is a mean of many calls
    schedules: int  # number of distinct schedules that the launches ran
    link: str | None  # the links between the nodes, in words
    node_nbytes: int | None  # of CELLS: what the busiest node sends or receives, and
    received_nbytes: int | None  # what the busiest rank receives,
    reduced_nbytes: int | None  # and reduces
    groups_in_words: str  # of --groups at these ranks
    ran: Ran  # what the library ran: of its own all-reduce, where that is known
    default_ratio: float  # of native:default over native, where that keeps a forced algorithm from being ranked
    grading: Grade  # the source of `grade` and `grade_reasons`


class SummaryRow(SummaryFacts, SummaryColumns, total=False):
    """A row or a part of one: any key may be missing, which means None.

    A column that is never None is there in every row, or in every row whose `time_s` is a number.
    """


def join_columns(rows: Iterable[SummaryRow], columns: Iterable[SummaryRow]) -> list[SummaryRow]:
    """Return each row with its further columns, in the same order; no row is changed."""
    return [row | of_row for row, of_row in zip(rows, columns, strict=True)]


def number_of(row: SummaryRow, column: str) -> float | None:
    """Return the value of a column chosen by name. Raises KeyError unless its values are real numbers."""
    if KINDS[column] != "real":
        raise KeyError(column)
    return cast("Mapping[str, float | None]", row).get(column)


def time_of(row: SummaryRow) -> float:
    """Return the time of a cell that has one, seconds. Raises ValueError if it has none."""
    if (time_s := row["time_s"]) is None:
        raise ValueError(f"{row['competitor']} of {row['size_bytes']} bytes has no time")
    return time_s


def cell_of(row: SummaryRow) -> Cell:
    """Return the cell of a row."""
    return Cell(Competitor(row["competitor"]), row["size_bytes"], row["segment"])

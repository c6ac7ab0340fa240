"""One row of a summary, as everyone reads it: a cell of a run over all its launches.

The columns are those of `schema.SUMMARY`, which documents them; a test compares the two. `competitor_of`, `time_of`,
`cell_of` and `qualifiers` read a row.
"""

from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

from ..runs.cell import competitor_name, executor_of
from ..runs.plan import Cell
from ..runs.schema import ALONE, NO_ARRIVAL, PAGE, UNKNOWN_PLACEMENT

if TYPE_CHECKING:
    from .environment import LaunchDifference


UNUSUAL = ("cold", ALONE)  # values of `cache` and `groups` that are told
RealColumn = Literal[  # the columns of numbers that are not whole, for those who choose one by its name
    "time_s",
    "time_low_s",
    "time_high_s",
    "spread_low_s",
    "spread_high_s",
    "state_low_s",
    "state_high_s",
    "min_s",
    "max_s",
    "p5_s",
    "p25_s",
    "p75_s",
    "p95_s",
    "p99_s",
    "p99_9_s",
    "lag1",
    "drift",
    "first_penalty",
    "osu_avg_s",
    "imb_t_max_s",
    "nccl_tests_s",
    "global_s",
    "completion_s",
    "arrival_skew_s",
    "late_by_s",
    "clock_error_s",
    "call_floor_s",
    "copy_floor_s",
    "reduce_floor_s",
    "algbw_bytes_per_s",
    "busbw_bytes_per_s",
    "speedup",
    "max_ulp",
    "mean_ulp",
    "limit_s",
    "of_limit",
    "own_limit_s",
    "of_own_limit",
]


class Accident(NamedTuple):
    """A launch in which the cell hung, and why."""

    launch: str
    reason: str

    @property
    def words(self) -> str:
        """`in launch 4r-2: rank 3 is late`."""
        return f"in launch {self.launch}: {self.reason}"


class LaunchStates(NamedTuple):
    """A cell with launches in two states; a median over all launches represents neither state."""

    low_s: float  # median of the launches in the fast state, seconds
    high_s: float  # of those in the slow state
    low_launches: tuple[str, ...]
    high_launches: tuple[str, ...]
    gap: str  # between the states over the sizes of the series: what `launch_states.kind_of_gap` says
    # what divides the launches of both states, those of the fast one first
    differences: "tuple[LaunchDifference, ...]" = ()


class Reason(NamedTuple):
    """One reason why times are not graded good, or are to be read with care."""

    code: str  # a name of `grade.CRITERIA`
    grade: str  # the best that it allows
    value: float  # a share, a factor or a number, as its criterion says
    limit: float | None = None  # what it is held against, where that is not a constant: cores, launches of other cells


class Noise(NamedTuple):
    """What the machine took from a fixed work quantum, see `measuring.surroundings.noise_of`."""

    quantum_s: float  # without noise
    lost: float  # share of its time that the rank lost that lost most, median over launches
    max_s: float  # the longest quantum of all launches


class Grade(NamedTuple):
    """The grade of the times of one rank count."""

    level: str  # one of `grade.GRADES`
    reasons: tuple[Reason, ...]  # the weightiest first
    unknown: tuple[str, ...] = ()  # what the launches do not say: `load`, `ports`
    noise: Noise | None = None  # stands beside the grade, and does not lower it; None: not measured

    @property
    def reasons_text(self) -> str:
        """`others=0.38 oversubscribed=4/2 launches=1`, as the summary holds it."""
        return " ".join(
            f"{reason.code}={reason.value:.3g}" + (f"/{reason.limit:g}" if reason.limit is not None else "")
            for reason in self.reasons
        )


class SummaryFacts(TypedDict, total=False):
    """The part of a row beside the columns; it is in no file."""

    launch_medians: dict[str, float]  # launch -> the median of its calls, seconds; of a cell that has a time
    completion_medians: dict[str, float]  # the same of completion_s, of the launches that know it
    launch_states: LaunchStates | None  # see `launch_states.add_states`
    suspected_states: int  # launches of a cell that look as if they were in two states, and are too few to tell
    checked_launches: int  # that counted the cell's wrong elements, or said that its result was wrong
    wrong_launches: int  # those of them whose result was wrong
    accidents: list[Accident]
    losses: list[dict[str, float]]  # of each group: launch -> its time beside the others over its time alone
    checks: int | None  # calls whose result was checked, over all launches; None: runs of before did not count them
    schedules: int  # that the launches ran, different ones
    link: str | None  # the links between the nodes, in words
    node_nbytes: int | None  # of CELLS: what the busiest node sends or receives, and
    received_nbytes: int | None  # what the busiest rank receives,
    reduced_nbytes: int | None  # and reduces
    groups_in_words: str  # of --groups at these ranks
    grading: Grade  # what `grade` and `grade_reasons` are made of


class SummaryRow(SummaryFacts, total=False):
    """A row or a part of one: any key may be missing, which means None.

    A column that is never None is there in every row, or in every row whose `time_s` is a number.
    """

    algorithm: str
    executor: str
    segment: int | None
    window: int | None
    ranks: int
    nodes: int | None
    nodes_declared: int | None
    dtype: str | None
    op: str | None
    count: int
    nbytes: int
    cache: str
    groups: str
    arrival: str
    placement: str  # empty: unknown
    state: str
    reason: str | None
    close_moves: int | None
    unknown_moves: int | None
    run_whole: str | None
    time_definition: str
    launches: int
    repetitions: int
    invalid: int
    stopped: str | None
    time_s: float | None
    time_low_s: float
    time_high_s: float
    spread_low_s: float
    spread_high_s: float
    interval: str
    states: str | None
    state_low_s: float | None
    state_high_s: float | None
    min_s: float
    max_s: float
    p5_s: float | None
    p25_s: float | None
    p75_s: float | None
    p95_s: float | None
    p99_s: float | None
    p99_9_s: float | None
    outliers: int | None
    lag1: float | None
    drift: float | None
    first_penalty: float | None
    osu_avg_s: float | None
    imb_t_max_s: float | None
    nccl_tests_s: float | None
    global_s: float | None
    completion_s: float | None
    arrival_skew_s: float | None
    late_by_s: float | None
    clock_error_s: float | None
    call_floor_s: float | None
    copy_floor_s: float | None
    reduce_floor_s: float | None
    algbw_bytes_per_s: float
    busbw_bytes_per_s: float
    speedup: float | None
    doubt: str | None
    standing: str | None
    wrong: int | None
    looks: int | None  # timed calls whose result was looked at at changed lines, over all launches; None: unknown
    same_bits: int | None
    same_bits_calls: int | None
    max_ulp: float | None
    mean_ulp: float | None
    promised_same_bits: int | None
    promised_rank_order: int | None
    promised_depth: int | None
    same_bits_launches: int | None
    bits: str | None
    oversubscribed: int | None
    internode_nbytes: int | None
    wire: str | None
    limit_s: float | None
    limit_by: str | None
    of_limit: float | None
    own_limit_s: float | None
    of_own_limit: float | None
    group_ranks: str
    group_times_s: str
    group_loss: str
    path_messages: int | None
    path_nbytes: int | None
    path_reduced_nbytes: int | None
    grade: str
    grade_reasons: str | None


def competitor_of(row: SummaryRow) -> str:
    """What competes: an algorithm run one way, as `cell.competitor_name` calls it."""
    return competitor_name(row["algorithm"], row.get("executor"))


def time_of(row: SummaryRow) -> float:
    """The time of a cell that has one, seconds. Raises ValueError: it has none."""
    if (time_s := row["time_s"]) is None:
        raise ValueError(f"{competitor_of(row)} of {row['nbytes']} bytes has no time")
    return time_s


def cell_of(row: SummaryRow) -> Cell:
    """The cell that the row sums up."""
    same = row["algorithm"], executor_of(row), row["count"], row["segment"], row["cache"], row["groups"]
    return Cell(*same, row.get("window"), row.get("arrival") or NO_ARRIVAL, row.get("placement") or UNKNOWN_PLACEMENT)


def qualifiers(
    cache: str, groups: str, arrival: str | None = NO_ARRIVAL, placement: str | None = UNKNOWN_PLACEMENT
) -> list[str]:
    """The unusual ones of a cell's values of these columns: `cold`, `alone`, `one-late`, `numpy`, `16 bytes apart`."""
    where = placement_text(placement) if placement and placement != PAGE else ""
    return [word for word in (*(value for value in (cache, groups) if value in UNUSUAL), arrival, where) if word]


def placement_text(placement: str) -> str:
    """`page`, `numpy`, `16 bytes apart`, `unknown`."""
    return f"{placement} bytes apart" if placement.isdigit() else placement or "unknown"

"""The columns of the files of a run: name, kind, meaning; the version of the layout, and checksums."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, get_args, get_type_hints
from zlib import crc32

LAYOUT = 1  # of a run folder; another one is refused
SYNCS = BARRIER, ROUND_TIME = "barrier", "round_time"  # how ranks enter a call together
FLOORS = {"null": "empty call", "copy": "local copy", "reduce": "local reduction"}  # reference times, in words
CACHES = ("warm", "cold")
PLAIN_STAMPS = ("entry", "exit")  # content of the stamps of a cell
STAMPS = ("begin", "ready", *PLAIN_STAMPS)  # with work or delays before ranks enter a call
WORKS = ("spin", "sleep")  # what a phase of work does
PAGE, NUMPY, UNKNOWN_PLACEMENT = "page", "numpy", ""  # where vectors lie; else a difference in bytes, in digits
STAGGER = 1024  # bytes between the offsets of inputs, outputs and scratch at pages
MAX_LOCAL, COMPLETION = "max_local", "completion"  # definitions of our own times
AND = " + "  # between values of a column that differ from call to call, or from launch to launch
LEFT_OUT = "left out"  # not measured, or without a usable time
STATES = ("done", "wrong", "refused", "hung", "skipped", LEFT_OUT)
FAILED = ("wrong", "refused", "hung")  # of an all-reduce that does not work as it should
FINAL = ("wrong", "refused")  # no other launch or attempt changes that
UNFINISHED = ("hung", LEFT_OUT)  # those of a cell that a further attempt may still measure
MISSING = "missing"  # state in a summary of a cell that no launch reported on
FASTEST = "fastest"
EQUAL = "equal"  # within 5 % of the lowest time; the lowest too, where another one is
UNCLEAR = "unclear"  # indistinguishable from the lowest time; the lowest too, if there is no fastest
SLOWER = "slower"
GRADES = GOOD, PROVISIONAL, NOT_RELIABLE = "good", "provisional", "not reliable"  # of times, best first
Quantile = Literal["p5_s", "p25_s", "p50_s", "p75_s", "p90_s", "p95_s", "p99_s", "p99_9_s"]
# column -> percentile of the calls
QUANTILES: dict[Quantile, float] = {
    **{"p5_s": 5, "p25_s": 25, "p50_s": 50, "p75_s": 75, "p90_s": 90, "p95_s": 95, "p99_s": 99, "p99_9_s": 99.9}
}
QUANTILES_OF_LOGS: tuple[Quantile, ...] = ("p50_s", "p90_s", "p95_s", "p99_s")  # that other tools print


def state_words(state: str) -> str:
    """Return a state as people read it: a cell of LEFT_OUT was not measured, and its reason says why."""
    return "not measured" if state == LEFT_OUT else state


def join_values(values: Iterable[str]) -> str:
    """Join values that differ from launch to launch as one text: `barrier + round_time`."""
    return AND.join(values)


def split_values(text: str | None) -> list[str]:
    """Split a text that `join_values` made; empty text gives none."""
    return text.split(AND) if text else []


class Column(NamedTuple):
    """A column of a file, completed by the type and the name of its key."""

    meaning: str
    kind: str = ""  # text, whole, real, or flag: 0 or 1; all but flag follow from the type
    name: str = ""
    never_empty: bool = False
    may_be_empty: bool = False  # in every row, and so absent from files of an earlier version; follows from the type


def _quantile(name: Quantile) -> Column:
    return Column(f"{QUANTILES[name]:g} % of the calls took no longer")


# fmt: off
# One line a column, however long: the tables are read side by side.
# A column that may be empty is `| None`; what has a value in every row with a time is so in a summary, too.
_Competitor = Annotated[str, Column("what was measured, as -a names it; reference times: floor:null, floor:copy, floor:reduce; imported: as the log says")]
_Nbytes = Annotated[int, Column("length of the vector", never_empty=True)]
_Definition = Annotated[str, Column("max_local: maximum over ranks of exit - entry; completion: last exit - last entry; imported: see below")]
_Start = Annotated[str | None, Column("how ranks entered the calls: round_time or barrier; empty: imported")]
_LateBy = Annotated[float | None, Column("largest delay of --arrival; empty: none")]
_Digest = Annotated[str | None, Column("fingerprint of the steps of all ranks")]
_InternodeNbytes = Annotated[int | None, Column("bytes sent between nodes in a call")]
_WhyUncut = Annotated[str | None, Column("why a pipelined way did not cut the steps")]
_SameBits = Annotated[int | None, Column("1: all ranks got the same bits on random floats; 0: they did not", kind="flag")]
_SameBitsCalls = Annotated[int | None, Column("1: repeated calls gave the same bits (--check bits)", kind="flag")]
_PromisedSameBits = Annotated[int | None, Column("1: by its schedule all ranks get the same bits", kind="flag")]
_PromisedRankOrder = Annotated[int | None, Column("1: by its schedule sums are in rank order", kind="flag")]
_PromisedDepth = Annotated[int | None, Column("largest number of roundings of an input by the schedule")]
_OsuAvg = Annotated[float | None, Column("mean over ranks of exit - entry: OSU")]
_ImbTMax = Annotated[float | None, Column("maximum over ranks of each rank's mean of exit - entry: t_max of IMB")]
_NcclTests = Annotated[float | None, Column("mean over ranks of a loop's time over its calls (--back-to-back): nccl-tests")]
_Energy = Annotated[float | None, Column("joules of a call on all its nodes, less what they take idle (--energy); median over launches")]
_IdleShare = Annotated[float | None, Column("share of the counted energy that the nodes take idle, too (--energy)")]
_Counters = Annotated[str | None, Column("counters of a node that were read (--energy)")]
_Global = Annotated[float | None, Column("last exit - first entry on the common clock")]
_Completion = Annotated[float | None, Column("last exit - last entry on the common clock")]
_ArrivalSkew = Annotated[float | None, Column("last entry - first entry on the common clock")]


class _CellColumns(TypedDict, total=False):
    """The columns that identify a cell."""

    competitor: _Competitor
    size_bytes: _Nbytes
    segment: Annotated[int | None, Column("elements of a segment; empty: whole messages")]
    ranks: Annotated[int, Column("number of ranks p", never_empty=True)]
    nodes: Annotated[int | None, Column("number of nodes, as MPI reports it")]
    nodes_declared: Annotated[int | None, Column("nodes declared by --pretend-ranks-per-node; empty: none")]


class CallColumns(TypedDict, total=False):
    """A row of launches/*.calls.csv: one call. Launch and attempt are in the name of the file."""

    competitor: _Competitor
    size_bytes: _Nbytes
    call: Annotated[int | None, Column("number of the call in its cell, from 0; empty: a mean")]
    warmup: Annotated[int, Column("1: a warm-up, in no statistic", kind="flag")]
    valid: Annotated[int, Column("0: a rank came late, or its clock ran backwards; in no statistic", kind="flag")]
    time_s: Annotated[float, Column("time of the call by time_definition", never_empty=True)]
    global_s: _Global
    osu_avg_s: _OsuAvg
    arrival_skew_s: _ArrivalSkew
    slowest_rank: Annotated[int, Column("rank with the longest exit - entry, or of a completion the last")]
    last_rank: Annotated[int, Column("rank that entered last")]


class MarkColumns(_CellColumns, total=False):
    """A row of launches/*.cells.csv, a mark: a cell that a launch has ended."""

    schedule_digest: _Digest
    time_definition: _Definition
    start: _Start
    state: Annotated[str, Column("done, wrong, refused (no all-reduce), hung, skipped, left out (no time) or missing (never started)", never_empty=True)]
    reason: Annotated[str | None, Column("why it was refused or skipped, or which rank blocked it")]
    calls: Annotated[int, Column("its rows in the file of calls")]
    iterations: Annotated[int | None, Column("calls that each of these rows is the mean of; empty: unknown")]
    stopped: Annotated[str | None, Column("why the timing stopped: precision, time, iterations, calls (the most per cell) or within")]
    wrong: Annotated[int | None, Column("wrong elements over all ranks and checked calls; empty: unchecked")]
    checks: Annotated[int | None, Column("calls whose whole result was checked")]
    same_bits: _SameBits
    same_bits_calls: _SameBitsCalls
    promised_same_bits: _PromisedSameBits
    promised_rank_order: _PromisedRankOrder
    promised_depth: _PromisedDepth
    bits: Annotated[str | None, Column("fingerprint of the result on random floats; empty in a summary: launches differ")]
    bits_of_shorter: Annotated[str | None, Column("size and fingerprint of its beginning, as long as the next shorter vector: 4096:0123456789abcdef")]
    imb_t_max_s: _ImbTMax
    nccl_tests_s: _NcclTests
    energy_j: _Energy
    energy_idle_share: _IdleShare
    energy_counters: _Counters
    p50_s: Annotated[float | None, _quantile("p50_s")]
    p90_s: Annotated[float | None, _quantile("p90_s")]
    p95_s: Annotated[float | None, _quantile("p95_s")]
    p99_s: Annotated[float | None, _quantile("p99_s")]
    clock_error_s: Annotated[float | None, Column("bound of the error of the common clock")]
    late_by_s: _LateBy
    stamps_crc32: Annotated[str | None, Column("CRC-32 of the file of stamps")]
    stamps: Annotated[str | None, Column("file of stamps, see above; empty: not kept")]
    offsets: Annotated[str, Column("input/output/scratch of each rank modulo 4096; once where all are equal")]
    run_whole: _WhyUncut
    proved: Annotated[int | None, Column("1: the schedule was verified; 0: too many ranks", kind="flag")]
    steps: Annotated[int | None, Column("steps of the rank that has most")]
    sent_nbytes: Annotated[int | None, Column("bytes sent by the rank that sends most")]
    internode_nbytes: _InternodeNbytes
    node_nbytes: Annotated[int | None, Column("bytes that the busiest node sends or receives")]
    received_nbytes: Annotated[int | None, Column("bytes received by the rank that has most to do")]
    reduced_nbytes: Annotated[int | None, Column("bytes reduced by that rank")]
    wire: Annotated[str | None, Column("bytes that left the nodes in a call: hsn0=8388608 eth0=0")]
    path_messages: Annotated[int | None, Column("messages on the critical path")]
    path_nbytes: Annotated[int | None, Column("bytes moved on the critical path")]
    path_reduced_nbytes: Annotated[int | None, Column("bytes reduced on the critical path")]
    crc32: Annotated[str, Column("see Checksums")]


class SummaryColumns(_CellColumns, total=False):
    """A row of summary.csv: a cell over all its launches, derived from calls and marks."""

    dtype: Annotated[str | None, Column("element type")]
    op: Annotated[str | None, Column("reduction; avg: a sum and a timed division")]
    state: Annotated[str, Column("done, wrong, refused (no all-reduce), hung, skipped, left out (no time) or missing (never started)", never_empty=True)]
    reason: Annotated[str | None, Column("why it was refused or skipped, or which rank blocked it")]
    run_whole: _WhyUncut
    time_definition: _Definition
    start: _Start
    launches: Annotated[int, Column("launches that finished the cell")]
    repetitions: Annotated[int, Column("valid timed calls over all launches")]
    invalid: Annotated[int, Column("invalid calls over all launches")]
    stopped: Annotated[str | None, Column("why the timing stopped: precision, time, iterations, calls (the most per cell) or within")]
    time_s: Annotated[float | None, Column("median over launches of the median of their calls")]
    time_low_s: Annotated[float, Column("lower end of the interval of time_s")]
    time_high_s: Annotated[float, Column("upper end of the interval of time_s")]
    spread_low_s: Annotated[float, Column("lowest launch median")]
    spread_high_s: Annotated[float, Column("highest launch median")]
    interval: Annotated[str, Column("launches: of the median of launches (3 or more); repetitions: 95 %, within launches; range: none")]
    states: Annotated[str | None, Column("launches at each of two levels, such as low:1,high:4; empty: one level")]
    state_low_s: Annotated[float | None, Column("median of the launches at the fast level")]
    state_high_s: Annotated[float | None, Column("median of the launches at the slow level")]
    min_s: Annotated[float, Column("fastest call")]
    max_s: Annotated[float, Column("slowest call")]
    p5_s: Annotated[float | None, _quantile("p5_s")]
    p25_s: Annotated[float | None, _quantile("p25_s")]
    p50_s: Annotated[float | None, _quantile("p50_s")]
    p75_s: Annotated[float | None, _quantile("p75_s")]
    p90_s: Annotated[float | None, _quantile("p90_s")]
    p95_s: Annotated[float | None, _quantile("p95_s")]
    p99_s: Annotated[float | None, _quantile("p99_s")]
    p99_9_s: Annotated[float | None, _quantile("p99_9_s")]
    outliers: Annotated[int | None, Column("calls beyond Tukey's fences of their launch; not removed")]
    lag1: Annotated[float | None, Column("rank correlation of consecutive calls, median over launches")]
    drift: Annotated[float | None, Column("last third of a launch's calls over its first third, median over launches")]
    first_penalty: Annotated[float | None, Column("first call of a launch over its median, median over launches")]
    osu_avg_s: _OsuAvg
    imb_t_max_s: _ImbTMax
    nccl_tests_s: _NcclTests
    energy_j: _Energy
    energy_low_j: Annotated[float | None, Column("least energy_j of a launch")]
    energy_high_j: Annotated[float | None, Column("largest energy_j of a launch")]
    energy_idle_share: _IdleShare
    energy_counters: _Counters
    global_s: _Global
    completion_s: _Completion
    arrival_skew_s: _ArrivalSkew
    late_by_s: _LateBy
    clock_error_s: Annotated[float | None, Column("bound of the error of the common clock")]
    call_floor_s: Annotated[float | None, Column("time of an empty call, lowest launch median")]
    copy_floor_s: Annotated[float | None, Column("time of a local copy of the vector, fastest call")]
    reduce_floor_s: Annotated[float | None, Column("time of a local reduction of the vector, fastest call")]
    algbw_bytes_per_s: Annotated[float, Column("size_bytes / time_s")]
    busbw_bytes_per_s: Annotated[float, Column("algbw * 2(p-1)/p; with groups p is that of one group")]
    speedup: Annotated[float | None, Column("time of native, called the same way, / time_s; empty: not measured, or doubtful")]
    doubt: Annotated[str | None, Column("why the time is not ranked")]
    standing: Annotated[str | None, Column("fastest, equal, unclear or slower; empty: not ranked, or alone")]
    verdict: Annotated[str | None, Column("what the verdict on these ranks says of this size; empty: fewer than two are ranked")]
    wrong: Annotated[int | None, Column("wrong elements over all ranks and checked calls; empty: unchecked")]
    same_bits: _SameBits
    same_bits_calls: _SameBitsCalls
    promised_same_bits: _PromisedSameBits
    promised_rank_order: _PromisedRankOrder
    promised_depth: _PromisedDepth
    same_bits_launches: Annotated[int | None, Column("1: all launches gave the same bits", kind="flag")]
    same_bits_lengths: Annotated[int | None, Column("1: the same data has the same bits in the next shorter vector", kind="flag")]
    bits: Annotated[str | None, Column("fingerprint of the result on random floats; empty in a summary: launches differ")]
    oversubscribed: Annotated[int | None, Column("1: some node has more ranks than cores", kind="flag")]
    internode_nbytes: _InternodeNbytes
    wire: Annotated[str | None, Column("bytes that left the nodes in a call: hsn0=8388608 eth0=0")]
    limit_s: Annotated[float | None, Column("lower bound; empty: unknown")]
    limit_by: Annotated[str | None, Column("what sets limit_s: links, latency or local work")]
    of_limit: Annotated[float | None, Column("efficiency, limit_s / time_s; empty: above 1")]
    own_limit_s: Annotated[float | None, Column("lower bound of the schedule itself")]
    of_own_limit: Annotated[float | None, Column("own_limit_s / time_s; empty: above 1")]
    path_messages: Annotated[int | None, Column("messages on the critical path")]
    path_nbytes: Annotated[int | None, Column("bytes moved on the critical path")]
    path_reduced_nbytes: Annotated[int | None, Column("bytes reduced on the critical path")]
    grade: Annotated[str, Column("grade of the cells of these ranks: good, provisional or not reliable")]
    grade_reasons: Annotated[str | None, Column("its reasons, the gravest first, as code=value")]
# fmt: on


def columns_of(table: type) -> tuple[Column, ...]:
    """Return the columns that a table declares, in order."""
    return tuple(_column(name, *get_args(hint)) for name, hint in get_type_hints(table, include_extras=True).items())


def _column(name: str, kind: Any, column: Column) -> Column:
    scalar, *_ = get_args(kind) or (kind,)
    kinds = {str: "text", int: "whole", float: "real"}
    return column._replace(name=name, kind=column.kind or kinds[scalar], may_be_empty=bool(get_args(kind)))


CALLS = columns_of(CallColumns)
CELLS = columns_of(MarkColumns)
SUMMARY = columns_of(SummaryColumns)
KINDS = {column.name: column.kind for column in (*CALLS, *CELLS, *SUMMARY)}
KINDS |= {"launch": "text", "attempt": "whole"}  # told by the names of files
NEEDED = frozenset(column.name for column in (*CALLS, *CELLS) if column.never_empty)  # never empty


def names(columns: tuple[Column, ...]) -> list[str]:
    """Return the names of `columns` in order."""
    return [column.name for column in columns]


def checksum(content: bytes) -> str:
    """Return the CRC-32 (IEEE 802.3) as eight hexadecimal digits.

    It misses no burst of bit errors shorter than 32 bits, and one in 2**32 of other damages.
    """
    return f"{crc32(content):08x}"

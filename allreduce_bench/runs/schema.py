"""The columns of the files of a run: name, unit, kind, meaning; the version of the layout, and checksums."""

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
Quantile = Literal["p5_s", "p25_s", "p75_s", "p95_s", "p99_s", "p99_9_s"]
# column -> percentile of the calls
QUANTILES: dict[Quantile, float] = {"p5_s": 5, "p25_s": 25, "p75_s": 75, "p95_s": 95, "p99_s": 99, "p99_9_s": 99.9}


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
    unit: str = ""
    kind: str = ""  # text, whole, real, or flag: 0 or 1; all but flag follow from the type
    name: str = ""
    never_empty: bool = False


def _quantile(name: Quantile) -> Column:
    return Column(
        f"{QUANTILES[name]:g} % of the calls took no longer, with all launches scaled to one median; empty: too few calls",
        "s",
    )


# fmt: off
# One line a column, however long: the tables are read side by side.
# A column that may be empty is `| None`; what has a value in every row with a time is so in a summary, too.
_Competitor = Annotated[str, Column("an algorithm, and the way its steps are run where that is not sendrecv: ring, ring@pipelined; native is the library's MPI_Allreduce, native:ring that by the algorithm it is told to use, native:reduce+bcast and the like compositions of its other operations; reference times: floor:null, floor:copy, floor:reduce; imported: as the log says")]
_Nbytes = Annotated[int, Column("length of the vector", "bytes", never_empty=True)]
_Definition = Annotated[str, Column("max_local: the maximum over ranks of exit - entry; completion, with an arrival pattern: last exit - last entry; imported: see below")]
_Start = Annotated[str | None, Column("how ranks entered the calls together: round_time, at a time on the common clock; barrier, after an MPI_Barrier, also where no call of the cell began on time; empty: imported")]
_LateBy = Annotated[float | None, Column("how late the pattern of --arrival lets the latest rank enter; empty: nobody is delayed", "s")]
_Digest = Annotated[str | None, Column("fingerprint of the steps of all ranks; empty for native")]
_InternodeNbytes = Annotated[int | None, Column("bytes that the schedule sends between nodes in one call; empty for native", "bytes")]
_WhyUncut = Annotated[str | None, Column("why a pipelined way ran the steps without cutting them; empty: it cut them, or had not to")]
_SameBits = Annotated[int | None, Column("1: on random floats all ranks got the same bits; 0: they did not; empty: not compared", kind="flag")]
_SameBitsCalls = Annotated[int | None, Column("1: repeated calls gave the same bits; empty: not compared, see --check bits", kind="flag")]
_PromisedSameBits = Annotated[int | None, Column("1: by its schedule all ranks evaluate the same expression; empty: native, or not verified", kind="flag")]
_PromisedRankOrder = Annotated[int | None, Column("1: by its schedule every reduction joins neighbouring ranks; empty: native, or not verified", kind="flag")]
_PromisedDepth = Annotated[int | None, Column("largest number of roundings of an input by the schedule: bounds the error; empty: native, or not verified")]
_OsuAvg = Annotated[float | None, Column("mean over ranks of exit - entry; osu_allreduce prints its mean over the calls", "s")]
_ImbTMax = Annotated[float | None, Column("maximum over ranks of each rank's mean of exit - entry: t_max of the Intel MPI Benchmarks", "s")]
_NcclTests = Annotated[float | None, Column("mean over ranks of a loop without a common start divided by its length; see --back-to-back", "s")]
_Global = Annotated[float | None, Column("last exit - first entry on the common clock, the global run time of ReproMPI: time_s and how far apart ranks leave the common start; empty: a single rank, or no common clock", "s")]
_Completion = Annotated[float | None, Column("last exit - last entry on the common clock; empty: a single rank, or no common clock", "s")]
_ArrivalSkew = Annotated[float | None, Column("last entry - first entry on the common clock", "s")]


class _CellColumns(TypedDict, total=False):
    """The columns that identify a cell."""

    competitor: _Competitor
    size_bytes: _Nbytes
    segment: Annotated[int | None, Column("segment of a pipelined algorithm, or at which pipelined ways cut the steps; empty: whole messages", "elements")]
    ranks: Annotated[int, Column("number of ranks p", never_empty=True)]
    nodes: Annotated[int | None, Column("number of nodes, as reported by MPI")]
    nodes_declared: Annotated[int | None, Column("number of nodes declared by --pretend-ranks-per-node; empty: none")]


class CallColumns(TypedDict, total=False):
    """A row of launches/*.calls.csv: one call. Launch and attempt are in the name of the file."""

    competitor: _Competitor
    size_bytes: _Nbytes
    call: Annotated[int | None, Column("number of the call in its cell, warm-ups included, from 0; empty: a mean of several calls")]
    warmup: Annotated[int, Column("1: a warm-up, excluded from all statistics", kind="flag")]
    valid: Annotated[int, Column("0: a rank was late to the common start, or its clock ran backwards; excluded from all statistics", kind="flag")]
    time_s: Annotated[float, Column("time of the call, see time_definition of its cell", "s", never_empty=True)]
    global_s: _Global
    osu_avg_s: _OsuAvg
    arrival_skew_s: _ArrivalSkew
    slowest_rank: Annotated[int, Column("the rank whose exit - entry was the maximum; with an arrival pattern the rank that left last")]
    last_rank: Annotated[int, Column("the rank that entered last on the common clock")]


class MarkColumns(_CellColumns, total=False):
    """A row of launches/*.cells.csv, a mark: a cell that a launch has ended."""

    schedule_digest: _Digest
    time_definition: _Definition
    start: _Start
    state: Annotated[str, Column("done; wrong (a check failed); refused (no all-reduce); hung; skipped (see reason); left out (no time)", never_empty=True)]
    reason: Annotated[str | None, Column("why the cell was refused or skipped, or which rank blocked it")]
    calls: Annotated[int, Column("its rows in the file of calls")]
    iterations: Annotated[int | None, Column("calls that each of these rows is the mean of; 1: a single call; empty: unknown")]
    stopped: Annotated[str | None, Column("why the timing stopped: precision, time, iterations, calls (the maximum per cell) or within")]
    wrong: Annotated[int | None, Column("wrong elements over all ranks and checked calls, before, between and after timed ones, and where timed ones have their number; empty: unchecked", "elements")]
    checks: Annotated[int | None, Column("calls whose whole result was checked, before, between and after the timed ones; empty: unknown")]
    same_bits: _SameBits
    same_bits_calls: _SameBitsCalls
    promised_same_bits: _PromisedSameBits
    promised_rank_order: _PromisedRankOrder
    promised_depth: _PromisedDepth
    bits: Annotated[str | None, Column("fingerprint of the result of rank 0 on random floats that the seed of the run determines")]
    bits_of_shorter: Annotated[str | None, Column("the beginning of that result, as long as the next shorter vector of the run: its bytes and its fingerprint, 4096:0123456789abcdef; empty: no vector is shorter, or without --check bits")]
    imb_t_max_s: _ImbTMax
    nccl_tests_s: _NcclTests
    clock_error_s: Annotated[float | None, Column("bound of the error of the common clock during the cell", "s")]
    late_by_s: _LateBy
    stamps_crc32: Annotated[str | None, Column("CRC-32 of the file that stamps names; empty: none")]
    stamps: Annotated[str | None, Column("file with entry and exit of every rank and call, see --record all; with --compute or --arrival begin and ready come before them; empty: not kept")]
    offsets: Annotated[str, Column("input/output/scratch of each rank modulo 4096, - for none, rank by rank; once where all ranks have the same; varies: in a cold cell they differ from place to place", "bytes")]
    run_whole: _WhyUncut
    proved: Annotated[int | None, Column("1: the schedule was verified by symbolic execution for this p and count before it ran, rendezvous assumed; 0: too many ranks; empty for native", kind="flag")]
    steps: Annotated[int | None, Column("largest number of steps of one rank")]
    sent_nbytes: Annotated[int | None, Column("largest number of bytes sent by one rank", "bytes")]
    internode_nbytes: _InternodeNbytes
    node_nbytes: Annotated[int | None, Column("largest number of bytes that one node sends to or receives from other nodes in one call", "bytes")]
    received_nbytes: Annotated[int | None, Column("bytes received by the rank that receives and reduces most in one call", "bytes")]
    reduced_nbytes: Annotated[int | None, Column("bytes reduced by that rank", "bytes")]
    wire: Annotated[str | None, Column("bytes that left the nodes in one timed call, by interface: hsn0=8388608 eth0=0", "bytes")]
    path_messages: Annotated[int | None, Column("messages on the critical path of the schedule: the coefficient of alpha")]
    path_nbytes: Annotated[int | None, Column("bytes moved on the critical path: the coefficient of beta", "bytes")]
    path_reduced_nbytes: Annotated[int | None, Column("bytes reduced on the critical path: the coefficient of gamma", "bytes")]
    crc32: Annotated[str, Column("CRC-32 of the calls of the cell and of this row, see Checksums")]


class SummaryColumns(_CellColumns, total=False):
    """A row of summary.csv: a cell over all its launches, derived from calls and marks."""

    dtype: Annotated[str | None, Column("element type")]
    op: Annotated[str | None, Column("reduction; avg is a sum and a timed division")]
    state: Annotated[str, Column("done; else the reason why no launch finished it: wrong, refused, hung, skipped, left out or missing", never_empty=True)]
    reason: Annotated[str | None, Column("why a cell was refused or skipped, or which rank blocked it")]
    run_whole: _WhyUncut
    time_definition: _Definition
    start: _Start
    launches: Annotated[int, Column("launches that finished the cell")]
    repetitions: Annotated[int, Column("timed calls over all launches, without warm-ups and invalid ones")]
    invalid: Annotated[int, Column("invalid calls over all launches, see valid of the calls")]
    stopped: Annotated[str | None, Column("why the timing stopped, over the launches: precision, time, iterations, calls, within")]
    time_s: Annotated[float | None, Column("median over launches of the median over repetitions", "s")]
    time_low_s: Annotated[float, Column("lower end of the interval of time_s, see interval", "s")]
    time_high_s: Annotated[float, Column("upper end of the interval of time_s, see interval", "s")]
    spread_low_s: Annotated[float, Column("lowest launch median; with a single launch time_low_s", "s")]
    spread_high_s: Annotated[float, Column("highest launch median; with a single launch time_high_s", "s")]
    interval: Annotated[str, Column("launches: of the median of launch medians, by order statistics: 75, 87.5 and 93.75 % with 3, 4 and 5 launches, their range, and at least 95 % with more; repetitions: 95 %, of the median within launches (below 3); range: none")]
    states: Annotated[str | None, Column("launches in each of two states, such as low:1,high:4; time_s then represents neither state; empty: one state")]
    state_low_s: Annotated[float | None, Column("median of the launches in the fast state", "s")]
    state_high_s: Annotated[float | None, Column("median of the launches in the slow state", "s")]
    min_s: Annotated[float, Column("fastest repetition", "s")]
    max_s: Annotated[float, Column("slowest repetition", "s")]
    p5_s: Annotated[float | None, _quantile("p5_s")]
    p25_s: Annotated[float | None, _quantile("p25_s")]
    p75_s: Annotated[float | None, _quantile("p75_s")]
    p95_s: Annotated[float | None, _quantile("p95_s")]
    p99_s: Annotated[float | None, _quantile("p99_s")]
    p99_9_s: Annotated[float | None, _quantile("p99_9_s")]
    outliers: Annotated[int | None, Column("calls beyond Tukey's fences of their launch; counted, not removed")]
    lag1: Annotated[float | None, Column("correlation of the ranks of consecutive calls within a launch, median over launches")]
    drift: Annotated[float | None, Column("median of the last third of a launch's calls over that of its first third, median over launches")]
    first_penalty: Annotated[float | None, Column("first call of a launch over its median, median over launches; the warm-ups, where there are any")]
    osu_avg_s: _OsuAvg
    imb_t_max_s: _ImbTMax
    nccl_tests_s: _NcclTests
    global_s: _Global
    completion_s: _Completion
    arrival_skew_s: _ArrivalSkew
    late_by_s: _LateBy
    clock_error_s: Annotated[float | None, Column("largest bound of the error of the common clock over the launches", "s")]
    call_floor_s: Annotated[float | None, Column("reference time of an empty call, lowest launch median", "s")]
    copy_floor_s: Annotated[float | None, Column("reference time of a local copy of the vector, fastest call", "s")]
    reduce_floor_s: Annotated[float | None, Column("reference time of a local reduction of the vector, fastest call", "s")]
    algbw_bytes_per_s: Annotated[float, Column("size_bytes / time_s", "bytes/s")]
    busbw_bytes_per_s: Annotated[float, Column("size_bytes / time_s * 2(p-1)/p; with groups p is the number of ranks of one group", "bytes/s")]
    speedup: Annotated[float | None, Column("time of native, called the same way (from Python or compiled), / time_s; empty if that was not measured, or if either time is doubtful")]
    doubt: Annotated[str | None, Column("why the time is not ranked: another algorithm (of the library ran than was asked for), below a floor (shorter than a reference time), two states, invalid calls, by barriers (below 64 KiB, although its launches begin at a time), several definitions, drift, another definition, default of forced launches (native:default), another default (in the launches of this forced algorithm than native)")]
    standing: Annotated[str | None, Column("fastest; equal (within 5 %) to the lowest time of its size; unclear: cannot be distinguished from it; slower; empty: not ranked, or the only ranked one")]
    wrong: Annotated[int | None, Column("wrong elements over all ranks and launches; empty: unchecked", "elements")]
    same_bits: _SameBits
    same_bits_calls: _SameBitsCalls
    promised_same_bits: _PromisedSameBits
    promised_rank_order: _PromisedRankOrder
    promised_depth: _PromisedDepth
    same_bits_launches: Annotated[int | None, Column("1: all launches gave the same bits; empty: not compared, or one launch", kind="flag")]
    same_bits_lengths: Annotated[int | None, Column("1: the beginning of the result has the bits of the next shorter vector of the run, whose data are the same; 0: it has others; empty: not compared, or the shortest", kind="flag")]
    bits: Annotated[str | None, Column("fingerprint of the result on random floats: equal fingerprints mean equal bits; empty: it differs or is unknown")]
    oversubscribed: Annotated[int | None, Column("1: more ranks than cores on some node, so the times do not apply to other machines", kind="flag")]
    internode_nbytes: _InternodeNbytes
    wire: Annotated[str | None, Column("bytes that left the nodes in one timed call, by interface, median over launches", "bytes")]
    limit_s: Annotated[float | None, Column("lower bound: between nodes the least time of any all-reduce (one-port, full duplex, without reduction in the network), within a node a reference, see limit_by; empty: the figures are unknown, or too short to tell", "s")]
    limit_by: Annotated[str | None, Column("what sets limit_s: links (their rate between nodes), latency (of messages between nodes) or local work (copy and reduction at the reference times)")]
    of_limit: Annotated[float | None, Column("efficiency, limit_s / time_s; also empty if time_s is below limit_s")]
    own_limit_s: Annotated[float | None, Column("lower bound of the schedule itself, whose busiest node or rank may move more than it must; empty for native", "s")]
    of_own_limit: Annotated[float | None, Column("efficiency by the own bound, own_limit_s / time_s; also empty if time_s is below own_limit_s")]
    path_messages: Annotated[int | None, Column("messages on the critical path")]
    path_nbytes: Annotated[int | None, Column("bytes moved on the critical path", "bytes")]
    path_reduced_nbytes: Annotated[int | None, Column("bytes reduced on the critical path", "bytes")]
    grade: Annotated[str, Column("grade of all cells of these ranks: good, provisional or not reliable")]
    grade_reasons: Annotated[str | None, Column("reasons of the grade, the most important first, as code=value or code=value/limit, see below; empty: no reason")]
# fmt: on


def columns_of(table: type) -> tuple[Column, ...]:
    """Return the columns that a table declares, in order."""
    return tuple(_column(name, *get_args(hint)) for name, hint in get_type_hints(table, include_extras=True).items())


def _column(name: str, kind: Any, column: Column) -> Column:
    scalar, *_ = get_args(kind) or (kind,)
    return column._replace(name=name, kind=column.kind or {str: "text", int: "whole", float: "real"}[scalar])


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

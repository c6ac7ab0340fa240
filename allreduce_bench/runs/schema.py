"""The columns of what is kept: name, unit, kind, meaning; and the version of the layout.

History of SCHEMA_VERSION: 1, the first; 2, how the ranks were started, bytes between nodes, state hung; 3, entry and
exit on a common clock, why a cell stopped, bits, floors, cache, groups; 4, checksums of the rows and stamps of a cell,
of its line in CELLS, which also names the line before, and of the JSON files; 5, where vectors lie.
"""

from typing import Literal, NamedTuple
from zlib import crc32

SCHEMA_VERSION = 5
UNCHECKED_VERSION = 3  # is read, too; its files hold no checksums
SYNCS = ("barrier", "round_time")  # how ranks enter a call together
FORMER_SYNCS = ("dissemination",)  # of runs that can be read, but not gone on with
FLOOR = "floor"  # the executor of what is measured beside the all-reduces, and is none:
FLOORS = {"null": "empty call", "copy": "local copy", "reduce": "local reduction"}  # reference times, in words
CACHES = ("warm", "cold")
PLAIN_STAMPS = ("entry", "exit")  # what the stamps of a cell hold
STAMPS = ("begin", "ready", *PLAIN_STAMPS)  # where ranks do something before they enter a call
WORKS = ("spin", "sleep")  # what a phase of work does
NO_GROUPS, TOGETHER, ALONE = "", "together", "alone"  # all groups at the same time; one of them, the others wait
NO_ARRIVAL = ""  # nobody is delayed; else the pattern of --arrival
PAGE, NUMPY, UNKNOWN_PLACEMENT = "page", "numpy", ""  # where vectors lie; else a difference in bytes, in digits
STAGGER = 1024  # bytes between the offsets of inputs, outputs and scratch at pages
AFTER_START, AFTER_LAST = "_max_local", "_completion"  # how names of definitions end that begin with the common start
Quantile = Literal["p5_s", "p25_s", "p75_s", "p95_s", "p99_s", "p99_9_s"]
# column -> per cent of the calls that are no slower
QUANTILES: dict[Quantile, float] = {"p5_s": 5, "p25_s": 25, "p75_s": 75, "p95_s": 95, "p99_s": 99, "p99_9_s": 99.9}


class Column(NamedTuple):
    """One column of a file."""

    name: str
    unit: str
    kind: str  # text, whole, real, or flag: 0 or 1
    meaning: str


def time_definition(sync: str, is_completion: bool = False) -> str:
    """The name of what `time_s` is where ranks enter a call by `sync`; a completion begins with the last entry."""
    return f"{sync}{AFTER_LAST if is_completion else AFTER_START}"


def common_start(definition: str) -> str | None:
    """The `sync` of which `time_definition` made this name; None: it is of another tool."""
    return next((definition.removesuffix(end) for end in (AFTER_START, AFTER_LAST) if definition.endswith(end)), None)


# fmt: off
# One line a column, however long: the tables are read side by side.
_CELL = (
    Column("launch", "", "text", "the planned launch (one mpirun): ranks and number, such as 4r-2"),
    Column("attempt", "", "whole", "1, or more after --resume: each start of a launch writes files of its own"),
    Column("algorithm", "", "text", "name of the algorithm; native is the library's MPI_Allreduce, native:reduce+bcast and the like are mock-ups of it; reference times: null, copy, reduce"),
    Column("executor", "", "text", "what runs the steps: sendrecv, one blocking MPI_Sendrecv per step; pipelined, the steps cut into segments, messages posted ahead; compiled and compiled-pipelined, the same without the interpreter; native, the library; mockup, other operations of the library that together are an all-reduce; floor, a reference time without steps; imported, another program"),
    Column("segment", "elements", "whole", "segment of a pipelined algorithm, or at which a pipelined executor cuts the steps; empty: whole messages"),
    Column("window", "messages", "whole", "messages posted ahead by a pipelined executor; empty: other executors"),
    Column("ranks", "", "whole", "number of ranks p"),
    Column("nodes", "", "whole", "number of nodes, as reported by MPI"),
    Column("nodes_declared", "", "whole", "number of nodes declared by --pretend-ranks-per-node; empty: none"),
    Column("dtype", "", "text", "element type"),
    Column("op", "", "text", "reduction; avg is a sum and a timed division"),
    Column("count", "elements", "whole", "length of the vector"),
    Column("nbytes", "bytes", "whole", "length of the vector"),
    Column("cache", "", "text", "warm: the same buffers in every call; cold: they rotate through more than the last-level cache"),
    Column("groups", "", "text", "together: all groups of --groups at the same time; alone: one group while the others wait; empty: no groups"),
    Column("arrival", "", "text", "the pattern of --arrival by which ranks enter late: one-late, ramp, random, half-late, or the file of a trace; empty: nobody is delayed"),
    Column("placement", "", "text", "where vectors lie: page, at pages, inputs, outputs and scratch 1024 bytes apart; numpy, where numpy puts them; a number, so many bytes apart modulo 4096; empty: unknown"),
)
_DEFINITION = Column("time_definition", "", "text", "barrier_max_local: after a barrier, the maximum over ranks of exit - entry; barrier_completion, with an arrival pattern: last exit - last entry; other starts likewise; imported: see below")
_LATE_BY = Column("late_by_s", "s", "real", "how late the pattern of --arrival lets the latest rank enter; empty: nobody is delayed")
_DIGEST = Column("schedule_digest", "", "text", "fingerprint of the steps of all ranks; empty for native")
_INTERNODE = Column("internode_nbytes", "bytes", "whole", "bytes that the schedule sends between nodes in one call; empty for native")
_MOVES = (
    Column("close_moves", "", "whole", "messages and copies of a call, over all ranks, whose two places differ by 1 to 31 bytes modulo 4096: slow on some processors; of native the ranks whose output lies so behind their input"),
    Column("unknown_moves", "", "whole", "messages of a call, over all ranks, whose places the MPI library chooses, since they have several ranges"),
)
_RUN_WHOLE = Column("run_whole", "", "text", "why a pipelined executor ran the steps without cutting them; empty: it cut them, or had not to")
_SAME_BITS = Column("same_bits", "", "flag", "1: on random floats all ranks got the same bits; 0: they did not; empty: not compared")
_BITS = (
    Column("same_bits_calls", "", "flag", "1: repeated calls gave the same bits; empty: not compared, see --check bits"),
    Column("max_ulp", "ULP", "real", "largest distance of rank 0's compared elements from the exactly rounded sum; empty: not compared"),
    Column("mean_ulp", "ULP", "real", "mean distance of the compared elements from the exactly rounded sum"),
    Column("promised_same_bits", "", "flag", "1: by its schedule all ranks evaluate the same expression; empty: native, or not verified"),
    Column("promised_rank_order", "", "flag", "1: by its schedule every reduction joins neighbouring ranks; empty: native, or not verified"),
    Column("promised_depth", "", "whole", "largest number of roundings of an input by the schedule: bounds the error; empty: native, or not verified"),
)
_OTHERS = (
    Column("osu_avg_s", "s", "real", "mean over ranks of exit - entry; osu_allreduce prints its mean over the calls"),
    Column("imb_t_max_s", "s", "real", "maximum over ranks of each rank's mean of exit - entry: t_max of the Intel MPI Benchmarks"),
    Column("nccl_tests_s", "s", "real", "mean over ranks of a loop without a common start divided by its length; see --back-to-back"),
)
_GLOBAL = Column("global_s", "s", "real", "last exit - first entry on the common clock, the global run time of ReproMPI: time_s and how far apart ranks leave the common start; empty: a single rank, or no common clock")
_COMPLETION = Column("completion_s", "s", "real", "last exit - last entry on the common clock; empty: a single rank, or no common clock")
_SKEW = Column("arrival_skew_s", "s", "real", "last entry - first entry on the common clock")
_CHECKED = (
    Column("rows", "", "whole", "rows of the cell in the raw times"),
    Column("rows_begin_nbytes", "bytes", "whole", "offset of these rows in the file of the raw times"),
    Column("rows_nbytes", "bytes", "whole", "length of these rows"),
    Column("rows_crc32", "", "text", "CRC-32 of these bytes: eight hexadecimal digits, as every CRC-32 here"),
    Column("stamps_crc32", "", "text", "CRC-32 of the file that stamps names; empty: none"),
    Column("follows", "", "text", "crc32 of the row before; in the first row CRC-32 of the header lines of both files, launch and attempt, begun with run_crc32"),
    Column("crc32", "", "text", "CRC-32 of the row up to here, its last comma included, begun with run_crc32"),
)

REPETITIONS = (
    *_CELL,
    Column("in_place", "", "flag", "0: input and output are different buffers"),
    _DEFINITION,
    Column("iterations", "", "whole", "calls that time_s is the mean of; 1: a single timed call"),
    Column("repetition", "", "whole", "number of the call in its cell, warm-ups included, from 0"),
    Column("warmup", "", "flag", "1: a warm-up, excluded from all statistics"),
    Column("valid", "", "flag", "0: a rank was late to the common start, or its clock ran backwards; excluded from all statistics"),
    Column("time_s", "s", "real", "time of the call, see time_definition"),
    Column("slowest_rank", "", "whole", "the rank whose exit - entry was the maximum; with an arrival pattern the rank that left last"),
    Column("shortest_s", "s", "real", "minimum over ranks of exit - entry"),
    _OTHERS[0],
    _GLOBAL,
    _COMPLETION,
    _SKEW,
    Column("last_rank", "", "whole", "the rank that entered last on the common clock"),
    Column("group_times_s", "s", "text", "maximum over each group's ranks of exit - entry, group by group, - for a group that did not run; empty without groups"),
    _DIGEST,
)

CELLS = (
    *_CELL,
    _DIGEST,
    Column("state", "", "text", "done; wrong (a check failed); refused (no all-reduce); hung; skipped (see reason); left out (no time)"),
    Column("reason", "", "text", "why the cell was refused or skipped, or which rank blocked it"),
    Column("repetitions", "", "whole", "timed calls without warm-ups"),
    Column("stopped", "", "text", "why the timing stopped: precision, time, iterations, calls (the maximum per cell) or within"),
    Column("wrong", "elements", "whole", "wrong elements over all ranks and checked calls, before, between and after timed ones; empty: unchecked"),
    Column("checks", "", "whole", "calls whose whole result was checked, before, between and after the timed ones; empty: unknown"),
    Column("looks", "", "whole", "timed calls, drawn at random, whose result was looked at where lines of the input had changed; empty: inputs did not change between calls"),
    Column("looked_ratio", "", "real", "median of the shortest_s of these calls over that of the others of their batches; empty: too few of either"),
    _SAME_BITS,
    *_BITS,
    Column("bits", "", "text", "fingerprint of the result of rank 0 on random floats that the seed of the run determines"),
    _OTHERS[1],
    _OTHERS[2],
    Column("clock_error_s", "s", "real", "bound of the error of the common clock during the cell"),
    _LATE_BY,
    Column("stamps", "", "text", "file with entry and exit of every rank and call, see --record all; with --compute or --arrival begin and ready come before them; empty: not kept"),
    Column("offsets", "bytes", "text", "input/output/scratch of each rank modulo 4096, - for none, rank by rank; once where all ranks have the same; varies: in a cold cell they differ from place to place"),
    *_MOVES,
    _RUN_WHOLE,
    Column("proved", "", "flag", "1: the schedule was verified by symbolic execution for this p and count before it ran, rendezvous assumed; 0: too many ranks; empty for native"),
    Column("steps", "", "whole", "largest number of steps of one rank"),
    Column("sent_nbytes", "bytes", "whole", "largest number of bytes sent by one rank"),
    _INTERNODE,
    Column("node_nbytes", "bytes", "whole", "largest number of bytes that one node sends to or receives from other nodes in one call"),
    Column("received_nbytes", "bytes", "whole", "bytes received by the rank that receives and reduces most in one call"),
    Column("reduced_nbytes", "bytes", "whole", "bytes reduced by that rank"),
    Column("wire", "bytes", "text", "bytes that left the nodes in one timed call, by interface: hsn0=8388608 eth0=0"),
    Column("path_messages", "", "whole", "messages on the critical path of the schedule: the coefficient of alpha"),
    Column("path_nbytes", "bytes", "whole", "bytes moved on the critical path: the coefficient of beta"),
    Column("path_reduced_nbytes", "bytes", "whole", "bytes reduced on the critical path: the coefficient of gamma"),
    *_CHECKED,
)

SUMMARY = (
    *(column for column in _CELL if column.name not in ("launch", "attempt")),
    Column("state", "", "text", "done; else the reason why no launch finished it: wrong, refused, hung, skipped, left out or missing"),
    Column("reason", "", "text", "why a cell was refused or skipped, or which rank blocked it"),
    *_MOVES,
    _RUN_WHOLE,
    _DEFINITION,
    Column("launches", "", "whole", "launches that finished the cell"),
    Column("repetitions", "", "whole", "timed calls over all launches, without warm-ups and invalid ones"),
    Column("invalid", "", "whole", "invalid calls over all launches, see valid in the raw times"),
    Column("stopped", "", "text", "why the timing stopped, over the launches: precision, time, iterations, calls, within"),
    Column("time_s", "s", "real", "median over launches of the median over repetitions"),
    Column("time_low_s", "s", "real", "lower end of the interval of time_s, see interval"),
    Column("time_high_s", "s", "real", "upper end of the interval of time_s, see interval"),
    Column("spread_low_s", "s", "real", "lowest launch median; with a single launch time_low_s"),
    Column("spread_high_s", "s", "real", "highest launch median; with a single launch time_high_s"),
    Column("interval", "", "text", "launches: of the median of launch medians, by order statistics: 75, 87.5 and 93.75 % with 3, 4 and 5 launches, their range, and at least 95 % with more; repetitions: 95 %, of the median within launches (below 3); range: none"),
    Column("states", "", "text", "launches in each of two states, such as low:1,high:4; time_s then represents neither state; empty: one state"),
    Column("state_low_s", "s", "real", "median of the launches in the fast state"),
    Column("state_high_s", "s", "real", "median of the launches in the slow state"),
    Column("min_s", "s", "real", "fastest repetition"),
    Column("max_s", "s", "real", "slowest repetition"),
    *(
        Column(name, "s", "real", f"{share:g} % of the calls took no longer, with all launches scaled to one median; empty: too few calls")
        for name, share in QUANTILES.items()
    ),
    Column("outliers", "", "whole", "calls beyond Tukey's fences of their launch; counted, not removed"),
    Column("lag1", "", "real", "correlation of the ranks of consecutive calls within a launch, median over launches"),
    Column("drift", "", "real", "median of the last third of a launch's calls over that of its first third, median over launches"),
    Column("first_penalty", "", "real", "first call of a launch over its median, median over launches; the warm-ups, where there are any"),
    *_OTHERS,
    _GLOBAL,
    _COMPLETION,
    _SKEW,
    _LATE_BY,
    Column("clock_error_s", "s", "real", "largest bound of the error of the common clock over the launches"),
    Column("call_floor_s", "s", "real", "reference time of an empty call, lowest launch median"),
    Column("copy_floor_s", "s", "real", "reference time of a local copy of the vector, fastest call"),
    Column("reduce_floor_s", "s", "real", "reference time of a local reduction of the vector, fastest call"),
    Column("algbw_bytes_per_s", "bytes/s", "real", "nbytes / time_s"),
    Column("busbw_bytes_per_s", "bytes/s", "real", "nbytes / time_s * 2(p-1)/p; with groups p is the number of ranks of one group"),
    Column("speedup", "", "real", "time of native, called the same way (from Python or compiled), / time_s; empty if that was not measured, or if either time is doubtful"),
    Column("doubt", "", "text", "why the time is not ranked: below a floor (shorter than a reference time), two states, invalid calls, several definitions, drift, another definition"),
    Column("standing", "", "text", "fastest; equal (within 5 %) to the lowest time of its size; unclear: cannot be distinguished from it; slower; empty: not ranked, or the only ranked one"),
    Column("wrong", "elements", "whole", "wrong elements over all ranks and launches; empty: unchecked"),
    Column("looks", "", "whole", "timed calls over all launches whose result was looked at where lines of the input had changed; empty: none, or unknown"),
    _SAME_BITS,
    *_BITS,
    Column("same_bits_launches", "", "flag", "1: all launches gave the same bits; empty: not compared, or one launch"),
    Column("bits", "", "text", "fingerprint of the result on random floats: equal fingerprints mean equal bits; empty: it differs or is unknown"),
    Column("oversubscribed", "", "flag", "1: more ranks than cores on some node, so the times do not apply to other machines"),
    _INTERNODE,
    Column("wire", "bytes", "text", "bytes that left the nodes in one timed call, by interface, median over launches"),
    Column("limit_s", "s", "real", "between nodes the least time of any all-reduce (one-port, full duplex, without reduction in the network), within a node a reference, see limit_by; empty: the figures are unknown, or too short to tell"),
    Column("limit_by", "", "text", "what sets limit_s: links (their rate between nodes), latency (of messages between nodes) or local work (copy and reduction at the reference times)"),
    Column("of_limit", "", "real", "limit_s / time_s; also empty if time_s is below limit_s"),
    Column("own_limit_s", "s", "real", "least time of the schedule itself, whose busiest node or rank may move more than it must; empty for native"),
    Column("of_own_limit", "", "real", "own_limit_s / time_s; also empty if time_s is below own_limit_s"),
    Column("group_ranks", "", "text", "number of ranks of each group; empty without groups, or with more than 256"),
    Column("group_times_s", "s", "text", "median over launches of the median of each group's time, group by group, - for one not measured alone"),
    Column("group_loss", "", "text", "time of each group together over that of a group of its layout alone, median over launches; - for unknown"),
    Column("path_messages", "", "whole", "messages on the critical path"),
    Column("path_nbytes", "bytes", "whole", "bytes moved on the critical path"),
    Column("path_reduced_nbytes", "bytes", "whole", "bytes reduced on the critical path"),
    Column("grade", "", "text", "grade of all cells of these ranks: good, provisional or not reliable"),
    Column("grade_reasons", "", "text", "reasons of the grade, the most important first, as code=value or code=value/limit, see below; empty: no reason"),
)
# fmt: on

CHECKED = frozenset(column.name for column in _CHECKED)  # columns that files of UNCHECKED_VERSION lack
# those that further files lack, which are older
LATER = CHECKED | {"checks", "window", "run_whole", "node_nbytes", "received_nbytes", "reduced_nbytes"}
LATER |= {
    "arrival",
    "late_by_s",
    "placement",
    "offsets",
    "close_moves",
    "unknown_moves",
    "global_s",
    "looks",
    "looked_ratio",
}
STATES = ("done", "wrong", "refused", "hung", "skipped", "left out")
UNFINISHED = ("left out", "hung")  # those of a cell that a further attempt may still measure
KINDS = {column.name: column.kind for column in (*REPETITIONS, *CELLS, *SUMMARY)}


def names(columns: tuple[Column, ...]) -> list[str]:
    """The names of `columns` in order."""
    return [column.name for column in columns]


def checksum(content: bytes, run_crc32: str = "") -> str:
    """Its CRC-32 (IEEE 802.3), as eight hexadecimal digits: of bit errors in fewer than 32 neighbouring bits it misses
    none, of other damages one in 2**32. With `run_crc32`, that of run.json, it continues it: of another run it differs.
    """
    return f"{crc32(content, int(run_crc32 or '0', 16)):08x}"


def first_link(headers: bytes, launch: str, attempt: int, run_crc32: str) -> str:
    """What the first mark of an attempt follows; `headers`: the first lines of its raw times and of its cells."""
    return checksum(headers + f"{launch},{attempt}\n".encode(), run_crc32)

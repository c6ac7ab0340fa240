"""The columns of what is kept: name, unit, meaning; and the version of the layout.

History of SCHEMA_VERSION: 1, the first; 2, how the ranks were started, bytes between nodes, state hung.
"""

from typing import NamedTuple

SCHEMA_VERSION = 2
TIME_DEFINITION = "barrier_max_local"  # after a barrier, the maximum over ranks of exit - entry


class Column(NamedTuple):
    """One column of a file."""

    name: str
    unit: str
    meaning: str


_CELL = (
    Column("launch", "", "the planned launch (one mpirun): ranks and number, such as 4r-2"),
    Column("attempt", "", "1, or more after --resume: each start of a launch writes files of its own"),
    Column("algorithm", "", "name of the algorithm; native is the library's MPI_Allreduce"),
    Column("executor", "", "how its steps are run: sendrecv, one blocking MPI_Sendrecv a step; native: by the library"),
    Column("segment", "elements", "pipelining piece; empty where the algorithm has none"),
    Column("ranks", "", "number of ranks p"),
    Column("nodes", "", "number of nodes that share no memory, as MPI says"),
    Column("nodes_declared", "", "number of nodes that --pretend-ranks-per-node declared; empty: none were pretended"),
    Column("dtype", "", "element type"),
    Column("op", "", "reduction; avg is a sum and a timed division"),
    Column("count", "elements", "length of the vector"),
    Column("nbytes", "bytes", "length of the vector"),
)

REPETITIONS = (
    *_CELL,
    Column("in_place", "", "0: input and output are different buffers"),
    Column("time_definition", "", f"{TIME_DEFINITION}: after a barrier, the maximum over ranks of exit - entry"),
    Column("iterations", "", "calls that time_s is the mean of; 1: a single timed call"),
    Column("repetition", "", "number of the call in its cell, warm-ups included, from 0"),
    Column("warmup", "", "1: a warm-up, left out of every statistic"),
    Column("time_s", "s", "time of the call, see time_definition"),
    Column("slowest_rank", "", "the rank whose exit - entry was the maximum"),
    Column("schedule_digest", "", "fingerprint of the steps of all ranks; empty for native"),
)

CELLS = (
    *_CELL,
    Column("schedule_digest", "", "fingerprint of the steps of all ranks; empty for native"),
    Column(
        "state",
        "",
        "done; wrong (a check failed); refused (no all-reduce); hung; skipped (see reason); left out (no time)",
    ),
    Column("reason", "", "why the cell was refused or skipped, or who made it hang"),
    Column("repetitions", "", "timed calls without warm-ups"),
    Column("wrong", "elements", "wrong elements over all ranks, checks before and after timing; empty: unchecked"),
    Column("same_bits", "", "1: on random floats all ranks got the same bits; 0: they did not; empty: not compared"),
    Column("proved", "", "1: the schedule was proved before it ran; 0: too many ranks; empty for native"),
    Column("steps", "", "most steps in one rank"),
    Column("sent_nbytes", "bytes", "most bytes sent by one rank"),
    Column("internode_nbytes", "bytes", "bytes that the schedule sends between nodes in one call; empty for native"),
    Column("wire", "bytes", "bytes that left the nodes in one timed call, by interface: hsn0=8388608 eth0=0"),
    Column("path_messages", "", "messages on the critical path of the schedule: the coefficient of alpha"),
    Column("path_nbytes", "bytes", "bytes moved on the critical path: the coefficient of beta"),
    Column("path_reduced_nbytes", "bytes", "bytes reduced on the critical path: the coefficient of gamma"),
)

SUMMARY = (
    *(column for column in _CELL if column.name not in ("launch", "attempt")),
    Column("state", "", "done; else why no launch did it: wrong, refused, hung, skipped, left out or missing"),
    Column("reason", "", "why a cell was refused or skipped, or who made it hang"),
    Column("launches", "", "launches that finished the cell"),
    Column("repetitions", "", "timed calls over all launches, without warm-ups"),
    Column("time_s", "s", "median over launches of the median over repetitions"),
    Column("time_low_s", "s", "lower end of the 95 % interval, see interval"),
    Column("time_high_s", "s", "upper end of the 95 % interval, see interval"),
    Column("spread_low_s", "s", "lowest launch median; with a single launch time_low_s"),
    Column("spread_high_s", "s", "highest launch median; with a single launch time_high_s"),
    Column(
        "interval", "", "launches: of the mean of launch medians; repetitions: of the median within launches (below 3)"
    ),
    Column("min_s", "s", "fastest repetition"),
    Column("max_s", "s", "slowest repetition"),
    Column("algbw_bytes_per_s", "bytes/s", "nbytes / time_s"),
    Column("busbw_bytes_per_s", "bytes/s", "nbytes / time_s * 2(p-1)/p"),
    Column("speedup", "", "time of native / time_s; empty where native was not measured"),
    Column("rank_of_best", "", "best: the lowest time at this size; tie: not distinguishable from it (95 %)"),
    Column("wrong", "elements", "wrong elements over all ranks and launches; empty: unchecked"),
    Column("same_bits", "", "1: on random floats all ranks got the same bits; 0: they did not; empty: not compared"),
    Column("oversubscribed", "", "1: more ranks than cores on some node, so times say little about another machine"),
    Column("internode_nbytes", "bytes", "bytes that the schedule sends between nodes in one call; empty for native"),
    Column("wire", "bytes", "bytes that left the nodes in one timed call, by interface, median over launches"),
    Column("limit_s", "s", "least time that the links between the nodes allow; empty: one node, or an unknown rate"),
    Column("of_limit", "", "limit_s / time_s: 1 is the link's rate"),
    Column("path_messages", "", "messages on the critical path"),
    Column("path_nbytes", "bytes", "bytes moved on the critical path"),
    Column("path_reduced_nbytes", "bytes", "bytes reduced on the critical path"),
)


STATES = ("done", "wrong", "refused", "hung", "skipped", "left out")
NUMBERS = frozenset(
    {"attempt", "segment", "ranks", "nodes", "nodes_declared", "count", "nbytes", "repetition", "warmup", "time_s"}
    | {"slowest_rank", "repetitions", "wrong", "same_bits", "path_messages", "path_nbytes", "path_reduced_nbytes"}
    | {"internode_nbytes"}
)


def names(columns: tuple[Column, ...]) -> list[str]:
    """The names of `columns` in order."""
    return [column.name for column in columns]

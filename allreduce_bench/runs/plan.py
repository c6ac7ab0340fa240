"""The plan of a run: its choices, made once, written to run.json, never changed; sizes of a sweep, and cuts of steps.

A cut is as requested, or by the costs of a message, a byte and its reduction. A message of m bytes is cut into pieces
of g bytes, so that the next piece is received while the last one is reduced. That takes about max(beta, gamma) m for
the longer of the two activities, min(beta, gamma) g for the piece that nothing overlaps with, and alpha for each of m /
g pieces. The sum is smallest at g = sqrt(m alpha / min(beta, gamma)): the optimum of a pipeline with two stages, as in
Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and experience" (2007), for
pipelined trees. m is the block of a rank, 1/p of the vector.

Over a link whose rate is given a segment is short (OVER_A_LINK_NBYTES): both MPIs send up to 64 KiB over TCP at once,
but ask the receiver of a longer message first, and the answer waits behind other messages. On four virtual hosts at 100
Mbit/s, with 8 MiB and Open MPI, ring reached 90 % of the limit with the segment of the formula, 98 % with 60 KiB;
two_tree 63 % of its own limit with 128 KiB, 97 % with 16 KiB.
"""

from dataclasses import asdict, dataclass, field
from math import inf, log, sqrt
from pathlib import Path
from typing import Annotated
from zlib import crc32

import numpy as np

from ..units import few, unknown_word
from .cell import (
    COMPILED,
    EXECUTORS,
    FORCED,
    FORCED_PREFIX,
    FORCED_WAY,
    GLOO,
    MOCKUP,
    MOCKUPS,
    NATIVE,
    PIPELINED,
    Cell,
    Cut,
    CutPrices,
    Executor,
    Launch,
    competitor_name,
    parse_placements,
    refuse_odd_differences,
    splitmix64,
)
from .dtypes import DTYPES, MOST_RANKS, OPS, is_float
from .option import Section, Whole, earlier_values, meant, option
from .option_values import (
    ARRIVALS,
    DTYPE,
    DURATION,
    EXECUTOR_NAMES,
    GROUPS,
    LATE_BY,
    NAMES,
    OP,
    ORDER,
    PHASE,
    PLACEMENTS,
    RANKS,
    RATES,
    SHARE,
    SIZE,
    SIZES,
    SLOWDOWN,
)
from .schema import (
    ALONE,
    CACHES,
    FLOOR,
    FLOORS,
    FORMER_SYNCS,
    NO_ARRIVAL,
    NO_GROUPS,
    PAGE,
    SYNCS,
    TOGETHER,
    UNKNOWN_PLACEMENT,
    WORKS,
)
from .start import Start, slots_of
from .typed_json import JsonError, Natural, NotNegative, Positive, at_least, not_empty, one_of, read_as

# choices
DEFAULT_SEGMENT_NBYTES = 128 * 1024  # of pipelined algorithms
DEFAULT_WINDOW = 4  # messages
BOUNDED_RANKS = 64  # beyond, algorithms whose cost grows with p times n run only if named
INPUTS = ("changing", "same")  # of consecutive calls
UNTIL = ("precision", "cell_time_s", "min_time_s")  # choices that end a cell, unless `iters` does
LEVELS = ("auto", "single", "funneled", "serialized", "multiple")  # of MPI's threads
LARGEST_SEED = 2**31
MOST_PLANNED_RANKS, MOST_LAUNCHES = 10_000_000, 1_000_000
MOST_NAMED = 8  # hosts in one sentence
MAX_SIZES = 1000  # of a geometric sweep
TIME_USED_UP = "time ran out (--within)"  # the reason of a cell without time left


# cuts
SHORTEST_NBYTES, LONGEST_NBYTES = 64 * 1024, 4 * 1024 * 1024  # of a chosen segment: below, messages cost too much
FEWEST_PIECES = 2  # of a message; with fewer it stays whole
OVER_A_LINK_NBYTES = 16 * 1024  # of a segment, if the rate of a link is given
STEP_NBYTES = 1024  # a chosen segment is a multiple, so that it holds whole elements of every type
NOMINAL = CutPrices(2e-6, 1e-10, 1e-10, "nominal")  # two ranks on one node: 2 us, 10 GB/s both ways


class PlanError(ValueError):
    """An invalid plan, in words."""


def random_seed() -> int:
    """Return a seed for a plan without one."""
    from random import randrange  # late: no rank needs it

    return randrange(LARGEST_SEED)


@dataclass(frozen=True)
class Plan:
    """All choices of a measurement; times in seconds, sizes in bytes."""

    algorithms: tuple[str, ...] = field(
        metadata=option(
            "-a",
            "--algorithms",
            section=Section.MEASURED,
            help="Names, native, or paths of your own files [default: native and what 'list' does not except]; "
            "guidelines: native and what the library's other operations make of an all-reduce, to compare them.",
            meaning="names of the algorithms; native is the library's MPI_Allreduce",
            of=NAMES,
            after="ranks",
        )
    )
    sizes: Annotated[tuple[Natural, ...], not_empty] = field(
        metadata=option(
            "--sizes",
            section=Section.MEASURED,
            help="Sizes in bytes, e.g. 8,4K,16M; instead of -b, -e and -f.",
            meaning="lengths of the vectors; unit: bytes",
            of=SIZES,
            after="algorithms",
        )
    )
    ranks: Annotated[tuple[Annotated[int, at_least(1, MOST_PLANNED_RANKS)], ...], not_empty] = field(
        metadata=option(
            "-n",
            "-np",
            "--ranks",
            section=Section.MEASURED,
            help="Ranks to start, e.g. 4, 2,4,8 or 1-8 [default: the cores, at least 2].",
            meaning="numbers of ranks",
            of=RANKS,
            too_late="mpirun or srun sets the number of ranks; leave it out",
        )
    )
    launches: Annotated[int, at_least(1, MOST_LAUNCHES)] = field(
        default=5,
        metadata=option(
            "--launches",
            section=Section.REPEATED,
            help="Fresh mpiruns per rank count.",
            meaning="launches of each number of ranks; of an imported run the most of one",
            of=Whole(1, MOST_LAUNCHES),
            always=True,
        ),
    )
    seed: Natural = field(
        default_factory=random_seed,
        metadata=option(
            "--seed",
            section=Section.REPEATED,
            help="Seed of the order of cells [default: random, stored].",
            meaning="decides the order of the cells and the random vectors",
            of=Whole(0, LARGEST_SEED),
            after="min_time_s",
        ),
    )
    files: tuple[str, ...] = field(default=(), metadata=meant("absolute paths of own algorithm files"))
    file_digests: tuple[str, ...] = field(
        default=(), metadata=meant("CRC-32 of each of these files when the run was planned; eight hexadecimal digits")
    )
    forced_launches: tuple[str, ...] = field(
        default=(),
        metadata=meant(
            "the further launches beside each one, in which the library is told to use algorithms: forced, all of them "
            "take turns in one; or their names, one for each; empty: none, they take turns with all others",
            earlier=[],
        ),
    )
    segmented: tuple[str, ...] = field(
        default=(), metadata=meant("those of the algorithms that cut vectors into segments")
    )
    bounded: tuple[str, ...] = field(
        default=(), metadata=meant("those of the algorithms that nobody named: they stop at 64 ranks")
    )
    segment_nbytes: Positive = field(
        default=DEFAULT_SEGMENT_NBYTES,
        metadata=option(
            "--segment",
            section=Section.MEASURED,
            help=f"Segment of pipelined algorithms, e.g. 64K [default: {DEFAULT_SEGMENT_NBYTES >> 10}K]; "
            "with a pipelined executor also the length at which it cuts the steps "
            "[default: chosen from alpha, beta and gamma].",
            meaning="length of a segment of pipelined algorithms; unit: bytes",
            of=SIZE,
            after="op",
            always=True,
        ),
    )
    dtype: str = field(
        default="float32",
        metadata=option(
            "-d",
            "--dtype",
            section=Section.MEASURED,
            help=f"Element type: {', '.join(DTYPES)}.",
            meaning="type of an element, such as float32; empty: a log does not say",
            of=DTYPE,
            always=True,
        ),
    )
    op: str = field(
        default="sum",
        metadata=option(
            "--op",
            section=Section.MEASURED,
            help=f"Operation: {', '.join(OPS)}.",
            meaning=f"reduction: {', '.join(OPS)}; empty: a log does not say",
            of=OP,
            always=True,
        ),
    )
    iters: Positive | None = field(
        default=None,
        metadata=option(
            "--iters",
            section=Section.REPEATED,
            help="Timed calls per cell and launch [default: until --precision or --cell-time; at most 1000].",
            meaning="timed calls of a cell in a launch; null: until precision or time stop it",
        ),
    )
    warmups: Natural = field(
        default=3,
        metadata=option(
            "-w",
            "--warmups",
            section=Section.REPEATED,
            help="Untimed calls before the timed calls.",
            meaning="calls before the timed ones",
            after="precision",
            always=True,
        ),
    )
    precision: NotNegative = field(
        default=0.03,
        metadata=option(
            "--precision",
            section=Section.REPEATED,
            help="A cell stops when the 95 % interval of its median is within this share of it.",
            meaning="share of the median at which a cell stops",
            of=SHARE,
            always=True,
        ),
    )
    cell_time_s: NotNegative = field(
        default=0.5,
        metadata=option(
            "--cell-time",
            section=Section.REPEATED,
            help="A cell stops after this time at the latest, e.g. 2s; not with --iters.",
            meaning="most time of the timed calls of a cell in a launch; unit: s",
            of=DURATION,
            always=True,
        ),
    )
    min_time_s: NotNegative = field(
        default=0.0,
        metadata=option(
            "--min-time",
            section=Section.REPEATED,
            help="Repeat each cell at least for this time.",
            meaning="least time of them; unit: s",
            of=DURATION,
        ),
    )
    pretend_ranks_per_node: Positive | None = field(
        default=None,
        metadata=option(
            "--pretend-ranks-per-node",
            section=Section.MEASURED,
            help="Try algorithms for several nodes on one node: declare nodes of N ranks; rows are marked.",
            meaning="declared ranks of a node; null: nodes are as MPI says",
            after="cut_prices",
        ),
    )
    thread_level: str = field(
        default="auto",
        metadata=option(
            "--thread-level",
            section=Section.STARTED,
            help="MPI thread level.",
            meaning="as asked for: auto, or an MPI thread level",
            of=LEVELS,
            after="interface",
            always=True,
        ),
    )
    sync: Annotated[str, one_of("auto", *SYNCS, *FORMER_SYNCS)] = field(
        default="auto",
        metadata=option(
            "--sync",
            section=Section.DEFINED,
            help="How ranks enter a call together; auto: round_time if it is usable, else barrier.",
            meaning="how ranks enter a call together, as asked for",
            of=("auto", *SYNCS),
        ),
    )
    record: Annotated[str, one_of("summary", "all")] = field(
        default="summary",
        metadata=option(
            "--record",
            section=Section.DEFINED,
            help="Data kept of each call: its summary, or also entry and exit of every rank.",
            meaning="all: entry and exit of every call are kept in launches/*.stamps",
        ),
    )
    back_to_back: Natural = field(
        default=0,
        metadata=option(
            "--back-to-back",
            section=Section.DEFINED,
            help="Also time a loop of N calls without a common start, as nccl-tests do.",
            meaning="calls of a loop without a common start; 0: none",
        ),
    )
    cache: Annotated[str, one_of(*CACHES, "both")] = field(
        default="warm",
        metadata=option(
            "--cache",
            section=Section.DEFINED,
            help="warm: the same buffers in every call; cold: other buffers in every call; both: each cell both ways.",
            meaning="state of the cache before a call",
        ),
    )
    placement: Annotated[tuple[str, ...], not_empty] = field(
        default=(PAGE,),
        metadata=option(
            "--placement",
            section=Section.DEFINED,
            help="Where vectors lie, one way or a list: page, at pages and staggered; numpy, where numpy puts them, as "
            "most programs do; a number, so many bytes apart modulo 4096. The first is judged, the others beside it.",
            meaning="where vectors lie, each cell in each way: page, numpy, or bytes between them; empty: unknown",
            of=PLACEMENTS,
            metavar="page|numpy|DELTA,...",
            after="inputs",
            earlier=[UNKNOWN_PLACEMENT],
        ),
    )
    inputs: Annotated[str, one_of(*INPUTS)] = field(
        default=INPUTS[0],
        metadata=option(
            "--inputs",
            section=Section.DEFINED,
            help="changing: lines of the input change between calls, and results are looked at there, so that no call "
            "is left out or remembered; same: consecutive calls have the same input, as with OSU, IMB and nccl-tests.",
            meaning="changing: lines of the inputs change between calls; same: consecutive calls have the same input",
            after="cache",
            earlier="same",
        ),
    )
    floors: bool = field(
        default=True,
        metadata=option(
            "--reference-times/--no-reference-times",
            section=Section.DEFINED,
            help="Also measure an empty call, a local copy and a local reduction.",
            meaning="whether null, copy and reduce are measured beside the all-reduces",
        ),
    )
    check: Annotated[str, one_of("exact", "bits")] = field(
        default="exact",
        metadata=option(
            "--check",
            section=Section.DEFINED,
            help="bits: also compare bits over calls, launches and algorithms, and with the exact sum.",
            meaning="bits: calls are compared bit by bit with each other, too",
        ),
    )
    groups: str = field(
        default="",
        metadata=option(
            "--groups",
            section=Section.DEFINED,
            help="All-reduce in groups at the same time, and in one alone: 2 (halves), mod:8, div:8 (consecutive "
            "ranks).",
            meaning="groups that all-reduce at the same time: 2, div:8, mod:8; empty: none",
            of=GROUPS,
            metavar="N",
        ),
    )
    compute_s: NotNegative = field(
        default=0.0,
        metadata=option(
            "--compute",
            section=Section.BEFORE_A_CALL,
            help="A phase of work before each call, e.g. 10ms; its end on each rank shows which rank is late "
            "[default: none].",
            meaning="phase of work before each call; 0: none; unit: s",
            of=PHASE,
            earlier=0.0,
        ),
    )
    work: Annotated[str, one_of(*WORKS)] = field(
        default=WORKS[0],
        metadata=option(
            "--work",
            section=Section.BEFORE_A_CALL,
            help="Work of --compute; spin: as many operations on each rank as take that time on the median rank; "
            "sleep: no work, for ranks that share cores.",
            meaning="spin: as many operations on each rank as take that time on the median rank; sleep: none",
            earlier="spin",
        ),
    )
    inject_slowdown: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "--inject-slowdown",
            section=Section.BEFORE_A_CALL,
            help="Make the work of a rank longer, to rehearse, e.g. 5:12%; may be repeated.",
            meaning="ranks whose phase of work takes longer, and by how much: 5:12%",
            of=SLOWDOWN,
            repeated=True,
            earlier=[],
        ),
    )
    arrival: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "--arrival",
            section=Section.BEFORE_A_CALL,
            help="Also measure with ranks that enter late: a list of one-late, ramp, random, half-late, or a trace "
            "FILE.csv [default: none].",
            meaning="patterns by which ranks enter calls late, and absolute paths of traces; each cell is also "
            "measured without",
            of=ARRIVALS,
            earlier=[],
        ),
    )
    arrival_digests: tuple[str, ...] = field(
        default=(), metadata=meant("SHA-256 of each of these traces when the run was planned", earlier=[])
    )
    late_by: str = field(
        default="1x",
        metadata=option(
            "--late-by",
            section=Section.BEFORE_A_CALL,
            help="Largest delay of --arrival: a time, e.g. 1ms, or a factor of the median time of the library's own "
            "all-reduce of that size.",
            meaning="how late: such as 1x, times the median of the library's own all-reduce, or 0.001s",
            of=LATE_BY,
            earlier="1x",
        ),
    )
    link_rate_bytes_per_s: Annotated[float, at_least(1)] | None = field(
        default=None,
        metadata=option(
            "--link-rate",
            section=Section.RESULTS,
            help="Rate of a node's link, e.g. 200Gbit, for the efficiency [default: from the system].",
            meaning="rate of the links of a node, as the user says; unit: bytes/s",
            of=RATES,
        ),
    )
    start: Start = field(
        default_factory=Start, metadata=meant("how ranks are started, as asked for; empty: left to the launcher")
    )
    executors: Annotated[tuple[str, ...], not_empty] = field(
        default=(EXECUTORS[0],),
        metadata=option(
            "--executor",
            section=Section.MEASURED,
            help="How steps run [default: sendrecv], one or a list: sendrecv, one blocking MPI_Sendrecv per step; "
            "pipelined, steps cut into segments, receives posted ahead; compiled, sendrecv in a compiled kernel; "
            "compiled-pipelined, pipelined in that kernel; auto, compiled where numba is installed, else sendrecv.",
            meaning=f"the ways to run the steps: {', '.join(EXECUTORS)}",
            of=EXECUTOR_NAMES,
            earlier=[EXECUTORS[0]],
        ),
    )
    window: Positive | None = field(
        default=None,
        metadata=option(
            "--window",
            section=Section.MEASURED,
            help="Messages that a pipelined executor posts ahead [default: 4].",
            meaning="messages posted ahead by pipelined executors; null: none is planned",
            earlier=None,
        ),
    )
    cuts: tuple[Cut, ...] = field(
        default=(),
        metadata=meant("where pipelined executors cut steps; without an entry messages go whole", earlier=[]),
    )
    cut_prices: CutPrices | None = field(
        default=None,
        metadata=option(
            "--machine",
            section=Section.MEASURED,
            help="File that 'fit -o' wrote: a pipelined executor takes its segment from its prices [default: nominal].",
            meaning="prices by which these were chosen; null: they were given, or there are none",
            of=Path,
            metavar="FILE",
            earlier=None,
        ),
    )

    order: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "--order",
            section=Section.STARTED,
            help="Order of ranks: block, cyclic (a rank of each host in turn), hosts such as n1,n3,n2, or a file of "
            "'order' [default: the launcher's].",
            meaning="hosts of the ranks of an all-reduce, one for each, or each once; block; cyclic; empty: as started",
            of=ORDER,
            metavar="FILE",
            after="hostfile",
            earlier=[],
        ),
    )

    def __post_init__(self) -> None:
        self._refuse_layout()
        self._refuse_arithmetic()
        self._refuse_repeating()
        self._refuse_executors()
        if self.compute_s or self.inject_slowdown or self.arrival:
            self._refuse_injected()
        if self.placement not in ((PAGE,), (UNKNOWN_PLACEMENT,)):
            self._refuse_placement()
        if self.work in WORKS[1:] and not self.compute_s:
            raise PlanError(f"--work {self.work} is a kind of --compute; add a phase of work, such as --compute 10ms")

    def _refuse_arithmetic(self) -> None:
        for kind, word, known in (("dtype", self.dtype, DTYPES), ("op", self.op, OPS)):
            if word not in known:
                raise PlanError(unknown_word(kind, word, known))
        if self.op == "avg" and not is_float(self.dtype):
            raise PlanError(f"op avg has no exact result for {self.dtype}; use float32 or float64, or --op sum")
        ranks, most = max(map(self.group_size, self.ranks), default=0), MOST_RANKS.get((self.dtype, self.op))
        if most is not None and ranks > most:
            reduction = f"{self.op} of {self.dtype} over {ranks} ranks"
            raise PlanError(
                f"{reduction}: the result can be checked exactly up to {most} ranks; use float64, or fewer ranks"
            )
        itemsize = self.itemsize
        for nbytes in (*self.sizes, self.segment_nbytes):
            if nbytes % itemsize:
                raise PlanError(f"{nbytes} bytes are not a whole number of {self.dtype} elements of {itemsize} bytes")

    def _refuse_repeating(self) -> None:
        if not 0 < self.precision < 1:
            raise PlanError(f"a precision of {self.precision:g} cannot be reached; use more than 0 and less than 1")
        if self.cell_time_s <= 0:
            raise PlanError("--cell-time: expected a time above 0, such as 100ms or 2s")
        if self.segment_nbytes < 1:
            raise PlanError("--segment: a segment holds at least one element, found 0 bytes")

    def _refuse_executors(self) -> None:
        if unknown := [name for name in self.executors if not Executor(name).is_ours]:
            raise PlanError(unknown_word("executor", unknown[0], EXECUTORS))
        if self.window is not None and not self.pipelined:
            raise PlanError(f"a window belongs to the executors {' and '.join(PIPELINED)}; name one with --executor")

    def _refuse_layout(self) -> None:
        if self.groups:
            self._refuse_groups()
        if self.order and (self.groups or self.pretend_ranks_per_node):
            given = "--groups" if self.groups else "--pretend-ranks-per-node"
            raise PlanError(f"--order belongs to the hosts of all ranks: leave out {given}, or the order")
        hosts = [slots_of(host)[0] for host in self.start.hosts]
        if hosts and len(self.order) > 1 and (unknown := [host for host in self.order if host not in hosts]):
            raise PlanError(
                f"the order names host {unknown[0]}, on which there is no rank; there are ranks on "
                f"{few(hosts, MOST_NAMED)}"
            )
        if self.pretend_ranks_per_node and self.pretend_ranks_per_node >= max(self.ranks):
            raise PlanError(f"{self.pretend_ranks_per_node} ranks per node: one node holds all {max(self.ranks)} ranks")

    def _refuse_groups(self) -> None:
        for size in self.ranks:
            try:
                self.group_size(size)
            except ValueError as error:
                raise PlanError(str(error)) from error

    def _refuse_injected(self) -> None:
        from . import injected  # late: few runs inject anything

        if self.groups:
            raise PlanError("--compute and --arrival are for ranks that all-reduce together; leave out --groups")
        try:
            injected.refuse_slowdowns(self.compute_s, self.inject_slowdown, self.ranks)
            injected.refuse_arrivals(self.compute_s, self.arrival)
        except ValueError as error:
            raise PlanError(str(error)) from error

    def _refuse_placement(self) -> None:
        try:
            if parse_placements(",".join(self.placement)) != self.placement:
                raise PlanError(
                    f"the placements {','.join(self.placement)}: expected different ones, as --placement has them"
                )
            refuse_odd_differences(self.placement, self.itemsize)
        except ValueError as error:
            raise PlanError(str(error)) from error

    def group_size(self, ranks: int) -> int:
        """Return how many of `ranks` ranks all-reduce together."""
        if not self.groups:
            return ranks
        from .groups import groups_of  # late: few runs have groups

        return len(groups_of(self.groups, ranks)[0])

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return DTYPES[self.dtype]

    @property
    def caches(self) -> tuple[str, ...]:
        """The states of the cache in which each cell is measured."""
        return CACHES if self.cache == "both" else (self.cache,)

    @property
    def group_kinds(self) -> tuple[str, ...]:
        """Values of `Cell.groups`; the first one competes."""
        return (TOGETHER, ALONE) if self.groups else (NO_GROUPS,)

    @property
    def arrivals(self) -> tuple[str, ...]:
        """The arrival patterns of each cell, by their names in cells; no delay is first."""
        return (NO_ARRIVAL, *(name.rpartition("/")[2] for name in self.arrival))

    @property
    def pipelined(self) -> tuple[str, ...]:
        """The executors that post messages ahead."""
        return tuple(name for name in self.executors if Executor(name).is_pipelined)

    def executors_of(self, algorithm: str) -> tuple[Executor, ...]:
        """Return the executors of `algorithm`; the library's own is called from Python, compiled, or both, as the
        others are.

        Mock-ups, Gloo and forced algorithms are called from Python, and native is then, too, since they are compared
        with it.
        """
        if algorithm in MOCKUPS:
            return (MOCKUP,)
        if algorithm == GLOO:
            return (GLOO,)
        if algorithm.startswith(FORCED_PREFIX):
            return (FORCED,)
        if algorithm != NATIVE:
            return tuple(map(Executor, self.executors))
        called = [COMPILED[0] if Executor(name).is_compiled else Executor(NATIVE) for name in self.executors]
        called += [Executor(NATIVE)] * any(name == GLOO or name.startswith(FORCED_PREFIX) for name in self.algorithms)
        return tuple(dict.fromkeys(called))

    @property
    def competitors(self) -> list[str]:
        """Names for readers of the algorithms with each of their executors, in the plan's order."""
        return [competitor_name(name, executor) for name in self.algorithms for executor in self.executors_of(name)]

    def planned_launches(self) -> list[Launch]:
        """Return all launches; rank counts and ways take turns, so that a drift of the machine affects all of them."""
        ways = ("", *self.forced_launches)
        numbers = range(1, self.launches + 1)
        return [Launch(ranks, number, way) for number in numbers for way in ways for ranks in self.ranks]

    def algorithms_in(self, launch: Launch) -> list[str]:
        """Return the algorithms that a launch measures."""
        if not self.forced_launches:
            return list(self.algorithms)
        if launch.way not in ("", FORCED_WAY):
            return [FORCED_PREFIX + launch.way]
        is_forced = launch.way == FORCED_WAY
        return [name for name in self.algorithms if (self.executors_of(name) == (FORCED,)) == is_forced]

    def cells(self, launch: Launch) -> list[Cell]:
        """Return the cells in the order in which `launch` measures them: random, but the same for the same seed.

        Mock-ups are measured like the competing groups without delays, which they are compared with. The floors are
        included, but not where the library is told what to use; the one of no call does not depend on the size: it
        has one, the smallest.
        """
        cells, counts = [], [nbytes // self.itemsize for nbytes in self.sizes]
        ways = [(name, executor) for name in self.algorithms_in(launch) for executor in self.executors_of(name)]
        cuts = {cut.nbytes: cut.segment_nbytes for cut in self.cuts if cut.ranks == launch.ranks}
        for cache in self.caches:
            for name, executor in ways:
                kinds, arrivals, placements = self.group_kinds, self.arrivals, self.placement
                if executor.is_mockup:
                    kinds, arrivals, placements = kinds[:1], arrivals[:1], placements[:1]
                window = self.window if executor.is_pipelined else None
                segments = cuts if window else {}
                if name in self.segmented:
                    segments = dict.fromkeys(self.sizes, self.segment_nbytes)
                for count in counts:
                    nbytes = segments.get(count * self.itemsize)
                    segment = nbytes // self.itemsize if nbytes else None
                    cells += [
                        Cell(name, executor, count, segment, cache, kind, window, arrival, placement)
                        for kind in kinds
                        for arrival in arrivals
                        for placement in placements
                    ]
            for name in FLOORS if self.floors and not launch.way else ():
                floor_counts = counts if name != "null" else [min(counts)]
                cells += [self.floor(name, count, cache) for count in floor_counts]
        random_numbers = splitmix64(crc32(f"{self.seed} {launch.name}".encode()), np.arange(len(cells)))
        return [cells[index] for index in random_numbers.argsort()]

    def floor(self, name: str, count: int, cache: str) -> Cell:
        """Return the cell of a reference time; its vectors lie at pages: a slow copy would be no reference."""
        placement = UNKNOWN_PLACEMENT if self.placement == (UNKNOWN_PLACEMENT,) else PAGE
        return Cell(name, Executor(FLOOR), count, None, cache, self.group_kinds[0], placement=placement)

    def to_json(self) -> dict:
        """Return the plan as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: object) -> "Plan":
        """Return the plan of `to_json`. Raises PlanError for missing, unknown or invalid fields."""
        try:
            return read_as(cls, {**LATER_FIELDS, **values} if isinstance(values, dict) else values, exact=True)
        except JsonError as error:
            raise PlanError(f"the plan: {error}") from error


LATER_FIELDS = earlier_values(Plan)  # plans may lack them


class ImportedPlan(Plan):
    """The plan of imported logs. Logs are ragged: its cells are those of the marks, and none is planned."""

    def _refuse_arithmetic(self) -> None:
        """Accept any type and operation, as in the logs; empty if they give none."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element; 1 if not known."""
        return DTYPES.get(self.dtype, 1)

    def cells(self, launch: Launch) -> list[Cell]:
        """Return an empty list: nothing is left to be measured."""
        return []


def geometric_sizes(first: int, last: int, factor: float, itemsize: int = 1) -> tuple[int, ...]:
    """Return sizes in bytes from `first` up to `last`, each `factor` times the one before, in whole elements.

    Raises PlanError.
    """
    if first > last:
        raise PlanError(f"the smallest size, {first} bytes, is above the largest, {last} bytes")
    if not 1 < factor < inf:
        raise PlanError(f"the step factor must be above 1, found {factor:g}")
    if first < 1:
        raise PlanError("a geometric sweep starts at 1 byte or more; --sizes takes 0 too")
    if log(last / first) / log(factor) > MAX_SIZES:
        raise PlanError(f"a step factor of {factor:g} makes more than {MAX_SIZES} sizes; use a larger one")
    exact = [first * factor**i for i in range(int(log(last / first) / log(factor) + 1e-9) + 1)]
    sizes = [first, *(round(size / itemsize) * itemsize for size in exact[1:])]
    return tuple(dict.fromkeys(sizes))


def given_cuts(plan: Plan, segment_nbytes: int) -> tuple[Cut, ...]:
    """Return the same segment at every size and number of ranks of the plan."""
    return tuple(Cut(ranks, nbytes, segment_nbytes) for ranks in plan.ranks for nbytes in plan.sizes)


def chosen_cuts(plan: Plan, prices: CutPrices) -> tuple[Cut, ...]:
    """Return the cuts of every size and number of ranks of the plan by these prices;
    messages without one stay whole.
    """
    cuts = []
    for ranks in plan.ranks:
        for nbytes in plan.sizes:
            if segment_nbytes := chosen_segment_nbytes(nbytes / plan.group_size(ranks), prices):
                cuts.append(Cut(ranks, nbytes, segment_nbytes))
    return tuple(cuts)


def chosen_segment_nbytes(message_nbytes: float, prices: CutPrices) -> int | None:
    """Return the segment size for messages of `message_nbytes`; None if they stay whole: fewer than FEWEST_PIECES are
    best.
    """
    per_byte = min(prices.beta_s_per_byte, prices.gamma_s_per_byte)
    best = sqrt(message_nbytes * prices.alpha_s / per_byte) if per_byte > 0 else inf
    nbytes = int(min(max(best, SHORTEST_NBYTES), LONGEST_NBYTES))
    nbytes -= nbytes % STEP_NBYTES
    return nbytes if message_nbytes >= FEWEST_PIECES * nbytes else None

"""The plan of a run: its choices, made once, written to run.json, never changed."""

from dataclasses import asdict, dataclass, field
from typing import Annotated
from zlib import crc32

from ..units import few, unknown_word
from .cell import (
    ALL_FORCED,
    EXPECTED_PLACEMENT,
    Cell,
    Launch,
    is_placement,
    refuse_odd_difference,
    splitmix64,
)
from .competitor import FLOOR_PREFIX, FORCED_PREFIX, PIPELINED, Competitor, split_way
from .dtypes import DTYPES, MOST_RANKS, OPS, is_float
from .option import Section, Whole, option
from .option_values import (
    ARRIVAL,
    DTYPE,
    DURATION,
    GROUPS,
    LATE_BY,
    NAMES,
    OP,
    ORDER,
    PHASE,
    PLACEMENT,
    RANKS,
    RATES,
    SHARE,
    SIZE,
    SIZES,
    SLOWDOWN,
)
from .schema import (
    CACHES,
    FLOORS,
    PAGE,
    SYNCS,
    UNKNOWN_PLACEMENT,
    WORKS,
)
from .start import Start
from .typed_json import JsonError, Natural, NotNegative, Positive, at_least, not_empty, one_of, read_as

# choices
DEFAULT_SEGMENT_NBYTES = 128 * 1024  # of pipelined algorithms
DEFAULT_WINDOW = 4  # messages
BOUNDED_RANKS = 64  # beyond, algorithms whose cost grows with p times n run only if named
UNTIL = ("precision", "cell_time_s", "min_time_s")  # choices that end a cell, unless `iters` does
LEVELS = ("auto", "single", "funneled", "serialized", "multiple")  # of MPI's threads
LARGEST_SEED = 2**31
MOST_PLANNED_RANKS, MOST_LAUNCHES = 10_000_000, 10_000
MOST_NAMED = 8  # hosts in one sentence
COUNTED_S, IDLE_S = 1.0, 2.0  # of --energy: calls of a cell at least; nodes without work, once a launch
TIME_USED_UP = "time ran out (--within)"  # the reason of a cell without time left


class PlanError(ValueError):
    """An invalid plan, in words."""


def random_seed() -> int:
    """Return a seed for a plan without one."""
    from random import randrange  # late: no rank needs it

    return randrange(LARGEST_SEED)


@dataclass(frozen=True)
class Cut:
    """The segment size into which pipelined executors cut steps, at one size and number of ranks."""

    ranks: Positive
    size_bytes: Natural  # of the vector
    segment_nbytes: Positive


@dataclass(frozen=True)
class CutPrices:
    """The prices by which cuts were chosen, and their source."""

    alpha_s: NotNegative
    beta_s_per_byte: NotNegative
    gamma_s_per_byte: NotNegative
    source: str


@dataclass(frozen=True)
class Plan:
    """All choices of a measurement; times in seconds, sizes in bytes."""

    competitors: tuple[str, ...] = option(
        "-a",
        "--algorithms",
        section=Section.MEASURED,
        help="What to measure, as 'list' names it, such as native,ring or ring@pipelined:256K,./mine.py "
        "[default: native and what 'list' has without +].",
        of=NAMES,
    )
    sizes: Annotated[tuple[Natural, ...], not_empty] = option(
        "--sizes",
        section=Section.MEASURED,
        help="Sizes in bytes, e.g. 8,4K,16M; instead of -b, -e and -f.",
        of=SIZES,
    )
    ranks: Annotated[tuple[Annotated[int, at_least(1, MOST_PLANNED_RANKS)], ...], not_empty] = option(
        "-n",
        "-np",
        "--ranks",
        section=Section.MEASURED,
        help="Ranks to start, e.g. 4, 2,4,8 or 1-8 [default: the cores, at least 2].",
        of=RANKS,
        too_late="mpirun or srun sets the number of ranks; leave it out",
    )
    launches: Annotated[int, at_least(1, MOST_LAUNCHES)] = option(  # of an imported run the most of one number of ranks
        "--launches",
        section=Section.REPEATED,
        default=5,
        help="Fresh mpiruns per rank count.",
        of=Whole(1, MOST_LAUNCHES),
        always=True,
    )
    seed: Natural = option(
        "--seed",
        section=Section.REPEATED,
        default_factory=random_seed,
        help="Seed of the order of cells [default: random, stored].",
        of=Whole(0, LARGEST_SEED),
    )
    files: tuple[str, ...] = ()  # absolute paths of own algorithm files
    # CRC-32 of each of these files when the run was planned; eight hexadecimal digits
    file_digests: tuple[str, ...] = ()
    # the further launches beside each one, in which the library is told to use algorithms: forced, all of them take
    # turns in one; or their names, one for each; empty: none, they take turns with all others
    forced_launches: tuple[str, ...] = ()
    segmented: tuple[str, ...] = ()  # those of the algorithms that cut vectors into segments
    bounded: tuple[str, ...] = ()  # those of the algorithms that nobody named: they stop at 64 ranks
    segment_nbytes: Positive = option(
        "--segment",
        section=Section.MEASURED,
        default=DEFAULT_SEGMENT_NBYTES,
        condition=True,
        help=f"Segment of pipelined algorithms, e.g. 64K [default: {DEFAULT_SEGMENT_NBYTES >> 10}K]; also the "
        "length at which ring@pipelined cuts the steps [default: chosen from alpha, beta and gamma].",
        of=SIZE,
        always=True,
    )
    dtype: str = option(  # empty: a log does not say
        "-d",
        "--dtype",
        section=Section.MEASURED,
        default="float32",
        condition=True,
        help=f"Element type: {', '.join(DTYPES)}.",
        of=DTYPE,
        always=True,
    )
    op: str = option(  # empty: a log does not say
        "--op",
        section=Section.MEASURED,
        default="sum",
        condition=True,
        help=f"Operation: {', '.join(OPS)}.",
        of=OP,
        always=True,
    )
    iters: Positive | None = option(  # None: until precision or time stop it
        "--iters",
        section=Section.REPEATED,
        default=None,
        help="Timed calls per cell and launch [default: until --precision or --cell-time; at most 1000].",
    )
    warmups: Natural = option(
        "-w",
        "--warmups",
        section=Section.REPEATED,
        default=3,
        help="Untimed calls before the timed calls.",
        always=True,
    )
    precision: NotNegative = option(
        "--precision",
        section=Section.REPEATED,
        default=0.03,
        help="A cell stops when the 95 % interval of its median is within this share of it.",
        of=SHARE,
        always=True,
    )
    cell_time_s: NotNegative = option(
        "--cell-time",
        section=Section.REPEATED,
        default=0.5,
        help="A cell stops after this time at the latest, e.g. 2s; not with --iters.",
        of=DURATION,
        always=True,
    )
    min_time_s: NotNegative = option(
        "--min-time",
        section=Section.REPEATED,
        default=0.0,
        help="Repeat each cell at least for this time.",
        of=DURATION,
    )
    pretend_ranks_per_node: Positive | None = option(
        "--pretend-ranks-per-node",
        section=Section.MEASURED,
        default=None,
        condition=True,
        help="Try algorithms for several nodes on one node: declare nodes of N ranks; rows are marked.",
    )
    thread_level: str = option(
        "--thread-level",
        section=Section.STARTED,
        default="auto",
        condition=True,
        help="MPI thread level.",
        of=LEVELS,
        always=True,
    )
    sync: Annotated[str, one_of("auto", *SYNCS)] = option(
        "--sync",
        section=Section.DEFINED,
        default="auto",
        condition=True,
        help="How ranks enter a call together; auto: round_time where no node has more ranks than usable cores, "
        "else barrier.",
        of=("auto", *SYNCS),
    )
    record: Annotated[str, one_of("summary", "all")] = option(
        "--record",
        section=Section.DEFINED,
        default="summary",
        help="Data kept of each call: its summary, or also entry and exit of every rank.",
    )
    back_to_back: Natural = option(
        "--back-to-back",
        section=Section.DEFINED,
        default=0,
        help="Also time a loop of N calls without a common start, as nccl-tests do.",
    )
    energy: bool = option(
        "--energy",
        section=Section.DEFINED,
        default=False,
        help="Also count the joules of a call, in a loop of 1 s of each cell, where nodes count energy and are "
        "this job's alone.",
        condition=True,
    )
    cache: Annotated[str, one_of(*CACHES)] = option(
        "--cache",
        section=Section.DEFINED,
        default="warm",
        condition=True,
        help="warm: the same buffers in every call; cold: other buffers in every call.",
    )
    placement: str = option(  # "": unknown
        "--placement",
        section=Section.DEFINED,
        default=PAGE,
        condition=True,
        help="Where vectors lie: page, at pages and staggered; numpy, where numpy puts them, as most programs do; "
        "DELTA, so many bytes apart modulo 4096.",
        of=PLACEMENT,
        metavar="page|numpy|DELTA",
    )
    in_place: bool = option(
        "--in-place",
        section=Section.DEFINED,
        default=False,
        help="Input and output are one buffer: MPI_IN_PLACE; the input is set again before each call, untimed.",
        condition=True,
    )
    floors: bool = option(
        "--reference-times/--no-reference-times",
        section=Section.DEFINED,
        default=True,
        help="Also measure an empty call, a local copy and a local reduction.",
    )
    check: Annotated[str, one_of("exact", "bits")] = option(
        "--check",
        section=Section.DEFINED,
        default="exact",
        condition=True,
        help="bits: also compare bits over calls, launches and algorithms, and with the exact sum.",
    )
    groups: str = option(  # empty: none
        "--groups",
        section=Section.DEFINED,
        default="",
        condition=True,
        help="All-reduce in groups at the same time: 2 (halves), mod:8, div:8 (consecutive ranks).",
        of=GROUPS,
        metavar="N",
    )
    compute_s: NotNegative = option(
        "--compute",
        section=Section.BEFORE_A_CALL,
        default=0.0,
        condition=True,
        help="A phase of work before each call, e.g. 10ms; its end on each rank shows which rank is late "
        "[default: none].",
        of=PHASE,
    )
    work: Annotated[str, one_of(*WORKS)] = option(
        "--work",
        section=Section.BEFORE_A_CALL,
        default=WORKS[0],
        condition=True,
        help="Work of --compute; spin: as many operations on each rank as take that time on the median rank; "
        "sleep: no work, for ranks that share cores.",
    )
    inject_slowdown: tuple[str, ...] = option(
        "--inject-slowdown",
        section=Section.BEFORE_A_CALL,
        default=(),
        condition=True,
        help="Make the work of a rank longer, to rehearse, e.g. 5:12%; may be repeated.",
        of=SLOWDOWN,
        repeated=True,
    )
    arrival: str = option(  # a name, or the absolute path of a trace
        "--arrival",
        section=Section.BEFORE_A_CALL,
        default="",
        condition=True,
        help="Let ranks enter calls late: one-late, ramp, random, half-late, or a trace FILE.csv; a time is then "
        "last exit - last entry [default: none].",
        of=ARRIVAL,
    )
    arrival_digest: str = ""  # SHA-256 of the trace when the run was planned
    late_by: str = option(
        "--late-by",
        section=Section.BEFORE_A_CALL,
        default="1x",
        condition=True,
        help="Largest delay of --arrival: a time, e.g. 1ms, or a factor of the median time of the library's own "
        "all-reduce of that size.",
        of=LATE_BY,
    )
    link_rate_bytes_per_s: Annotated[float, at_least(1)] | None = option(
        "--link-rate",
        section=Section.RESULTS,
        default=None,
        help="Rate of a node's link, e.g. 200Gbit, for the efficiency [default: from the system].",
        of=RATES,
    )
    start: Start = field(default_factory=Start)  # how ranks are started, as asked for; empty: left to the launcher
    window: Positive | None = option(
        "--window",
        section=Section.MEASURED,
        default=None,
        condition=True,
        help="Messages that pipelined and compiled-pipelined post ahead [default: 4].",
    )
    # where pipelined competitors cut steps; without an entry messages go whole
    cuts: tuple[Cut, ...] = ()
    cut_prices: CutPrices | None = None  # by which cuts were chosen; None: they were given, or there are none
    order: tuple[str, ...] = option(
        "--order",
        section=Section.STARTED,
        default=(),
        condition=True,
        help="Order of ranks: block, cyclic (a rank of each host in turn), hosts such as n1,n3,n2, or a file of "
        "'order' [default: the launcher's].",
        of=ORDER,
        metavar="FILE",
    )

    def __post_init__(self) -> None:
        try:
            self._refuse_layout()
            self._refuse_ways()
            self._refuse_arithmetic()
            self._refuse_repeating()
            self._refuse_before_a_call()
            self._refuse_placement()
        except PlanError:
            raise
        except ValueError as error:
            raise PlanError(str(error)) from error

    def _refuse_layout(self) -> None:
        if self.groups:
            for size in self.ranks:
                self.group_size(size)
        if self.order and (self.groups or self.pretend_ranks_per_node):
            given = "--groups" if self.groups else "--pretend-ranks-per-node"
            raise PlanError(f"--order belongs to the hosts of all ranks: leave out {given}, or the order")
        if self.start.hosts and len(self.order) > 1:
            from .hosts import slots_of  # late: few runs have an order

            hosts = [slots_of(host)[0] for host in self.start.hosts]
            if unknown := [host for host in self.order if host not in hosts]:
                raise PlanError(
                    f"the order names host {unknown[0]}, on which there is no rank; there are ranks on "
                    f"{few(hosts, MOST_NAMED)}"
                )
        if self.pretend_ranks_per_node and self.pretend_ranks_per_node >= max(self.ranks):
            raise PlanError(f"{self.pretend_ranks_per_node} ranks per node: one node holds all {max(self.ranks)} ranks")

    def _refuse_ways(self) -> None:
        for name in self.competitors:
            split_way(name)

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
        lengths = [*(("--sizes", size_bytes) for size_bytes in self.sizes), ("--segment", self.segment_nbytes)]
        lengths += [(name, Competitor(name).segment_nbytes or 0) for name in self.competitors]
        for where, size_bytes in lengths:
            if size_bytes % self.itemsize:
                raise PlanError(
                    f"{where}: {size_bytes} bytes are not a whole number of {self.dtype} elements of {self.itemsize} "
                    "bytes"
                )

    def _refuse_repeating(self) -> None:
        if not 0 < self.precision < 1:
            raise PlanError(f"a precision of {self.precision:g} cannot be reached; use more than 0 and less than 1")
        if self.cell_time_s <= 0:
            raise PlanError("--cell-time: expected a time above 0, such as 100ms or 2s")
        if self.segment_nbytes < 1:
            raise PlanError("--segment: a segment holds at least one element, found 0 bytes")
        if self.window is not None and not any(name.is_pipelined for name in map(Competitor, self.competitors)):
            raise PlanError(f"a window belongs to {' and '.join(PIPELINED)}; name one, such as ring@pipelined")

    def _refuse_before_a_call(self) -> None:
        if self.compute_s or self.inject_slowdown or self.arrival:
            from . import injected  # late: few runs inject anything

            if self.groups:
                raise PlanError("--compute and --arrival are for ranks that all-reduce together; leave out --groups")
            injected.refuse_slowdowns(self.compute_s, self.inject_slowdown, self.ranks)
            injected.refuse_arrival(self.compute_s, self.arrival)
        if self.in_place and self.cache != "warm":
            raise PlanError(
                f"--in-place copies the input before each call, so that no vector is cold: not --cache {self.cache}"
            )
        if self.in_place and self.back_to_back:
            raise PlanError(
                "--in-place copies the input before each call, and calls --back-to-back have no time before them"
            )
        if self.energy and (self.in_place or self.cache != "warm"):
            given = "--in-place" if self.in_place else f"--cache {self.cache}"
            raise PlanError(f"--energy counts warm calls, one after the other, with nothing between them: not {given}")
        if self.work in WORKS[1:] and not self.compute_s:
            raise PlanError(f"--work {self.work} is a kind of --compute; add a phase of work, such as --compute 10ms")

    def _refuse_placement(self) -> None:
        if self.placement in (PAGE, UNKNOWN_PLACEMENT):
            return
        if not is_placement(self.placement):
            raise PlanError(f"the placement '{self.placement}': {EXPECTED_PLACEMENT}")
        refuse_odd_difference(self.placement, self.itemsize)

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
    def place(self) -> str:
        """Whether input and output are one buffer, in words."""
        return "in place" if self.in_place else "out of place"

    @property
    def arrival_name(self) -> str:
        """The arrival pattern, or the name of the file of a trace; empty: nobody is delayed."""
        return self.arrival.rpartition("/")[2]

    @property
    def algorithms(self) -> list[str]:
        """Names of the algorithms of the competitors, each once."""
        return list(dict.fromkeys(Competitor(name).algorithm for name in self.competitors))

    def planned_launches(self) -> list[Launch]:
        """Return all launches; rank counts and forced launches take turns, so that a drift affects all of them."""
        numbers, kinds = range(1, self.launches + 1), ("", *self.forced_launches)
        return [Launch(ranks, number, forced) for number in numbers for forced in kinds for ranks in self.ranks]

    def competitors_in(self, launch: Launch) -> list[Competitor]:
        """Return the competitors that a launch measures."""
        competitors = [Competitor(name) for name in self.competitors]
        if not self.forced_launches:
            return competitors
        if launch.forced not in ("", ALL_FORCED):
            return [Competitor(FORCED_PREFIX + launch.forced)]
        return [each for each in competitors if each.is_forced == (launch.forced == ALL_FORCED)]

    def cells(self, launch: Launch) -> list[Cell]:
        """Return the cells in the order in which `launch` measures them: random, but the same for the same seed.

        The floors are included, but not where the library is told what to use; the one of no call does not depend on
        the size: it has one, the smallest.
        """
        cells = []
        for competitor in self.competitors_in(launch):
            segments = self._segments(competitor, launch.ranks)
            window = self.window if competitor.is_pipelined else None
            for size_bytes in self.sizes:
                segment_nbytes = segments.get(size_bytes)
                segment = segment_nbytes // self.itemsize if segment_nbytes else None
                cells.append(Cell(competitor, size_bytes, segment, window))
        for name in FLOORS if self.floors and not launch.forced else ():
            cells += [self.floor(name, size) for size in (self.sizes if name != "null" else [min(self.sizes)])]
        import numpy as np  # late: the helps of commands need none

        random_numbers = splitmix64(crc32(f"{self.seed} {launch.name}".encode()), np.arange(len(cells)))
        return [cells[index] for index in random_numbers.argsort()]

    def _segments(self, competitor: Competitor, ranks: int) -> dict[int, int]:
        """Return the bytes of a segment by the bytes of the vector; sizes without one are not cut."""
        if competitor.algorithm in self.segmented:
            return dict.fromkeys(self.sizes, competitor.segment_nbytes or self.segment_nbytes)
        if not competitor.is_pipelined:
            return {}
        if competitor.segment_nbytes:
            return dict.fromkeys(self.sizes, competitor.segment_nbytes)
        return {cut.size_bytes: cut.segment_nbytes for cut in self.cuts if cut.ranks == ranks}

    def floor(self, name: str, size_bytes: int) -> Cell:
        """Return the cell of a reference time."""
        return Cell(Competitor(FLOOR_PREFIX + name), size_bytes)

    def element_count(self, cell: Cell) -> int:
        """Return the number of elements of a vector of `cell`."""
        return cell.size_bytes // self.itemsize

    def to_json(self) -> dict:
        """Return the plan as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: object) -> "Plan":
        """Return the plan of `to_json`. Raises PlanError for missing, unknown or invalid fields."""
        try:
            return read_as(cls, values, exact=True)
        except JsonError as error:
            raise PlanError(f"the plan: {error}") from error


@dataclass(frozen=True)
class ImportedPlan(Plan):
    """The plan of imported logs. Logs are ragged: its cells are those of the marks, and none is planned."""

    definitions: dict[str, str] = field(default_factory=dict)  # time_definition -> what such a time is

    def _refuse_ways(self) -> None:
        """Accept any name, as in the logs."""

    def _refuse_arithmetic(self) -> None:
        """Accept any type and operation, as in the logs; empty if they give none."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element; 1 if not known."""
        return DTYPES.get(self.dtype, 1)

    def cells(self, launch: Launch) -> list[Cell]:
        """Return an empty list: nothing is left to be measured."""
        return []

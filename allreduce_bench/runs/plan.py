"""What a run shall measure: decided once, written to run.json, never changed.

Beside the plan, for those who make one: the sizes of a sweep, and where the pipelined executors cut steps.

A cut is as asked for, or by what a message, a byte and its reduction cost. A message of m bytes is cut into pieces of g
bytes, so that the next piece is received while the last one is reduced. That takes about max(beta, gamma) m for the
longer of the two activities, min(beta, gamma) g for the piece that nothing overlaps with, and alpha for each of m / g
pieces. The sum is smallest at g = sqrt(m alpha / min(beta, gamma)): the optimum of a pipeline with two stages, as in
Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and experience" (2007), for
pipelined trees. m is the block of a rank, 1/p of the vector.

Over a link whose rate is named a segment is short (OVER_A_LINK_NBYTES): both MPIs send up to 64 KiB over TCP at once,
but ask the receiver of a longer message first, and the answer waits behind other messages. On four virtual hosts at 100
Mbit/s, with 8 MiB and Open MPI, ring reached 90 % of the limit with the segment of the formula, 98 % with 60 KiB;
two_tree 63 % of its own limit with 128 KiB, 97 % with 16 KiB.
"""

from dataclasses import asdict, dataclass, field
from math import inf, log, sqrt
from typing import Annotated
from zlib import crc32

import numpy as np

from ..units import unknown_word
from .cell import (
    COMPILED,
    EXECUTORS,
    MOCKUP,
    MOCKUPS,
    NATIVE,
    PIPELINED,
    Cell,
    Cut,
    CutPrices,
    Launch,
    competitor_name,
    parse_placements,
    refuse_odd_differences,
    splitmix64,
)
from .dtypes import DTYPES, MOST_RANKS, is_float
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
from .start import Start
from .typed_json import JsonError, Natural, NotNegative, Positive, at_least, not_empty, one_of, read_as

# choices
DEFAULT_SEGMENT_NBYTES = 128 * 1024  # of pipelined algorithms
DEFAULT_WINDOW = 4  # messages
BOUNDED_RANKS = 64  # beyond, algorithms whose cost grows with p times n run only when they are named
INPUTS = ("changing", "same")  # of consecutive calls
OPS = ("sum", "avg", "prod", "max", "min")
LARGEST_SEED = 2**31
MOST_PLANNED_RANKS, MOST_LAUNCHES = 10_000_000, 1_000_000
MAX_SIZES = 1000  # of a geometric sweep
LATER_FIELDS = {  # plans may lack them
    **{"executors": [EXECUTORS[0]], "window": None, "cuts": [], "cut_prices": None},
    **{"compute_s": 0.0, "work": "spin", "inject_slowdown": []},
    **{"arrival": [], "arrival_digests": [], "late_by": "1x"},
    **{"placement": [UNKNOWN_PLACEMENT], "inputs": "same"},
}
TIME_USED_UP = "the time of --within was used up"  # the reason of a cell that had no time left


# cuts
SHORTEST_NBYTES, LONGEST_NBYTES = 64 * 1024, 4 * 1024 * 1024  # of a chosen segment: below, messages cost too much
FEWEST_PIECES = 2  # of a message; with fewer it goes whole
OVER_A_LINK_NBYTES = 16 * 1024  # of a segment, where the rate of a link is named
STEP_NBYTES = 1024  # a chosen segment is a whole number of these, so that it holds whole elements of every type
NOMINAL = CutPrices(2e-6, 1e-10, 1e-10, "nominal")  # two ranks on one node: 2 us, 10 GB/s both ways


class PlanError(ValueError):
    """A plan that makes no sense, in words."""


def random_seed() -> int:
    """A seed for a plan that is given none."""
    from random import randrange  # late: ranks read theirs

    return randrange(LARGEST_SEED)


@dataclass(frozen=True)
class Plan:
    """Every choice that decides what is measured; times in seconds, sizes in bytes."""

    algorithms: tuple[str, ...]
    sizes: Annotated[tuple[Natural, ...], not_empty]
    ranks: Annotated[tuple[Annotated[int, at_least(1, MOST_PLANNED_RANKS)], ...], not_empty]
    launches: Annotated[int, at_least(1, MOST_LAUNCHES)] = 5
    seed: Natural = field(default_factory=random_seed)
    files: tuple[str, ...] = ()  # users' own algorithm files, absolute paths
    file_digests: tuple[str, ...] = ()  # what they were
    segmented: tuple[str, ...] = ()  # those of the algorithms that cut their vectors into segments
    bounded: tuple[str, ...] = ()  # those of the algorithms that nobody named: they stop at BOUNDED_RANKS
    segment_nbytes: Positive = DEFAULT_SEGMENT_NBYTES
    dtype: str = "float32"
    op: str = "sum"
    iters: Positive | None = None
    warmups: Natural = 3
    precision: NotNegative = 0.03  # of a median, at which a cell stops; a share
    cell_time_s: NotNegative = 0.5
    min_time_s: NotNegative = 0.0
    pretend_ranks_per_node: Positive | None = None
    thread_level: str = "auto"
    sync: Annotated[str, one_of("auto", *SYNCS, *FORMER_SYNCS)] = "auto"
    record: Annotated[str, one_of("summary", "all")] = "summary"
    back_to_back: Natural = 0  # calls of a loop without a common start; 0: none
    cache: Annotated[str, one_of(*CACHES, "both")] = "warm"
    placement: Annotated[tuple[str, ...], not_empty] = (PAGE,)  # where vectors lie; the first is what is judged
    inputs: Annotated[str, one_of(*INPUTS)] = INPUTS[0]  # of consecutive calls
    floors: bool = True
    check: Annotated[str, one_of("exact", "bits")] = "exact"
    groups: str = ""  # as parsed by `groups`; empty: none
    compute_s: NotNegative = 0.0  # a phase of work before each call; 0: none
    work: Annotated[str, one_of(*WORKS)] = WORKS[0]  # what it does
    inject_slowdown: tuple[str, ...] = ()  # as parsed by `injected`, like the next
    arrival: tuple[str, ...] = ()  # patterns by which ranks enter late, and absolute paths of traces, beside none
    arrival_digests: tuple[str, ...] = ()  # of the traces
    late_by: str = "1x"
    link_rate_bytes_per_s: Annotated[float, at_least(1)] | None = None  # of a node's link, as the user says; else None
    start: Start = field(default_factory=Start)
    executors: Annotated[tuple[str, ...], not_empty] = (EXECUTORS[0],)
    window: Positive | None = None  # messages posted ahead by pipelined executors; None: none of them is planned
    cuts: tuple[Cut, ...] = ()  # of pipelined executors; where there is none, messages go whole
    cut_prices: CutPrices | None = None  # None: nothing was chosen by prices

    def __post_init__(self) -> None:
        self._refuse_layout()
        self._refuse_arithmetic()
        self._refuse_repeating()
        self._refuse_executors()
        if self.compute_s or self.inject_slowdown or self.arrival or self.late_by != Plan.late_by:
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
        if unknown := [name for name in self.executors if name not in EXECUTORS]:
            raise PlanError(unknown_word("executor", unknown[0], EXECUTORS))
        if self.window is not None and not self.pipelined:
            raise PlanError(f"a window belongs to the executors {' and '.join(PIPELINED)}; name one with --executor")

    def _refuse_layout(self) -> None:
        if self.groups:
            self._refuse_groups()
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
            injected.refuse_arrivals(self.compute_s, self.arrival, self.late_by)
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
        """How many of `ranks` ranks all-reduce together."""
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
        """What a cell may say of groups; the first is what competes."""
        return (TOGETHER, ALONE) if self.groups else (NO_GROUPS,)

    @property
    def arrivals(self) -> tuple[str, ...]:
        """The arrival patterns with which each cell is measured, by their names in cells; that of nobody is first."""
        return (NO_ARRIVAL, *(name.rpartition("/")[2] for name in self.arrival))

    @property
    def pipelined(self) -> tuple[str, ...]:
        """Those of the executors that post messages ahead."""
        return tuple(name for name in self.executors if name in PIPELINED)

    def executors_of(self, algorithm: str) -> tuple[str, ...]:
        """What runs `algorithm`; the library's own is called from Python, compiled, or both, as the others are.

        Mock-ups are called from Python, and native is then, too, since they are compared with it.
        """
        if algorithm in MOCKUPS:
            return (MOCKUP,)
        if algorithm != NATIVE:
            return self.executors
        called = [COMPILED[0] if name in COMPILED else NATIVE for name in self.executors]
        called += [NATIVE] * any(name in MOCKUPS for name in self.algorithms)
        return tuple(dict.fromkeys(called))

    @property
    def competitors(self) -> list[str]:
        """What readers call the algorithms, each run by each of its executors, in the plan's order."""
        return [competitor_name(name, executor) for name in self.algorithms for executor in self.executors_of(name)]

    def planned_launches(self) -> list[Launch]:
        """All launches; the rank counts take turns, so that a drift of the machine touches all of them."""
        return [Launch(ranks, number) for number in range(1, self.launches + 1) for ranks in self.ranks]

    def cells(self, launch: Launch) -> list[Cell]:
        """The cells in the order in which `launch` measures them: random, but the same for the same seed.

        Mock-ups are measured as what competes without delays, since they are compared with that. Among them the floors;
        the one of no call does not depend on the size: it has one, the smallest.
        """
        cells, counts = [], [nbytes // self.itemsize for nbytes in self.sizes]
        ways = [(name, executor) for name in self.algorithms for executor in self.executors_of(name)]
        cuts = {cut.nbytes: cut.segment_nbytes for cut in self.cuts if cut.ranks == launch.ranks}
        for cache in self.caches:
            for name, executor in ways:
                kinds, arrivals, placements = self.group_kinds, self.arrivals, self.placement
                if executor == MOCKUP:
                    kinds, arrivals, placements = kinds[:1], arrivals[:1], placements[:1]
                window = self.window if executor in PIPELINED else None
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
            for name in FLOORS if self.floors else ():
                floor_counts = counts if name != "null" else [min(counts)]
                cells += [self.floor(name, count, cache) for count in floor_counts]
        random_numbers = splitmix64(crc32(f"{self.seed} {launch.name}".encode()), np.arange(len(cells)))
        return [cells[index] for index in random_numbers.argsort()]

    def floor(self, name: str, count: int, cache: str) -> Cell:
        """The cell of a reference time; its vectors lie at pages, since a slow copy would be none to hold against."""
        placement = UNKNOWN_PLACEMENT if self.placement == (UNKNOWN_PLACEMENT,) else PAGE
        return Cell(name, FLOOR, count, None, cache, self.group_kinds[0], placement=placement)

    def to_json(self) -> dict:
        """The plan as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: object) -> "Plan":
        """The plan that `to_json` gave. Raises PlanError for missing, unknown or odd fields."""
        try:
            return read_as(cls, {**LATER_FIELDS, **values} if isinstance(values, dict) else values, exact=True)
        except JsonError as error:
            raise PlanError(f"the plan: {error}") from error


class ImportedPlan(Plan):
    """The plan of imported logs. Logs are ragged: its cells are those of the marks, and none is planned."""

    def _refuse_arithmetic(self) -> None:
        """Type and operation are what the logs say; empty where they do not."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element; 1 where that is not known."""
        return DTYPES.get(self.dtype, 1)

    def cells(self, launch: Launch) -> list[Cell]:
        """None: nothing is left to be measured."""
        return []


def geometric_sizes(first: int, last: int, factor: float, itemsize: int = 1) -> tuple[int, ...]:
    """Sizes in bytes from `first` up to `last`, each `factor` times the one before, in whole elements.

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
    """The same segment at every size and number of ranks of the plan."""
    return tuple(Cut(ranks, nbytes, segment_nbytes) for ranks in plan.ranks for nbytes in plan.sizes)


def chosen_cuts(plan: Plan, prices: CutPrices) -> tuple[Cut, ...]:
    """The cuts of every size and number of ranks of the plan by these prices; messages without one go whole."""
    cuts = []
    for ranks in plan.ranks:
        for nbytes in plan.sizes:
            if segment_nbytes := chosen_segment_nbytes(nbytes / plan.group_size(ranks), prices):
                cuts.append(Cut(ranks, nbytes, segment_nbytes))
    return tuple(cuts)


def chosen_segment_nbytes(message_nbytes: float, prices: CutPrices) -> int | None:
    """Bytes of a segment of messages of `message_nbytes`; None: they go whole, fewer than FEWEST_PIECES are best."""
    per_byte = min(prices.beta_s_per_byte, prices.gamma_s_per_byte)
    best = sqrt(message_nbytes * prices.alpha_s / per_byte) if per_byte > 0 else inf
    nbytes = int(min(max(best, SHORTEST_NBYTES), LONGEST_NBYTES))
    nbytes -= nbytes % STEP_NBYTES
    return nbytes if message_nbytes >= FEWEST_PIECES * nbytes else None

"""Candidate all-reduces worth a trial at a shape: few, since each trial costs calls of the program around."""

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any, NamedTuple

from mpi4py import MPI

from ..algorithms import USUAL, builtin, find
from ..executing import native_datatype
from ..runs.competitor import COMPILED, NATIVE, PIPELINED, WAYS, competitor
from ..runs.dtypes import DTYPES
from ..runs.plan import (
    DEFAULT_SEGMENT_NBYTES,
    DEFAULT_WINDOW,
    FEWEST_PIECES,
    NOMINAL,
    OVER_A_LINK_NBYTES,
    chosen_segment_nbytes,
)
from ..schedule.algorithm import Algorithm, Topology
from .agreement import Shape

AUTO = "auto"
PYTHON = ("sendrecv", "pipelined")  # executors that need no compiler
SHORT_NBYTES = 64 * 1024  # for longer vectors the same steps from Python take as long as compiled, or less
MESSAGE_NBYTES = (512, 128 * 1024)  # latency as bytes: of a slow Ethernet, of a fast network
DEARER, MOST = 2.0, 4  # times the cheapest; algorithms beside native and hierarchical ones
OF_NODES = ("hierarchical_ring",)


class Candidate(NamedTuple):
    """One way to all-reduce a shape."""

    algorithm: str
    executor: str  # one of WAYS, or NATIVE for the library's own all-reduce
    segment: int | None = None  # elements
    window: int | None = None  # messages posted ahead

    @property
    def name(self) -> str:
        """Name for readers: `ring@pipelined`."""
        return self.algorithm if self.is_native else competitor(self.algorithm, self.executor)

    @property
    def is_native(self) -> bool:
        """Whether it is the library's own all-reduce."""
        return self.executor == NATIVE


def words_of(algorithm: Any) -> list[str]:
    """Return the names and paths that a program asked for, as one or several. Raises TypeError, ValueError."""
    if isinstance(algorithm, (str, PurePath)):
        return [str(algorithm)]
    try:
        words = list(map(str, algorithm))
    except TypeError:
        raise TypeError(
            f"Allreduce: algorithm is {algorithm!r:.40}; expected a name, a path or a list of these"
        ) from None
    if not words:
        raise ValueError("Allreduce: algorithm is an empty list; expected at least one name or path")
    return words


def algorithms_of(words: Sequence[str]) -> dict[str, Algorithm]:
    """Return the algorithms that `words` name, by name or path of a user's file; AUTO adds all that are not bounded.

    NATIVE is never among them. Raises AlgorithmError.
    """
    named = find([word for word in words if word not in (AUTO, NATIVE)], also=[AUTO, NATIVE])
    if AUTO not in words:
        return named
    return {name: algorithm for name, algorithm in builtin().items() if not algorithm.bounded} | named


def executors_here(comm: MPI.Comm, wanted: str) -> tuple[str, ...]:
    """Return the executors to try, the same on all ranks: `wanted`, or for AUTO the compiled ones if numba is there.

    Raises ValueError for an unknown one.
    """
    if wanted != AUTO:
        if wanted not in WAYS:
            names = ", ".join((AUTO, *WAYS))
            raise ValueError(f"Allreduce: unknown executor {wanted!r:.40}; known: {names}")
        return (wanted,)
    has_compiler = comm.allreduce(find_spec("numba") is not None, MPI.LAND)
    return (WAYS[0], *COMPILED) if has_compiler else PYTHON


def candidates(
    words: Sequence[str],
    algorithms: Iterable[Algorithm],
    executors: Sequence[str],
    shape: Shape,
    topology: Topology,
    over_slow_links: bool = False,
) -> list[Candidate]:
    """Return the candidates worth a trial, in the same order on all ranks; native is the first.

    With one rank or no element there is nothing to try. Named algorithms are tried wherever these ranks allow them.
    Over slow links messages are cut into short segments: see `runs.plan`.
    """
    size, found = len(topology.node_of), list[Candidate]()
    fitting = [algorithm for algorithm in algorithms if algorithm.unmet(size, topology) is None]
    if AUTO in words:
        named = [algorithm for algorithm in fitting if algorithm.name in words or algorithm.file]
        fitting = named + _promising([one for one in fitting if one not in named], shape, topology)
    if (AUTO in words or NATIVE in words) and native_datatype(shape.dtype) is not None:
        found.append(Candidate(NATIVE, NATIVE))
    found += [
        candidate for algorithm in fitting for candidate in _ways(algorithm, executors, shape, size, over_slow_links)
    ]
    if size == 1 or not shape.count:
        return [candidate for candidate in found if not candidate.is_native][:1] or found[:1]
    return found


def _ways(
    algorithm: Algorithm, executors: Sequence[str], shape: Shape, size: int, over_slow_links: bool
) -> Iterator[Candidate]:
    """Yield a candidate per executor; a pipelined one only if its messages are cut, or it is the only one."""
    itemsize = DTYPES[shape.dtype]
    cut_nbytes = chosen_segment_nbytes(shape.size_bytes / size, NOMINAL)
    own_nbytes = DEFAULT_SEGMENT_NBYTES
    if over_slow_links:
        own_nbytes = OVER_A_LINK_NBYTES
        cut_nbytes = OVER_A_LINK_NBYTES if shape.size_bytes / size >= FEWEST_PIECES * OVER_A_LINK_NBYTES else None
    own = own_nbytes // itemsize if algorithm.segmented else None
    for executor in executors:
        if executor == WAYS[0] and not {*COMPILED}.isdisjoint(executors) and shape.size_bytes > SHORT_NBYTES:
            continue
        if executor not in PIPELINED:
            yield Candidate(algorithm.name, executor, own)
        elif algorithm.segmented:
            if shape.size_bytes > DEFAULT_SEGMENT_NBYTES or len(executors) == 1:
                yield Candidate(algorithm.name, executor, own, DEFAULT_WINDOW)
        elif cut_nbytes or len(executors) == 1:
            yield Candidate(algorithm.name, executor, cut_nbytes and cut_nbytes // itemsize, DEFAULT_WINDOW)


def _promising(algorithms: Sequence[Algorithm], shape: Shape, topology: Topology) -> list[Algorithm]:
    """Return at most MOST that may be the fastest on some usual network, by their declared costs, one of each cost.

    Hierarchical ones are tried on several nodes, whatever they cost on equal links.
    """
    size, segment = len(topology.node_of), DEFAULT_SEGMENT_NBYTES // DTYPES[shape.dtype]
    with_nodes = [algorithm for algorithm in algorithms if algorithm.name in OF_NODES and len(topology.nodes) > 1]
    others = [algorithm for algorithm in algorithms if algorithm.name not in OF_NODES]
    least: dict[str, float] = {}  # name -> its least cost relative to the cheapest
    for nbytes_of_message in MESSAGE_NBYTES:
        costs = [algorithm.cost(size, topology, shape.count, segment) for algorithm in others]
        prices = [cost.messages * nbytes_of_message + cost.elements * DTYPES[shape.dtype] for cost in costs]
        for algorithm, price in zip(others, prices):
            ratio = price / max(1.0, min(prices))
            least[algorithm.name] = min(ratio, least.get(algorithm.name, ratio))
    others = [algorithm for algorithm in others if least[algorithm.name] <= DEARER]
    one_of_each: dict[tuple[int, int], Algorithm] = {}  # of those that cost the same, first the usual ones
    for algorithm in sorted(others, key=lambda algorithm: algorithm.name not in USUAL):
        one_of_each.setdefault(algorithm.cost(size, topology, shape.count, segment)[:2], algorithm)
    return with_nodes + sorted(one_of_each.values(), key=lambda algorithm: least[algorithm.name])[:MOST]

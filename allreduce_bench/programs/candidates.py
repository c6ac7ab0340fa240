"""Candidates of a trial: few, since each costs calls of the program around."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from ..algorithms import find
from ..executing import native_datatype
from ..runs.competitor import NATIVE, PIPELINED, WAYS, competitor
from ..runs.cuts import NOMINAL, chosen_segment_nbytes
from ..runs.dtypes import DTYPES
from ..runs.plan import DEFAULT_SEGMENT_NBYTES, DEFAULT_WINDOW
from ..schedule.algorithm import Algorithm, Topology
from .agreement import Shape

AUTO = "auto"
TRIED = ("ring", "recursive_doubling", "rabenseifner")  # by AUTO, beside native
PYTHON = ("sendrecv", "pipelined")  # executors that need no compiler


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
    """Return the algorithms that `words` name, by name or path of a user's file; AUTO stands for TRIED.

    NATIVE is never among them. Raises AlgorithmError.
    """
    named = [word for word in words if word not in (AUTO, NATIVE)]
    usual = [name for name in TRIED if AUTO in words and name not in named]
    return find([*named, *usual], also=[AUTO, NATIVE])


def find_executors(wanted: str) -> tuple[str, ...]:
    """Return the executors to try: `wanted`, for AUTO those that need no compiler. Raises ValueError."""
    if wanted == AUTO:
        return PYTHON
    if wanted not in WAYS:
        names = ", ".join((AUTO, *WAYS))
        raise ValueError(f"Allreduce: unknown executor {wanted!r:.40}; known: {names}")
    return (wanted,)


def candidates(
    words: Sequence[str],
    algorithms: Iterable[Algorithm],
    executors: Sequence[str],
    shape: Shape,
    topology: Topology,
) -> list[Candidate]:
    """Return the candidates of a trial, in the same order on all ranks; native is the first.

    Of an algorithm that is named all executors are tried, of those of AUTO the last that fits. With one rank or no
    element there is nothing to try.
    """
    size, found = len(topology.node_of), list[Candidate]()
    if (AUTO in words or NATIVE in words) and native_datatype(shape.dtype) is not None:
        found.append(Candidate(NATIVE, NATIVE))
    for algorithm in algorithms:
        if algorithm.unmet(size, topology) is None:
            ways = [*_list_ways(algorithm, executors, shape, size)]
            found += ways if algorithm.name in words or algorithm.file else ways[-1:]
    if size == 1 or not shape.count:
        return [candidate for candidate in found if not candidate.is_native][:1] or found[:1]
    return found


def _list_ways(algorithm: Algorithm, executors: Sequence[str], shape: Shape, size: int) -> Iterator[Candidate]:
    """Yield a candidate per executor; a pipelined one only if its messages are cut, or it is the only one."""
    itemsize = DTYPES[shape.dtype]
    cut_nbytes = chosen_segment_nbytes(shape.size_bytes / size, NOMINAL)
    own = DEFAULT_SEGMENT_NBYTES // itemsize if algorithm.segmented else None
    for executor in executors:
        if executor not in PIPELINED:
            yield Candidate(algorithm.name, executor, own)
        elif algorithm.segmented:
            if shape.size_bytes > DEFAULT_SEGMENT_NBYTES or len(executors) == 1:
                yield Candidate(algorithm.name, executor, own, DEFAULT_WINDOW)
        elif cut_nbytes or len(executors) == 1:
            yield Candidate(algorithm.name, executor, cut_nbytes and cut_nbytes // itemsize, DEFAULT_WINDOW)

"""Competitors: an algorithm, and perhaps the way its steps are run, as one word of options, plans, files and tables.

`ring`, `ring@pipelined`, `ring@pipelined:256K` (cut into segments of 256 KiB), `native`, `native@compiled`,
`native:ring` (the library told to use its ring), `native:reduce+bcast`, `gloo`, `floor:copy` (a reference time). In an
imported run a name is what its log says, and only that.
"""

import re
from functools import cached_property

from ..units import parse_size, short_size, unknown_word

WAYS = ("sendrecv", "pipelined", "compiled", "compiled-pipelined")  # the first: where a name has none
PIPELINED = WAYS[1::2]  # those that cut steps, and post messages ahead
COMPILED = WAYS[2:]  # those that call MPI without the interpreter
WITH_WAY = re.compile(rf"(.+)@((?:{'|'.join(WAYS)})(?::\d+[KMG]?)?)", re.DOTALL)
NATIVE = "native"  # the library's own all-reduce
NATIVES = (NATIVE, f"{NATIVE}@{COMPILED[0]}")  # called from Python, and compiled
FORCED_PREFIX = f"{NATIVE}:"
FORCED_DEFAULT = f"{FORCED_PREFIX}default"  # the library's own choice, in the launches of forced algorithms
FORCED_ALL = f"{FORCED_PREFIX}all"  # the word for that and every algorithm that the library has
MOCKUPS = {  # competitor -> the MPI functions, in order, that make an all-reduce
    "native:reduce+bcast": ("MPI_Reduce", "MPI_Bcast"),
    "native:reduce_scatter_block+allgather": ("MPI_Reduce_scatter_block", "MPI_Allgather"),
    "native:reduce_scatter+allgatherv": ("MPI_Reduce_scatter", "MPI_Allgatherv"),
}
GUIDELINES = "guidelines"  # the word for native and all mock-ups
GLOO = "gloo"  # Gloo's all-reduce through torch.distributed
FLOOR_PREFIX = "floor:"  # of reference times


class Competitor(str):
    """The name of a competitor, with its parts."""

    @cached_property
    def _parts(self) -> tuple[str, str]:
        match = WITH_WAY.fullmatch(self)
        return (match[1], match[2]) if match else (str(self), "")

    @property
    def algorithm(self) -> str:
        """The name without the way: `ring`, `native`, `native:ring`."""
        return self._parts[0]

    @property
    def way(self) -> str:
        """One of WAYS; the first where the name has none."""
        return self._parts[1].partition(":")[0] or WAYS[0]

    @property
    def segment_nbytes(self) -> int | None:
        """Bytes of the segments into which the steps are cut; None: the name does not say."""
        size = self._parts[1].partition(":")[2]
        return parse_size(size) if size else None

    @property
    def is_ours(self) -> bool:
        """Whether it runs the steps of an algorithm."""
        return not (self.is_native or self.is_gloo or self.startswith((FORCED_PREFIX, FLOOR_PREFIX)))

    @property
    def is_pipelined(self) -> bool:
        """Whether it cuts steps into segments, and posts messages ahead."""
        return self.way in PIPELINED

    @property
    def is_compiled(self) -> bool:
        """Whether it calls MPI without the interpreter."""
        return self.way in COMPILED

    @property
    def is_native(self) -> bool:
        """Whether it is the library's own all-reduce by its own choice, from Python or compiled."""
        return self.algorithm == NATIVE

    @property
    def is_mockup(self) -> bool:
        """Whether it composes an all-reduce of other operations of the library."""
        return self in MOCKUPS

    @property
    def is_forced(self) -> bool:
        """Whether it is the library's own all-reduce in launches in which the library is told what to use."""
        return self.startswith(FORCED_PREFIX) and not self.is_mockup

    @property
    def is_gloo(self) -> bool:
        """Whether it is the all-reduce of Gloo, which is no MPI."""
        return self == GLOO

    @property
    def is_reference(self) -> bool:
        """Whether it is a reference time instead of an all-reduce."""
        return self.startswith(FLOOR_PREFIX)

    @property
    def native_beside(self) -> str:
        """The native called the same way, from Python or compiled: the baseline of its speed-up."""
        return NATIVES[self.is_compiled]


def competitor(algorithm: str, way: str = WAYS[0]) -> Competitor:
    """Return the competitor of an algorithm run this way, with a segment in the shortest words: one has one name."""
    word, colon, size = way.partition(":")
    return Competitor(
        algorithm if word == WAYS[0] else f"{algorithm}@{word}{colon}{size and short_size(parse_size(size))}"
    )


def split_way(text: str) -> tuple[str, str]:
    """Return algorithm and way of a competitor as a user writes it; the way is empty where there is none.

    The text after the last @ is a way; a path may hold an @ of its own. Raises ValueError for what is no way, and for a
    way that the library's algorithms and Gloo do not have.
    """
    algorithm, at, way = text.rpartition("@")
    word, colon, size = way.partition(":")
    if not at or word not in WAYS and ("/" in way or text.endswith(".py")):
        return text, ""
    if not algorithm:
        raise ValueError(f"'{text}' names no algorithm; expected such as ring{text}")
    if word not in WAYS:
        raise ValueError(f"'{text}': {unknown_word('way', word, WAYS)}")
    if colon and word not in PIPELINED:
        raise ValueError(f"'{text}': a segment belongs to {' and '.join(PIPELINED)}; leave out ':{size}'")
    if algorithm == NATIVE and word not in (WAYS[0], COMPILED[0]):
        raise ValueError(f"'{text}': the library's own all-reduce is called from Python or compiled; use {NATIVES[1]}")
    if algorithm in (GLOO, GUIDELINES) or algorithm.startswith(FORCED_PREFIX):
        raise ValueError(f"'{text}': {algorithm} is called from Python only; leave out '@{way}'")
    if colon and parse_size(size) < 1:
        raise ValueError(f"'{text}': a segment holds at least one element, found 0 bytes")
    if "@" in algorithm and algorithm.rpartition("@")[2].partition(":")[0] in WAYS:
        raise ValueError(f"'{text}' has two ways; name two competitors, such as ring,ring@{word}")
    return algorithm, way

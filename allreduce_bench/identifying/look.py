"""What is asked of ranks and what they saw, as lines of JSON between processes."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..machine import Reading
from .order import Order, Span

MARK = "allreduce-bench which: "  # of the line with what was seen
MONITORING = {"OMPI_MCA_pml": "^ucx,cm", "OMPI_MCA_pml_monitoring_enable": "1"}  # variables of a launch that counts


class Asked(NamedTuple):
    """What is to be looked at."""

    sizes: Sequence[int]  # bytes
    names: Sequence[str] = ()  # variables whose values are read
    counts: bool = False  # whether messages are counted
    bisects: bool = False  # whether switches are found
    forced: Sequence[str] = ()  # algorithms that the library is told to use, `native:ring`, looked at beside its own
    within_s: float | None = None  # no further size is begun where this would not suffice; None: no limit
    share: float = 0.0  # of a size, to which a switch is bisected; 0: to an element
    bisecting_s: float | None = None  # seconds for all bisections; None: no limit


def middle(low: int, high: int, itemsize: int, share: float) -> int | None:
    """Return a size between two, whole elements; None: they are nearer than `share` of the lower one.

    It is a multiple of a power of two, where libraries switch.
    """
    step = max(itemsize, 1 << int(share * low).bit_length() >> 1)
    size_bytes = (low + high) // 2 // step * step
    return next((size for size in (size_bytes, size_bytes + step) if low < size < high), None)


Table = list[list[int]]  # from each rank to each: table[source][dest]


class Traffic(NamedTuple):
    """Messages and bytes of one call."""

    messages: Table
    size_bytes: Table

    @property
    def total(self) -> int:
        """Return the bytes of all messages."""
        return sum(map(sum, self.size_bytes))

    def among(self, ranks: Sequence[int]) -> "Traffic":
        """Return what these ranks sent each other."""
        return Traffic(*([[table[source][dest] for dest in ranks] for source in ranks] for table in self))


class Seen(NamedTuple):
    """What was seen of one size."""

    order: Order  # empty: it has too many parts
    messages: Traffic | None = None


class Look(NamedTuple):
    """What one launch showed."""

    library: str
    hosts: list[str]  # of each rank
    dtype: str
    seen: dict[int, Seen]  # size in bytes -> what was seen
    switches: list[int]  # sizes from which on it differs from the next smaller one
    not_counted: str  # why; empty: it was counted, or not asked for
    readings: dict[str, Reading]  # of rank 0
    forced: dict[str, dict[int, Seen]]  # algorithm -> the same, without sizes at which the library cannot

    @property
    def itemsize(self) -> int:
        """Return the bytes of an element."""
        return np.dtype(self.dtype).itemsize


def to_json(seen: Look) -> str:
    """Return what was seen as one line."""
    return json.dumps(seen)


def from_json(text: str) -> Look:
    """Read what `to_json` wrote."""
    library, hosts, dtype, seen, switches, not_counted, readings, forced = json.loads(text)
    of_names = {name: Reading(*reading) for name, reading in readings.items()}
    of_forced = {name: _sizes(sizes) for name, sizes in forced.items()}
    return Look(library, hosts, dtype, _sizes(seen), switches, not_counted, of_names, of_forced)


def _sizes(seen: dict[str, Any]) -> dict[int, Seen]:
    sizes = {}
    for size_bytes, (order, messages) in seen.items():
        spans = tuple(Span(start, stop, _trees(trees)) for start, stop, trees in order)
        sizes[int(size_bytes)] = Seen(spans, Traffic(*messages) if messages else None)
    return sizes


def _trees(value: Any) -> Any:
    return tuple(map(_trees, value)) if isinstance(value, list) else value

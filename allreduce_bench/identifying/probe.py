"""What ranks do: `python -m allreduce_bench.identifying.probe ASKED`, the library's own all-reduce, seen from outside.

The calls are MPI_Allreduce of floats with MPI_SUM, of each size one for every pair of ranks that tells something (see
`order`). Where it is asked, the messages of a call are counted too (see `counting`), the same is seen where the library
is told to use an algorithm, and where the order or the messages of two sizes differ, the size at which they change is
found by bisection. Rank 0 prints what was seen as one line of JSON.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..executing import Unsupported
from ..executing.forced import forced_to, native_forced
from ..executing.mpi_t import NoControl, read_back
from ..executing.native import native
from ..machine.mpi import library_name
from ..machine.node import host
from ..runs.competitor import NATIVE
from .counting import NotCounted, counted
from .look import MARK, Asked, Look, Seen, Traffic, middle, to_json
from .order import Order, Pair, Runs, dtype_for, input_of, joined, pairs_to_ask, trees_from_outside

MOST_SPANS = 4096  # of an order that is passed on
SCALES_FROM = 64 * 1024  # bytes; below, a size takes no less time than this


class Size(NamedTuple):
    """What is looked at in one go."""

    comm: MPI.Comm  # that the library calls on
    algorithm: str  # NATIVE, or the one that it is told to use on `comm`
    size_bytes: int


See = Callable[[Size], Seen | None]  # None: the library cannot, or there is no time
Middle = Callable[[int, int], int | None]  # a size between two; None: they are near enough


def look(comm: MPI.Comm, asked: Asked) -> Look | None:
    """Look at the sizes; all ranks call, rank 0 gets what was seen."""
    library, dtype = library_name(MPI.Get_library_version()), dtype_for(comm.size)
    hosts = comm.allgather(host())
    try:
        readings = read_back([*asked.names]) if asked.names else {}
    except NoControl:
        readings = {}
    failures: list[str] = []

    def see(size: Size) -> Seen | None:
        return _seen(size, dtype, asked.counts and not failures, failures)

    see_in_time = _in_time(comm, asked.within_s, see)
    seen = _sizes(comm, NATIVE, asked.sizes, see_in_time)
    forced = {name: _forced(comm, name, asked.sizes, len({*hosts}), see_in_time) for name in asked.forced}
    middle_of = partial(middle, itemsize=np.dtype(dtype).itemsize, share=asked.share)
    see_in_time = _in_time(comm, asked.bisecting_s, see_in_time)
    switches = _switches(comm, seen, middle_of, see_in_time) if asked.bisects else []
    if comm.rank:
        return None
    return Look(library, hosts, dtype, seen, switches, failures[0] if failures else "", readings, forced)


def _in_time(comm: MPI.Comm, within_s: float | None, see: See) -> See:
    """Return `see`, that sees nothing more once the next size, at the rate of the last ones, would take too long."""
    begun, rate_s = time.monotonic(), 0.0  # seconds per byte

    def see_or_not(size: Size) -> Seen | None:
        nonlocal rate_s
        start = time.monotonic()
        if within_s is not None and comm.bcast(start - begun + rate_s * size.size_bytes > within_s):
            return None
        found = see(size)
        rate_s = (time.monotonic() - start) / max(size.size_bytes, SCALES_FROM)
        return found

    return see_or_not


def _sizes(comm: MPI.Comm, algorithm: str, sizes: Sequence[int], see: See) -> dict[int, Seen]:
    found = {size_bytes: see(Size(comm, algorithm, size_bytes)) for size_bytes in sizes}
    return {size_bytes: seen for size_bytes, seen in found.items() if seen}


def _forced(comm: MPI.Comm, algorithm: str, sizes: Sequence[int], nodes: int, see: See) -> dict[int, Seen]:
    """Look at the sizes where the library is told to use an algorithm; empty: it cannot."""
    try:
        with forced_to(algorithm, comm, nodes) as made:
            return _sizes(made, algorithm, sizes, see)
    except Unsupported:
        return {}


def order_seen(comm: MPI.Comm, given: np.ndarray, result: np.ndarray, call: Callable[[], object]) -> Order:
    """Return on rank 0 the order of additions of `call`, a sum of `given` into `result`; empty: of too many parts."""
    came_back: dict[Pair, Runs] = {}
    asked = pairs_to_ask(came_back, comm.size)
    while asked:
        for pair in asked:
            given.fill(input_of(comm.rank, pair, given.dtype.name))
            call()
            came_back[pair] = Runs.of(result)
        asked = sorted(set().union(*comm.allgather(pairs_to_ask(came_back, comm.size))))
    starts, trees = trees_from_outside(came_back, comm.size)
    of_ranks = comm.gather((starts, trees) if len(starts) <= MOST_SPANS else None)
    of_all = [one for one in of_ranks or [] if one]
    return joined(of_all, given.size) if len(of_all) == comm.size else ()


def _seen(size: Size, dtype: str, counts: bool, failures: list[str]) -> Seen | None:
    """Look at one size: the order on rank 0, and its messages."""
    comm, count = size.comm, size.size_bytes // np.dtype(dtype).itemsize
    given, result = np.zeros(count, dtype), np.empty(count, dtype)
    bind = native if size.algorithm == NATIVE else partial(native_forced, size.algorithm)
    try:
        bound = bind(given, result, comm, "sum")
    except Unsupported:
        return None
    order = order_seen(comm, given, result, bound.run)
    messages = _messages(comm, bound.run, failures) if counts else None
    bound.close()
    return Seen(order, messages)


def _messages(comm: MPI.Comm, call: Callable[[], object], failures: list[str]) -> Traffic | None:
    """Count the messages of a call; None: some rank could not, and `failures` says why."""
    try:
        own, why = counted(comm, call), ""
    except NotCounted as error:
        own, why = None, str(error)
    everyone = comm.allgather(own)
    if None in everyone:
        failures.append(why)
        return None
    return Traffic(*map(list, zip(*everyone)))


def _switches(comm: MPI.Comm, seen: dict[int, Seen], middle_of: Middle, see: See) -> list[int]:
    """Find where what is seen changes between the sizes looked at; add the sizes on both sides of it."""
    found = []
    for low, high in zip(sorted(seen), sorted(seen)[1:]):
        if not comm.bcast(_differ(seen[low], seen[high]) if comm.rank == 0 else None):
            continue
        while (size_bytes := middle_of(low, high)) is not None and (of_middle := see(Size(comm, NATIVE, size_bytes))):
            seen[size_bytes] = of_middle
            if comm.bcast(_differ(seen[low], of_middle) if comm.rank == 0 else None):
                high = size_bytes
            else:
                low = size_bytes
        found.append(high)
    return found


def _differ(one: Seen, other: Seen) -> bool:
    """Return whether trees, or the messages between ranks, differ; how long spans are is no difference."""
    if {span.trees for span in one.order} != {span.trees for span in other.order}:
        return True
    return bool(one.messages and other.messages and one.messages.messages != other.messages.messages)


def main() -> None:
    """Look at what the last argument asks for; rank 0 prints what was seen, before MPI ends."""
    asked = Asked(*json.loads(sys.argv[-1]))
    try:
        seen = look(MPI.COMM_WORLD, asked)
    except Exception as error:  # whatever it is, the other ranks must not wait for this one
        print(" ".join(str(error).split()) or type(error).__name__, file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)
    else:
        if seen is not None:
            print(MARK + to_json(seen), flush=True)


if __name__ == "__main__":
    main()

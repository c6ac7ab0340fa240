"""The library's own all-reduce by an algorithm that it is told to use, on a communicator of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from mpi4py import MPI

from ..machine.mpi import library_name
from ..runs.competitor import FORCED_DEFAULT
from ..runs.library_algorithms import NotForced, least_count, settings_of
from . import Prepared, Unsupported
from .mpi_t import NoControl, forced
from .native import native


@contextmanager
def forced_to(algorithm: str, comm: MPI.Comm, nodes: int) -> Iterator[MPI.Comm]:
    """Yield a duplicate of `comm` on which the library takes `algorithm`, `native:ring`, until the end.

    `native:default` leaves it its choice; `nodes` are those of the launch. Raises Unsupported on all ranks where the
    library does not.
    """
    library = library_name(MPI.Get_library_version())
    try:
        settings = {} if algorithm == FORCED_DEFAULT else settings_of(algorithm, library, nodes)
    except NotForced as error:
        raise Unsupported(str(error)) from error
    with _refusals(algorithm), forced(comm, settings) as made:
        yield made


def native_forced(algorithm: str, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """Bind the library's own all-reduce on the communicator of `forced_to`, and try it once. Raises Unsupported.

    MPICH refuses a call for which the algorithm is not made, such as fewer elements than ranks: all ranks alike.
    Open MPI would take another algorithm.
    """
    library = library_name(MPI.Get_library_version())
    least = least_count(algorithm, library, comm.size, sendbuf.itemsize)
    if sendbuf.size < least:
        raise Unsupported(f"below {least} elements {library} would take another algorithm")
    call = native(sendbuf, recvbuf, comm, op)
    try:
        call.run()
    except MPI.Exception as error:
        call.close()
        raise Unsupported(
            f"{library} refuses this call by this algorithm, such as one of fewer elements than ranks"
        ) from error
    return call


@contextmanager
def _refusals(algorithm: str) -> Iterator[None]:
    try:
        yield
    except NoControl as error:
        raise Unsupported(f"{algorithm} was not set: {error}") from error

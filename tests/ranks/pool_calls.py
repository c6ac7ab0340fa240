"""Ways in which a call of a pool's ranks ends."""

import os
import time

from mpi4py import MPI


def pids(comm: MPI.Comm) -> list[int]:
    """Return the processes of all ranks."""
    return comm.allgather(os.getpid())


def add(comm: MPI.Comm, number: int) -> tuple[int, int]:
    """Return the rank, and the sum of the number over the ranks."""
    return comm.rank, comm.allreduce(number)


def leave_a_communicator(comm: MPI.Comm) -> int:
    """Return the process; what is duplicated here is never freed."""
    comm.Dup()
    return os.getpid()


def raise_on_rank_1(comm: MPI.Comm) -> None:
    """Raise there, while the others wait for it."""
    if comm.rank == 1:
        raise KeyError("lost")
    comm.Barrier()


def die_on_rank_1(comm: MPI.Comm) -> None:
    """End the process there, while the others wait for it."""
    if comm.rank == 1:
        print("its last words", flush=True)
        os._exit(3)
    comm.Barrier()


def sleep_on_rank_1(comm: MPI.Comm) -> None:
    """Sleep there, while the others wait for it."""
    if comm.rank == 1:
        time.sleep(600)
    comm.Barrier()

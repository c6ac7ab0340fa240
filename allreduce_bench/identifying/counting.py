"""Messages and bytes that one call sends, as Open MPI counts them below its collectives.

Open MPI counts in the layer of point-to-point messages, its pml, where it was started with the variables of MONITORING:
each message when it is posted, by the rank in MPI_COMM_WORLD that it goes to, whatever its communicator. Only
MPI_COMM_WORLD can be asked. Copies through memory that ranks share, as of the components sm and xhc, pass no pml and
are not seen, nor is what a network adds up.

So the messages inside the communicators that han makes below one, in a node and between nodes, are counted with all
others and look no different. Over two nodes of two ranks, han's first rank of a node got the other's vector, the first
ranks exchanged, and gave the sum back: 1 MiB in pieces of 64 KiB (coll_han_allreduce_segsize), between nodes of 64 KiB
one way and of 8 KiB the other (libnbc). han makes these communicators at its first call, with messages of their own,
which is why the call is made once before.

Counting takes time: in a launch of its own that is not timed. MONITORING shuts out the pml of UCX and of matching
networks, since those were seen to be named beside the one that runs; what is counted is the algorithm over ob1.

Over several nodes count on MPI_COMM_WORLD, and write the result before MPI ends: Open MPI 5.0.11 crashes where a second
communicator on which han worked is freed, or MPI finalized, while its pml is monitored (seen over four ranks on two
virtual hosts; without monitoring, on one node, or with one communicator it does not).
"""

from collections.abc import Callable
from typing import NamedTuple

from mpi4py import MPI

from ..executing.mpi_t import Control, NoControl
from ..machine.mpi import library_name
from .look import MONITORING

COUNTERS = ["pml_monitoring_messages_count", "pml_monitoring_messages_size"]


class NotCounted(RuntimeError):
    """This library does not count messages, or was not started so that it does."""


class Counted(NamedTuple):
    """What this rank sent in one call."""

    messages: list[int]  # by the rank of `comm` that they went to
    size_bytes: list[int]


def counted(comm: MPI.Comm, call: Callable[[], object]) -> Counted:
    """Make a call on `comm` twice, and return what this rank sent in the second one. Raises NotCounted.

    All ranks of `comm` call; each counts its own messages.
    """
    library = library_name(MPI.Get_library_version())
    if not library.startswith("Open MPI"):
        raise NotCounted(f"{library} does not count messages: only Open MPI does")
    try:
        with Control() as control, control.counters(MPI.COMM_WORLD, COUNTERS) as read:
            call()
            before = read()
            call()
            after = read()
    except NoControl as error:
        settings = " ".join(f"{name}={value}" for name, value in MONITORING.items())
        raise NotCounted(f"messages were not counted ({error}); start {library} with {settings}") from error
    world = _world_ranks(comm)
    return Counted(*([new[rank] - old[rank] for rank in world] for old, new in zip(before, after)))


def _world_ranks(comm: MPI.Comm) -> list[int]:
    """Return the ranks in MPI_COMM_WORLD of the ranks of `comm`."""
    own, world = comm.Get_group(), MPI.COMM_WORLD.Get_group()
    ranks = MPI.Group.Translate_ranks(own, list(range(comm.size)), world)
    own.Free()
    world.Free()
    return list(ranks)

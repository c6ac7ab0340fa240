"""A file of choices for all ranks: rank 0 reads it and is asked, the others hear what it found, or why it failed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mpi4py import MPI

from ..schedule.topology import Topology
from .agreement import Shape
from .choices import Chosen, Lookup, OwnFile, lookup_of


class ChoiceFile:
    """What a program names as `choice`. All ranks make it and ask it together; all raise the same errors."""

    def __init__(self, comm: MPI.Comm, path: Path, own: Mapping[str, OwnFile]):
        """`own`: the files of algorithms that the program names. Raises ValueError."""
        self.path, self._lookup = path, list[Lookup]()
        _on_rank_0(comm, path, lambda: self._lookup.append(lookup_of(path, own)))

    def chosen(self, comm: MPI.Comm, shape: Shape, topology: Topology) -> Chosen | None:
        """Return what it says of a shape; None: nothing of so many ranks. Raises ValueError."""
        return _on_rank_0(comm, self.path, lambda: self._lookup[0](shape, topology))


def _on_rank_0(comm: MPI.Comm, path: Path, work: Callable[[], Any]) -> Any:
    """Run `work` on rank 0 and broadcast its result. Raises ValueError on all ranks, whatever it raises there."""
    found, refusal = None, ""
    if comm.rank == 0:
        try:
            found = work()
        except (ValueError, OSError) as error:
            refusal = str(error)
        except Exception as error:
            refusal = f"{path}: cannot be used as choices: {type(error).__name__}: {error}"
    found, refusal = comm.bcast((found, refusal))
    if refusal:
        raise ValueError(f"Allreduce: {' '.join(refusal.split())}")
    return found

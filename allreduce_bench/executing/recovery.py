"""What survivors of a lost rank do together by ULFM (User-Level Failure Mitigation, MPIX_Comm_revoke, agree, shrink).

Work on a communicator ends with an agreement whether it succeeded on all ranks, so that no rank goes on with a result
that others do not have. Where it did not, the communicator is revoked, which ends the calls of those who still wait on
it, and shrunk to the survivors, who do the work again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpi4py import MPI

from ..machine.mpi import library_name

ENABLED = "OMPI_MCA_mpi_ft_enable"  # set by `mpirun --with-ft ulfm` for its ranks

Mark = Callable[[str], None]  # called at the end of each phase: notice, revoke, agree, shrink


def why_unavailable(environ: Mapping[str, str]) -> str:
    """Return why these ranks cannot outlive one of them by ULFM; empty: they can."""
    if len({MPI.ERR_PROC_FAILED, MPI.ERR_REVOKED, MPI.ERR_UNKNOWN}) < 3:
        return f"{library_name(MPI.Get_library_version())} has no ULFM, so its ranks end with the one that is lost"
    return (
        ""
        if environ.get(ENABLED) in ("1", "true")
        else "ULFM is off in this launch: start the ranks with mpirun --with-ft ulfm"
    )


def is_loss(error: MPI.Exception) -> bool:
    """Return whether an error of MPI says that a rank is gone, or that another rank noticed that."""
    return error.Get_error_class() in (MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_REVOKED)


def agreed(
    comm: MPI.Intracomm,
    work: Callable[[], object],
    others: Callable[[], Sequence[MPI.Comm]] = lambda: (),
    mark: Mark = lambda phase: None,
) -> bool:
    """Do `work`, on all ranks of `comm`; return whether it succeeded on all, the same on every survivor.

    If it did not, `comm` is revoked, and so are the `others` on which the work communicates.
    """
    try:
        work()
        succeeded = True
    except MPI.Exception as error:
        if not is_loss(error):
            raise
        succeeded = False
        _revoke(comm, others, mark)
    try:
        is_agreed = bool(comm.Agree(int(succeeded)))
    except MPI.Exception as error:  # raised on all survivors, or on none
        if not is_loss(error):
            raise
        is_agreed = False
    if not is_agreed:
        if succeeded:  # here; others did not
            _revoke(comm, others, mark)
        mark("agree")
    return is_agreed


def _revoke(comm: MPI.Comm, others: Callable[[], Sequence[MPI.Comm]], mark: Mark) -> None:
    mark("notice")
    for one in (comm, *others()):
        one.Revoke()
    mark("revoke")


def shrunk(comm: MPI.Intracomm, mark: Mark = lambda phase: None) -> tuple[MPI.Intracomm, tuple[int, ...]]:
    """Return the communicator of the survivors of `comm`, and the ranks of `comm` that are gone; on all survivors."""
    survivors: Any = comm.Shrink()
    before, after = comm.Get_group(), survivors.Get_group()
    gone = MPI.Group.Difference(before, after)
    lost = MPI.Group.Translate_ranks(gone, range(gone.size), before) if gone.size else []
    for group in (before, after, gone):
        if group != MPI.GROUP_EMPTY:
            group.Free()
    mark("shrink")
    return survivors, tuple(sorted(lost))

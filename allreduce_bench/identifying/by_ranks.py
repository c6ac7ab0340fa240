"""What the library ran in a run, looked at by the ranks that have measured it: the order of additions."""

from mpi4py import MPI

from ..runs.folder import RunFolder
from ..runs.identified import file_of, keep_identified
from ..runs.plan import Plan
from .launch import findings
from .of_run import SHARE, asked_of, identified
from .probe import look


def identify_here(comm: MPI.Comm, folder: RunFolder, plan: Plan, timeout_s: float, left_s: float) -> None:
    """Look with all ranks of `comm` as far as there is time; rank 0 keeps what is found, unless it is known.

    `left_s` is that of rank 0.
    """
    within_s = min(SHARE * timeout_s, left_s)
    asked = asked_of(plan, comm.size, within_s)
    if asked is None or not comm.bcast(within_s > 0 and not file_of(folder, comm.size).exists()):
        return
    seen = look(comm, asked)
    if seen is not None:
        keep_identified(folder, identified(findings(seen, None), seen.library))

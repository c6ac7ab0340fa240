"""Start of a launch's ranks, as whoever started them wants it: which run and launch, who watches, what follows.

`measuring.command` has the start by this suite's `run`, `cli.run_as_rank` the start by mpirun or srun.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..runs.folder import RunFolder
from ..runs.plan import Launch, Plan
from ..watching.lifeline import WarningFlag
from ..watching.progress import LaunchPosition
from ..watching.watch import Watch

if TYPE_CHECKING:
    from mpi4py import MPI  # importing it would start MPI

Opened = tuple[RunFolder, Plan, Launch | None]  # None: nothing left to measure


class RefusedLaunch(Exception):
    """Error: this launch must not be measured; raised on all ranks, before anything of it is written."""


@dataclass(kw_only=True)
class StartedRanks:
    """Ranks of one launch. Rank 0 alone opens and finishes the run, and touches files."""

    command: str
    position: LaunchPosition
    skip_hung: bool
    transport: str | None  # reported by the MPI; rank 0 only
    warning: WarningFlag  # the launch ends after the current cell; rank 0's flag decides
    watch: Watch | None = None  # None: the ranks have to watch themselves

    def open_run(self) -> Opened:
        """Return the run, its plan and the launch of these ranks. Raises ValueError, OSError."""
        raise NotImplementedError

    def watch_ranks(self, comm: "MPI.Comm", folder: RunFolder, launch: Launch, on_one_node: bool) -> Watch:
        """Return the watch of ranks that no parent process watches. Collective."""
        raise NotImplementedError

    def look_at_library(self, comm: "MPI.Comm", folder: RunFolder, plan: Plan) -> None:
        """Look at what the library runs, after the last cell. Collective."""

    def finish_run(self, folder: RunFolder, plan: Plan) -> str:
        """Print what was measured if nobody else does; return why the run failed, empty: it did not."""
        return ""

"""The mpirun of an MPI that is neither Open MPI nor MPICH: it is told the number of ranks and nothing else."""

import shlex

from ..start import Start
from .launcher import Launcher, refuse, with_variables


def command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """The command that starts `ranks` ranks. Raises LaunchError, InterfaceError."""
    names = ("hosts", "remote_shell", "ranks_per_node", "map_by", "bind_to")
    refuse(start, names, f"the mpirun of {launcher.library}", "say it in its own words by --launcher-args")
    words = [launcher.program, "-n", str(ranks), *shlex.split(start.launcher_args)]
    return [*words, *with_variables(start, program)]

"""MPICH's mpirun, Hydra."""

import os
import shlex

from ...runs.hosts import slots_for
from ...runs.start import Start
from ..interface_variables import interface_variables
from ..launcher import Launcher, remote_shell


def command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """The command that starts `ranks` ranks. Raises LaunchError, InterfaceError.

    Hydra takes its whole environment to the ranks, so that nothing need be said about variables.
    """
    argv = [launcher.program, "-n", str(ranks)]
    if start.hosts:
        slots = slots_for(start.hosts, ranks, start.ranks_per_node)
        argv += ["-hosts", ",".join(f"{name}:{number}" for name, number in slots)]
        if agent := remote_shell(start):
            argv += ["-launcher", "ssh", "-launcher-exec", agent[0]]
            argv = [*_extra_arguments(agent[1:]), *argv]
    if start.ranks_per_node:
        argv += ["-ppn", str(start.ranks_per_node)]
    if start.map_by:
        argv += ["-map-by", start.map_by]
    if start.bind_to:
        argv += ["-bind-to", start.bind_to]
    if variables := interface_variables(start.interface, os.environ):
        argv += ["-iface", start.interface]
        settings = [(name, value) for name, value in variables.items() if "_MCA_" not in name]  # not Open MPI's
        argv += [word for name, value in settings for word in ("-genv", name, value)]
    return [*argv, *shlex.split(start.launcher_args), *program]


def _extra_arguments(arguments: list[str]) -> list[str]:
    """Arguments of the remote shell, for which Hydra has a variable only."""
    return ["env", f"HYDRA_LAUNCHER_EXTRA_ARGS={' '.join(arguments)}"] if arguments else []

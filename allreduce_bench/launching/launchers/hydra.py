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
    words = [launcher.program, "-n", str(ranks)]
    if start.hosts:
        slots = slots_for(start.hosts, ranks, start.ranks_per_node)
        words += ["-hosts", ",".join(f"{name}:{number}" for name, number in slots)]
        if agent := remote_shell(start):
            words += ["-launcher", "ssh", "-launcher-exec", agent[0]]
            words = [*_extra_arguments(agent[1:]), *words]
    if start.ranks_per_node:
        words += ["-ppn", str(start.ranks_per_node)]
    if start.map_by:
        words += ["-map-by", start.map_by]
    if start.bind_to:
        words += ["-bind-to", start.bind_to]
    if variables := interface_variables(start.interface, os.environ):
        words += ["-iface", start.interface]
        settings = [(name, value) for name, value in variables.items() if "_MCA_" not in name]  # not Open MPI's
        words += [word for name, value in settings for word in ("-genv", name, value)]
    return [*words, *shlex.split(start.launcher_args), *program]


def _extra_arguments(arguments: list[str]) -> list[str]:
    """Arguments of the remote shell, for which Hydra has a variable only."""
    return ["env", f"HYDRA_LAUNCHER_EXTRA_ARGS={' '.join(arguments)}"] if arguments else []

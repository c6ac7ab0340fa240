"""MPICH's mpirun, Hydra."""

import os
import shlex

from ...runs.start import Start, slots_for
from ..launcher import Launcher, interface_variables, remote_shell


def command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """Return the command that starts `ranks` ranks. Raises LaunchError, InterfaceError.

    Hydra passes its whole environment to the ranks, so no variables need be named.
    """
    argv = [launcher.program, "-n", str(ranks)]
    if start.hosts:
        slots = slots_for(start.hosts, ranks, start.ranks_per_node)
        argv += ["-hosts", ",".join(f"{name}:{number}" for name, number in slots)]
        before, options = agent_options(start)
        argv = [*before, *argv, *options]
    if start.ranks_per_node:
        argv += ["-ppn", str(start.ranks_per_node)]
    if start.map_by:
        argv += ["-map-by", start.map_by]
    if start.bind_to:
        argv += ["-bind-to", start.bind_to]
    return [*argv, *interface_options(start), *shlex.split(start.launcher_args), *program]


def agent_options(start: Start) -> tuple[list[str], list[str]]:
    """Return the words for a remote shell other than ssh: those before the launcher's name, and its options.

    Hydra takes arguments of the shell only from a variable. Raises LaunchError.
    """
    agent = remote_shell(start)
    if agent is None:
        return [], []
    arguments = ["env", f"HYDRA_LAUNCHER_EXTRA_ARGS={' '.join(agent[1:])}"] if agent[1:] else []
    return arguments, ["-launcher", "ssh", "-launcher-exec", agent[0]]


def interface_options(start: Start) -> list[str]:
    """Return the options for the interface and the ranks' variables, except Open MPI's. Raises InterfaceError."""
    variables = interface_variables(start.interface, os.environ)
    settings = [(name, value) for name, value in variables.items() if "_MCA_" not in name]
    words = [word for name, value in settings for word in ("-genv", name, value)]
    return ["-iface", start.interface, *words] if variables else []

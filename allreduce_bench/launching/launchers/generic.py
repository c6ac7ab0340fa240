"""Generic launchers: a command template of the user, and the mpirun of an unknown MPI."""

import shlex

from ...machine.node import hide_secrets
from ...runs.start import Start
from ..launcher import Launcher, LaunchError, refuse, with_variables
from ..layout import nodes_for


def template_command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """The command that starts `ranks` ranks by the user's own words, with {ranks} and perhaps {nodes} in them.

    Raises LaunchError, InterfaceError.
    """
    refuse(start, ("hosts", "remote_shell", "map_by", "bind_to"), "a launcher template", "put them into the template")
    nodes = nodes_for(ranks, start)
    if nodes is None and "{nodes}" in start.launcher:
        raise LaunchError(
            f"launcher template '{hide_secrets([start.launcher])[0]}': the number of nodes is unknown",
            "add --ranks-per-node",
        )
    argv = [word.format(ranks=ranks, nodes=nodes) for word in shlex.split(start.launcher)]
    return [launcher.program, *argv[1:], *shlex.split(start.launcher_args), *with_variables(start, program)]


def plain_command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """The command that starts `ranks` ranks with an mpirun that gets only their number.

    Raises LaunchError, InterfaceError.
    """
    names = ("hosts", "remote_shell", "ranks_per_node", "map_by", "bind_to")
    refuse(start, names, f"the mpirun of {launcher.library}", "use --launcher-args with the options of that mpirun")
    argv = [launcher.program, "-n", str(ranks), *shlex.split(start.launcher_args)]
    return [*argv, *with_variables(start, program)]

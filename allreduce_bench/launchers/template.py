"""A launcher that the user describes: a command with {ranks} and perhaps {nodes} in it."""

import shlex

from ..start import Start
from ..started import nodes_for
from .launcher import Launcher, LaunchError, refuse, with_variables


def command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """The command that starts `ranks` ranks. Raises LaunchError, InterfaceError."""
    refuse(start, ("hosts", "remote_shell", "map_by", "bind_to"), "the template's launcher", "put it into the template")
    nodes = nodes_for(ranks, start)
    if nodes is None and "{nodes}" in start.launcher:
        raise LaunchError(f"launcher template '{start.launcher}': the number of nodes is unknown; say --ranks-per-node")
    words = [word.format(ranks=ranks, nodes=nodes) for word in shlex.split(start.launcher)]
    return [launcher.program, *words[1:], *shlex.split(start.launcher_args), *with_variables(start, program)]

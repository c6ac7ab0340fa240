"""A launcher that was found, and what all of them share."""

import os
import shlex
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from ..runs.start import SSH, UNASKED, Start
from .interface_variables import interface_variables
from .layout import ranks_a_node
from .scheduler import SCHEDULERS

ON_ONE_NODE = ("openmpi", "mpich", "intel")  # unless hosts or a job say more; of others nothing is known


class LaunchError(RuntimeError):
    """Error: no launcher, or none that supports the request: `what` and, if there is any, `advice`."""

    def __init__(self, what: str, advice: str = ""):
        super().__init__(f"{what}; {advice}" if advice else what)
        self.what, self.advice = what, advice


class Launcher(NamedTuple):
    """A program that starts ranks, and the library that they load."""

    program: str
    library: str  # such as Open MPI 5.0.11
    kind: str  # a key of COMMAND_OF
    options: tuple[str, ...] = ()  # that it always gets


def on_one_node(launcher: Launcher, ranks: int, start: Start, environ: Mapping[str, str]) -> bool:
    """Whether all ranks are surely started on this node, so that no other node need reach the supervisor."""
    may_be_elsewhere = start.launcher_args or any(name in environ for name in SCHEDULERS.values())
    may_be_elsewhere = may_be_elsewhere or any("hostfile" in name.lower() for name in environ)
    return launcher.kind in ON_ONE_NODE and ranks_a_node(ranks, start) == ranks and not may_be_elsewhere


def with_variables(start: Start, program: list[str]) -> list[str]:
    """`program`, with the variables of the interface set by env: for launchers that have no words for it.

    Raises InterfaceError.
    """
    variables = interface_variables(start.interface, os.environ)
    settings = [f"{name}={value}" for name, value in variables.items()]
    return ["env", *settings, *program] if settings else program


def refuse(start: Start, names: tuple[str, ...], who: str, advice: str) -> None:
    """Raises LaunchError where `start` asks for one of the fields `names`, naming the option."""
    requested = [name for name in names if getattr(start, name) != getattr(UNASKED, name)]
    if requested:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in requested)
        raise LaunchError(f"{options}: not supported with {who}", advice)


def remote_shell(start: Start) -> list[str] | None:
    """The words of a remote shell other than ssh, its program with its path; None: ssh, as launchers use it anyway.

    Raises LaunchError: no such program.
    """
    if start.remote_shell == SSH:
        return None
    program, *arguments = shlex.split(start.remote_shell)
    path = shutil.which(program)
    if not path:
        raise LaunchError(f"--remote-shell: program '{program}' not found in PATH")
    return [os.path.abspath(path), *arguments]

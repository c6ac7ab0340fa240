"""Launcher of ranks, and what all launchers share: refusals, the remote shell, the network interface.

An interface is chosen by variables of the MPIs and of the libraries below them.
"""

import os
import shlex
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..machine.variables import drop_values
from ..runs.start import SSH, UNASKED, Start, split_variables
from .layout import SCHEDULERS, nodes_for, ranks_a_node

ON_ONE_NODE = ("openmpi", "mpich", "intel")  # kinds that start ranks here unless hosts or a job say otherwise
NETWORKS = Path("/sys/class/net")  # where the kernel shows interfaces


class LaunchError(RuntimeError):
    """Error: no launcher, or none that supports the request: `what` and, if there is any, `advice`."""

    def __init__(self, what: str, advice: str = ""):
        super().__init__(f"{what}; {advice}" if advice else what)
        self.what, self.advice = what, advice


class InterfaceError(ValueError):
    """Error: the interface does not exist, or conflicts with a variable of the environment."""


class Launcher(NamedTuple):
    """Program that starts ranks, and the library that they load."""

    program: str
    library: str  # such as Open MPI 5.0.11
    kind: str  # a key of COMMAND_OF
    options: tuple[str, ...] = ()  # always passed


def on_one_node(launcher: Launcher, ranks: int, start: Start, environ: Mapping[str, str]) -> bool:
    """Return whether all ranks certainly start on this node, so that no other node need reach the supervisor."""
    may_be_elsewhere = start.launcher_args or any(name in environ for name in SCHEDULERS.values())
    may_be_elsewhere = may_be_elsewhere or any("hostfile" in name.lower() for name in environ)
    return launcher.kind in ON_ONE_NODE and ranks_a_node(ranks, start) == ranks and not may_be_elsewhere


def refuse(start: Start, names: tuple[str, ...], who: str, advice: str) -> None:
    """Raise LaunchError if `start` sets one of the fields `names`, naming the option."""
    requested = [name for name in names if getattr(start, name) != getattr(UNASKED, name)]
    if requested:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in requested)
        raise LaunchError(f"{options}: not supported with {who}", advice)


def remote_shell(start: Start) -> list[str] | None:
    """Return the words of a remote shell other than ssh, with its program's path; None: ssh, the launchers' default.

    Raises LaunchError if there is no such program.
    """
    if start.remote_shell == SSH:
        return None
    program, *arguments = shlex.split(start.remote_shell)
    path = shutil.which(program)
    if not path:
        raise LaunchError(f"--remote-shell: program '{program}' not found in PATH")
    return [os.path.abspath(path), *arguments]


def with_variables(start: Start, program: list[str]) -> list[str]:
    """Return `program` with the variables of -x and of the interface set by env, for launchers without an option.

    Raises InterfaceError.
    """
    variables = interface_variables(start.interface, os.environ) | dict(split_variables(start.variables))
    settings = [f"{name}={value}" for name, value in variables.items()]
    return ["env", *settings, *program] if settings else program


def interface_variables(interface: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that restrict every MPI to `interface` of this node; none if it is empty.

    Raises InterfaceError if there is no such interface, or `environ` contradicts them.
    """
    if not interface:
        return {}
    names = sorted(name for _, name in socket.if_nameindex())
    if interface not in names:
        raise InterfaceError(f"--interface {interface}: no such interface on this node; available: {', '.join(names)}")
    variables = variables_of(interface, ucx_device(interface))
    conflicting = {name: environ[name] for name, value in variables.items() if environ.get(name, value) != value}
    conflicting |= {name: environ[name] for name in ("OMPI_MCA_btl_tcp_if_exclude",) if name in environ}
    for name, value in conflicting.items():
        raise InterfaceError(f"--interface {interface}, but {name}={value} in the environment: set only one of them")
    return variables


def variables_of(interface: str, device: str) -> dict[str, str]:
    """Return the variable of each library for its interface; `device` is UCX's name of the interface."""
    return {
        "OMPI_MCA_btl_tcp_if_include": interface,  # Open MPI's own TCP
        "OMPI_MCA_oob_tcp_if_include": interface,  # its daemons, up to version 4
        "PRTE_MCA_prte_if_include": interface,  # its daemons from version 5
        "UCX_NET_DEVICES": device,  # UCX, under Open MPI or MPICH
        "FI_TCP_IFACE": interface,  # libfabric
        "FI_SOCKETS_IFACE": interface,
        "GLOO_SOCKET_IFNAME": interface,
    }


def ucx_device(interface: str, networks: Path = NETWORKS) -> str:
    """Return the InfiniBand device and port of an interface, such as `mlx5_0:1`; the interface itself without one."""
    devices = sorted(path.name for path in (networks / interface / "device" / "infiniband").glob("*"))
    if not devices:
        return interface
    try:
        port = int((networks / interface / "dev_port").read_text(encoding="ascii")) + 1
    except (OSError, ValueError):
        port = 1
    return f"{devices[0]}:{port}"


# Generic launchers: a command template of the user, and the mpirun of an unknown MPI


def template_command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """Return the command that starts `ranks` ranks by the user's template, with {ranks} and perhaps {nodes} in it.

    Raises LaunchError, InterfaceError.
    """
    refuse(start, ("hosts", "remote_shell", "map_by", "bind_to"), "a launcher template", "put them into the template")
    nodes = nodes_for(ranks, start)
    if nodes is None and "{nodes}" in start.launcher:
        raise LaunchError(
            f"launcher template '{drop_values([start.launcher])[0]}': the number of nodes is unknown",
            "add --ranks-per-node",
        )
    argv = [word.format(ranks=ranks, nodes=nodes) for word in shlex.split(start.launcher)]
    return [launcher.program, *argv[1:], *shlex.split(start.launcher_args), *with_variables(start, program)]


def plain_command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """Return the command that starts `ranks` ranks with an mpirun of unknown options except -n.

    Raises LaunchError, InterfaceError.
    """
    names = ("hosts", "remote_shell", "ranks_per_node", "map_by", "bind_to")
    refuse(start, names, f"the mpirun of {launcher.library}", "use --launcher-args with the options of that mpirun")
    argv = [launcher.program, "-n", str(ranks), *shlex.split(start.launcher_args)]
    return [*argv, *with_variables(start, program)]

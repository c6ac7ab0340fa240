"""Open MPI's mpirun, version 4 and later."""

import os
import re
import shlex

from ...machine.node import cores
from ...machine.variables import allowed_variables
from ...runs.hosts import slots_for
from ...runs.start import CHECKPOINT_VARIABLE, RESTART_VARIABLE, Start, split_variables
from ...watching.lifeline import COMMAND_VARIABLE, MONITOR_VARIABLE, SHARED_VARIABLE, SWITCHES_VARIABLE
from ..launcher import Launcher, LaunchError, interface_variables, remote_shell
from ..layout import ranks_a_node, ranks_of_tasks

NEW_DAEMONS = 5  # the version from which PRRTE starts the ranks
OWN = ("OMPI_", "PRTE_", "SLURM_", "PBS_", "LSB_")  # passed to ranks by mpirun itself, or only for mpirun
NEEDED = ("PYTHONPATH", "LD_LIBRARY_PATH", SWITCHES_VARIABLE, SHARED_VARIABLE, CHECKPOINT_VARIABLE, RESTART_VARIABLE)


def command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """Return the command that starts `ranks` ranks. Raises LaunchError, InterfaceError.

    Allows root, and more ranks than cores; these yield the core while they wait.
    """
    has_new_daemons = _major_version(launcher.library) >= NEW_DAEMONS
    argv = [launcher.program, "-n", str(ranks)]
    if os.geteuid() == 0:
        argv.append("--allow-run-as-root")
    variables = interface_variables(start.interface, os.environ)
    if start.hosts:
        argv += _host_options(ranks, start, has_new_daemons)
        said = variables | dict(split_variables(start.variables))
        argv += [word for name in _variables_for_remote_ranks() if name not in said for word in ("-x", name)]
    argv += _placement_options(ranks, start) + _interface_options(variables, has_new_daemons)
    argv += [word for setting in start.variables for word in ("-x", setting)]
    return [*argv, *shlex.split(start.launcher_args), *program]


def _placement_options(ranks: int, start: Start) -> list[str]:
    if start.map_by and start.ranks_per_node:
        raise LaunchError(
            "--map-by and --ranks-per-node: Open MPI accepts only one of them",
            f"use --map-by ppr:{start.ranks_per_node}:node",
        )
    map_by, argv = start.map_by, []
    if start.ranks_per_node:
        map_by = f"ppr:{start.ranks_per_node}:node"
    is_virtual = bool(start.virtual_rates_bytes_per_s)  # then hosts share cores
    is_crowded = is_virtual or ranks_a_node(ranks, start) > cores()
    if is_crowded or not start.hosts and ranks > (ranks_of_tasks(os.environ) or ranks):  # a task of a job is a slot
        argv = ["--oversubscribe", *(["--mca", "mpi_yield_when_idle", "1"] if is_crowded else [])]
        if ranks_a_node(ranks, start) < ranks and "map-by" not in start.launcher_args:
            map_by = map_by or "slot"  # its default would put all of them on the first node
    if map_by:
        argv += ["--map-by", map_by]
    # Otherwise each virtual host would bind its first rank to the same core
    bind_to = start.bind_to or ("none" if is_virtual else "")
    return argv + (["--bind-to", bind_to] if bind_to else [])


def _host_options(ranks: int, start: Start, has_new_daemons: bool) -> list[str]:
    hosts = ",".join(f"{name}:{slots}" for name, slots in slots_for(start.hosts, ranks, start.ranks_per_node))
    agent = remote_shell(start)
    if agent is None:
        return ["--host", hosts]
    return [
        "--host",
        hosts,
        *(["--prtemca", "plm_ssh_agent"] if has_new_daemons else ["--mca", "plm_rsh_agent"]),
        " ".join(agent),
    ]


def _variables_for_remote_ranks() -> list[str]:
    """Return the names of variables that ranks on other hosts do not inherit."""
    steering = [name for name in allowed_variables(os.environ) if not name.startswith(OWN)]
    return [*steering, *(name for name in NEEDED if name in os.environ), COMMAND_VARIABLE, MONITOR_VARIABLE]


def _interface_options(variables: dict[str, str], has_new_daemons: bool) -> list[str]:
    """Return options for the interface's variables; those of this MPI as parameters, which its daemons read, too."""
    argv = []
    for name, value in variables.items():
        program, mca, parameter = name.partition("_MCA_")
        if not mca:
            argv += ["-x", f"{name}={value}"]
        elif parameter.startswith("btl"):
            argv += ["--mca", parameter, value]
        elif has_new_daemons == (program == "PRTE"):
            argv += ["--prtemca" if has_new_daemons else "--mca", parameter, value]
    return argv


def _major_version(library: str) -> int:
    match = re.search(r"(\d+)\.", library)
    return int(match[1]) if match else NEW_DAEMONS

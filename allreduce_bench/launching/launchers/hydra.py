"""Hydra: MPICH's mpirun, and Intel MPI's mpiexec, which has options and variables of its own."""

import os
import shlex

from ...machine.node import cores
from ...runs.hosts import fill_slots, slots_for
from ...runs.start import Start, split_variables
from ..launcher import Launcher, interface_variables, refuse, remote_shell
from ..layout import ranks_on_same_cores

PIN = "I_MPI_PIN"
NO_BINDING = ("none", "off")


def mpich_command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """Return the command by which MPICH starts `ranks` ranks. Raises LaunchError, InterfaceError.

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
    return [*argv, *_variable_options(start), *shlex.split(start.launcher_args), *program]


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


def _variable_options(start: Start) -> list[str]:
    """Return the options for the interface, and for the variables of -x. Raises InterfaceError."""
    given = [word for name, value in split_variables(start.variables) for word in ("-genv", name, value)]
    return [*interface_options(start), *given]


# Intel MPI


def intel_command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """Return the command by which Intel MPI starts `ranks` ranks. Raises LaunchError, InterfaceError.

    It passes its whole environment to the ranks. It pins each rank to cores by default, and on virtual hosts each
    host's first rank to the same ones: there, and if ranks outnumber cores, pinning is turned off.
    """
    refuse(start, ("map_by",), "Intel MPI", "use --ranks-per-node, or --launcher-args '-genv I_MPI_PIN_ORDER scatter'")
    before, agent = agent_options(start) if start.hosts else ([], [])
    argv = [*before, launcher.program, *_pinning(ranks, start), *agent, *_variable_options(start)]
    return [*argv, *shlex.split(start.launcher_args), *_where(ranks, start, program)]


def _pinning(ranks: int, start: Start) -> list[str]:
    """Return options for --bind-to; else for no pinning if ranks share cores, unless the user's settings say more."""
    if start.bind_to:
        is_off = start.bind_to in NO_BINDING
        return ["-genv", PIN, "off"] if is_off else ["-genv", PIN, "on", "-genv", f"{PIN}_DOMAIN", start.bind_to]
    is_said = any(name.startswith(PIN) for name in (*os.environ, *start.variables)) or PIN in start.launcher_args
    is_crowded = bool(start.virtual_rates_bytes_per_s) or ranks_on_same_cores(ranks, start) > cores()
    return ["-genv", PIN, "off"] if is_crowded and not is_said else []


def _where(ranks: int, start: Start, program: list[str]) -> list[str]:
    """Return the program, and how many ranks of it each host gets.

    Its list of hosts takes one number of ranks for all; if they differ, each host is named with its own number.
    """
    slots = slots_for(start.hosts, ranks, start.ranks_per_node) if start.hosts else []
    per_host = {number for _, number in slots}
    if len(per_host) > 1:
        counts = fill_slots([number for _, number in slots], ranks)
        filled = [(name, count) for (name, _), count in zip(slots, counts) if count]
        words = [[":", "-host", name, "-n", str(count), *program] for name, count in filled]
        return [word for part in words for word in part][1:]
    hosts = ["-hosts", ",".join(name for name, _ in slots)] if slots else []
    number = per_host.pop() if per_host else start.ranks_per_node
    return [*hosts, *(["-ppn", str(number)] if number else []), "-n", str(ranks), *program]

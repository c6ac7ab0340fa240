"""The link from ranks to their starting process. Minimal standard library only: every rank imports this module."""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping

COMMAND_VARIABLE = "ALLREDUCE_BENCH_COMMAND"  # tells rank 0 how it was started
MONITOR_VARIABLE = "ALLREDUCE_BENCH_MONITOR"  # tells every rank where the supervisor listens
SWITCHES_VARIABLE = "ALLREDUCE_BENCH_SWITCHES"  # tells rank 0 of the switches above the nodes
SHARED_VARIABLE = "ALLREDUCE_BENCH_SHARED"  # tells rank 0 why others may use the nodes, too
LAB_VARIABLE = "ALLREDUCE_BENCH_LAB"  # tells a command the virtual hosts around it
TERMINATE, KILL = 15, 9  # by POSIX, without the module signal
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36  # PR_SET_… of prctl(2)


def end_with_parent(number: int = TERMINATE, parent: int | None = None) -> None:
    """Have the kernel send this process `number` when its parent dies (Linux; elsewhere nothing happens).

    Otherwise an mpirun whose starter was killed, or ranks whose mpirun was killed, would measure on. `parent` is the
    number of the parent, if the caller knows it: it may have died before, and then the signal is sent at once.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, number)
        if parent is not None and os.getppid() != parent:
            os.kill(os.getpid(), number)


def adopt_orphans() -> None:
    """Become the parent of processes below this one whose own parent ends (Linux; elsewhere nothing happens)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)


MOST_NBYTES = 100_000  # of the 128 KiB that Linux lets a variable have


def switch_variables(switches: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that tells rank 0 of `switches`, node -> path such as `s0/s1`; empty if there are none, or
    more than fits.
    """
    nodes_below: dict[str, list[str]] = {}
    for node, path in switches.items():
        nodes_below.setdefault(path, []).append(node)
    value = json.dumps({path: " ".join(nodes) for path, nodes in nodes_below.items()})
    return {SWITCHES_VARIABLE: value} if nodes_below and len(value) <= MOST_NBYTES else {}


def switches_of_hosts(value: str, hosts: Iterable[str]) -> dict[str, str]:
    """Return host -> path for those `hosts` in the variable's `value`, with or without their domain."""
    try:
        paths = {node: path for path, nodes in json.loads(value).items() for node in nodes.split()}
    except (ValueError, AttributeError):  # set by another program
        return {}
    path_of_host = {host: paths.get(host) or paths.get(host.partition(".")[0]) for host in hosts}
    return {host: path for host, path in path_of_host.items() if path}


class WarningFlag:
    """A flag for the scheduler's warning; plain, so that a signal handler may set it at any point."""

    def __init__(self) -> None:
        self.is_set = False
        self._listener: Callable[[], object] | None = None

    def listen(self) -> None:
        """Take SIGUSR1, which would end this process, as the warning from now on; main thread only."""
        signal.signal(signal.SIGUSR1, lambda number, frame: self.set())

    def set(self) -> None:
        """Record the warning; call the listener every time."""
        self.is_set = True
        if self._listener is not None:
            self._listener()

    def forward_to(self, listener: Callable[[], object] | None) -> None:
        """Call `listener` when the warning comes, at once if it came before; None: nothing. It may run in a signal
        handler.
        """
        self._listener = listener
        if self.is_set and listener is not None:
            listener()

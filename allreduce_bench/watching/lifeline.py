"""The link from ranks to their starting process. Minimal standard library only: every rank imports this module."""

import ctypes
import json
import signal
import sys
from collections.abc import Callable, Iterable, Mapping

COMMAND_VARIABLE = "ALLREDUCE_BENCH_COMMAND"  # tells rank 0 how it was started
MONITOR_VARIABLE = "ALLREDUCE_BENCH_MONITOR"  # tells every rank where the supervisor listens
SWITCHES_VARIABLE = "ALLREDUCE_BENCH_SWITCHES"  # tells rank 0 of the switches above the nodes
STAGE_VARIABLE = "ALLREDUCE_BENCH_STAGE"  # tells rank 0 what was unpacked on the nodes, as JSON
LAB_VARIABLE = "ALLREDUCE_BENCH_LAB"  # tells a command the virtual hosts around it
TERMINATE, KILL = 15, 9  # by POSIX, without the module signal
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def end_with_parent(number: int = TERMINATE) -> None:
    """Have the kernel send this process `number` when its parent dies (Linux; elsewhere nothing happens).

    Otherwise an mpirun whose starter was killed, or ranks whose mpirun was killed, would measure on.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, number)


MOST_NBYTES = 100_000  # of the 128 KiB that Linux lets a variable have


def switch_variables(switches: Mapping[str, str]) -> dict[str, str]:
    """The environment that tells rank 0 of `switches`, node -> path such as `s0/s1`; none where there is nothing to
    tell, or more than fits.
    """
    nodes_below: dict[str, list[str]] = {}
    for node, path in switches.items():
        nodes_below.setdefault(path, []).append(node)
    value = json.dumps({path: " ".join(nodes) for path, nodes in nodes_below.items()})
    return {SWITCHES_VARIABLE: value} if nodes_below and len(value) <= MOST_NBYTES else {}


def switches_of_hosts(value: str, hosts: Iterable[str]) -> dict[str, str]:
    """Host -> path, for those `hosts` that are in the variable's `value`, with their domain or without."""
    try:
        paths = {node: path for path, nodes in json.loads(value).items() for node in nodes.split()}
    except (ValueError, AttributeError):  # set by another program
        return {}
    path_of_host = {host: paths.get(host) or paths.get(host.partition(".")[0]) for host in hosts}
    return {host: path for host, path in path_of_host.items() if path}


class WarningFlag:
    """Whether the warning came. A plain flag, so that a signal may raise it in the middle of anything."""

    def __init__(self) -> None:
        self.is_set = False
        self._listener: Callable[[], object] | None = None

    def listen(self) -> None:
        """From here on SIGUSR1, which would end this process, is the warning; in the main thread only."""
        signal.signal(signal.SIGUSR1, lambda number, frame: self.set())

    def set(self) -> None:
        """The warning came; the function of `forward_to` is called every time."""
        self.is_set = True
        if self._listener is not None:
            self._listener()

    def forward_to(self, listener: Callable[[], object] | None) -> None:
        """Call `listener` when the warning comes, at once if it came before; None: nothing. It may run in a signal."""
        self._listener = listener
        if self.is_set and listener is not None:
            listener()

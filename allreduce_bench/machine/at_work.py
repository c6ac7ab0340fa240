"""Other processes that are at work on this node's cores now: for a launcher, not for ranks."""

import os
import time
from collections.abc import Collection
from typing import NamedTuple

from ..units import counted, few, printable
from . import kernel
from .core_load import CROWDING_CORES, DISTURBED, OVERRUN, PROCESSOR, core_times
from .node import affinity

USER, SYSTEM = 11, 12  # fields of /proc/PID/stat after the name
LEAST_SHARE = 0.02  # of a core; programs below are not named
MOST_NAMED = 4  # programs in one sentence


class Program(NamedTuple):
    """Process that was busy during a glance."""

    name: str
    pid: int
    share: float  # of one core


class Glance(NamedTuple):
    """Load of other processes on the cores that this process may use."""

    cores: int
    busy: float  # time over elapsed time
    programs: tuple[Program, ...]  # the busiest first

    @property
    def is_quiet(self) -> bool:
        """Return whether the load is too small to disturb a launch."""
        return self.busy < min(DISTURBED * self.cores, CROWDING_CORES)

    @property
    def is_loud(self) -> bool:
        """Return whether the load alone makes times unreliable."""
        return self.busy >= OVERRUN * self.cores

    @property
    def words(self) -> str:
        """Return `1.8 of 2 cores busy: python (pid 123, 98 %), make (pid 7, 80 %)`."""
        words = f"{self.busy:.1f} of {counted(self.cores, 'core')} busy"
        named = [f"{name} (pid {pid}, {share:.0%})".replace("%", " %") for name, pid, share in self.programs]
        if not named:
            return words if self.is_quiet else f"{words} by unknown processes"
        return f"{words}: {few(named, MOST_NAMED)}"


def glance(seconds: float) -> Glance | None:
    """Observe the cores for `seconds`; return None if core usage is not available."""
    begun, before, own_s, former = time.perf_counter(), core_times(), time.process_time(), _processor_times()
    time.sleep(seconds)
    after, now = core_times(), _processor_times()
    own_s, elapsed_s = time.process_time() - own_s, time.perf_counter() - begun
    cpus = [cpu for cpu in affinity() or before if cpu in before and cpu in after]
    if not cpus:
        return None
    worked_s = sum(after[cpu][0] - before[cpu][0] for cpu in cpus)
    return Glance(len(cpus), max(0.0, worked_s - own_s) / elapsed_s, _programs(former, now, elapsed_s, cpus))


def _processor_times() -> dict[int, tuple[str, float, int]]:
    """Return name, processor time and last processor of every visible process, by its number."""
    tick_s, processes = 1 / os.sysconf("SC_CLK_TCK"), {}
    for path in kernel.matching_paths("proc/[0-9]*"):
        head, _, rest = (kernel.read(f"{path}/stat") or "").rpartition(")")  # a name may hold blanks and brackets
        pid, _, name = head.partition(" (")
        fields = rest.split()
        if len(fields) > PROCESSOR:
            worked_s = (int(fields[USER]) + int(fields[SYSTEM])) * tick_s
            processes[int(pid)] = printable(name), worked_s, int(fields[PROCESSOR])
    return processes


def _programs(former: dict, now: dict, elapsed_s: float, cpus: Collection[int]) -> tuple[Program, ...]:
    """Return other processes that were busy on the threads `cpus`; new ones count from their start."""
    programs = []
    for pid, (name, worked_s, cpu) in now.items():
        share = (worked_s - (former[pid][1] if pid in former else 0.0)) / elapsed_s
        if share >= LEAST_SHARE and cpu in cpus and pid != os.getpid():
            programs.append(Program(name, pid, share))
    return tuple(sorted(programs, key=lambda program: -program.share))

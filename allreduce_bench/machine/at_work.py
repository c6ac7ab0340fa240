"""Other processes that are busy on this node now, and the cores they use. For a launcher, not for ranks."""

import os
import time
from collections.abc import Collection
from typing import NamedTuple

from . import kernel
from .core_load import CROWDING_CORES, DISTURBED, core_times
from .node import affinity

MOST_NAMED = 4  # programs in one sentence
LEAST_SHARE = 0.02  # of a core: a program that takes less is not named
USER, SYSTEM, PROCESSOR = 11, 12, 36  # fields of /proc/PID/stat, counted behind the name


class Program(NamedTuple):
    """A process that worked while somebody looked."""

    name: str
    pid: int
    share: float  # of one core


class Glance(NamedTuple):
    """The load of other processes on the cores that this process may use."""

    cores: int
    busy: float  # cores' worth of time
    programs: tuple[Program, ...]  # the busiest first

    @property
    def is_quiet(self) -> bool:
        """Whether the load is too small to disturb a launch."""
        return self.busy < min(DISTURBED * self.cores, CROWDING_CORES)

    @property
    def words(self) -> str:
        """`1.8 of 2 cores busy: python (pid 123, 98 %), make (pid 7, 80 %)`."""
        words = f"{self.busy:.1f} of {self.cores} core{'' if self.cores == 1 else 's'} busy"
        named = [f"{name} (pid {pid}, {share:.0%})".replace("%", " %") for name, pid, share in self.programs]
        if not named:
            return words if self.is_quiet else f"{words} by unknown processes"
        more = len(named) - MOST_NAMED
        return f"{words}: {', '.join(named[:MOST_NAMED])}" + (f" and {more} more" if more > 0 else "")


def glance(seconds: float) -> Glance | None:
    """Observe the cores for `seconds`; None: core usage is not available."""
    begun, before, own_s, former = time.perf_counter(), core_times(), time.process_time(), _processor_times()
    if before is None:
        return None
    time.sleep(seconds)
    after, now = core_times(), _processor_times()
    own_s, elapsed_s = time.process_time() - own_s, time.perf_counter() - begun
    if after is None:
        return None
    cpus = [cpu for cpu in affinity() or before.worked_s if cpu in before.worked_s and cpu in after.worked_s]
    if not cpus:
        return None
    worked_s = sum(after.worked_s[cpu] - before.worked_s[cpu] for cpu in cpus)
    programs = _programs(former, now, elapsed_s, cpus)
    return Glance(len(cpus), max(0.0, worked_s - own_s) / elapsed_s, programs)


class _Times(NamedTuple):
    name: str
    worked_s: float
    cpu: int  # where it ran last


def _programs(
    former: dict[int, _Times], now: dict[int, _Times], elapsed_s: float, cpus: Collection[int]
) -> tuple[Program, ...]:
    """The processes but this one that worked on the threads `cpus`; one that has begun since counts from its start."""
    programs = []
    for pid, times in now.items():
        before = former.get(pid)
        share = (times.worked_s - (before.worked_s if before else 0.0)) / elapsed_s
        if share >= LEAST_SHARE and times.cpu in cpus and pid != os.getpid():
            programs.append(Program(times.name, pid, share))
    return tuple(sorted(programs, key=lambda program: -program.share))


def _processor_times() -> dict[int, _Times]:
    """The processor time of every process that is shown, by its number."""
    tick_s, processes = 1 / os.sysconf("SC_CLK_TCK"), {}
    for path in kernel.matching_paths("proc/[0-9]*"):
        head, _, rest = (kernel.read(f"{path}/stat") or "").rpartition(")")  # a name may hold blanks and brackets
        pid, _, name = head.partition(" (")
        fields = rest.split()
        needed = [fields[place] for place in (USER, SYSTEM, PROCESSOR) if place < len(fields)]
        if pid.isdecimal() and len(needed) == 3 and all(map(str.isdecimal, needed)):
            worked_s = (int(fields[USER]) + int(fields[SYSTEM])) * tick_s
            processes[int(pid)] = _Times(_printable(name), worked_s, int(fields[PROCESSOR]))
    return processes


def _printable(name: str) -> str:
    """A name without what a terminal would obey: a process may call itself anything."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)

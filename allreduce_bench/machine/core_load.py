"""Load of this node's cores: during a launch, and now.

For a launch (`watch_node`), split into its own ranks, other processes, CPU steal and throttling. Not the load average,
which includes earlier launches. `worked` is the kernel's user, nice and system time of a core; guests are in user.
Interrupt time is left out: that of messages belongs to the ranks, and is charged to no process. Standard library only.

`glance` returns which other processes are busy now; for a launcher, not for ranks.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from ..units import few, printable
from . import finding, kernel, on_nodes
from .interfaces import port_findings, watch_ports
from .node import affinity, host

# Shares and their limits
SHORTEST_S = 0.5  # seconds; the kernel counts ticks of 10 ms: over less, one tick is some per cent of a core
DISTURBED, OVERRUN = 0.05, 0.25  # shares of the cores, see `evaluation.grade`
CROWDING_CORES = 0.5  # cores used by others while ranks leave none idle: little on large nodes, yet some rank's core
LOW_CLOCK = 0.5  # of a core's top clock; servers stay above it even with wide vectors on all cores
OWN_VIEW = 0.2  # share of the ranks' time missing in the counts; more means that the counts exclude the ranks
MOST_NAMED = 4  # programs in one sentence
LEAST_SHARE = 0.02  # of a core; programs below are not named


# Files of the kernel
CPUS = "sys/devices/system/cpu"
THREAD = re.compile(r"cpu(?P<cpu>\d+)(?P<times>( +\d+){3,})", re.ASCII)  # line of /proc/stat, times in ticks
USER, SYSTEM, PROCESSOR = 11, 12, 36  # fields of /proc/PID/stat after the name: times, last processor


class CoreTimes(NamedTuple):
    """Counters since the kernel started, seconds, by number of the hardware thread."""

    worked_s: dict[int, float]
    stolen_s: dict[int, float]  # by the hypervisor


class CoreUse(NamedTuple):
    """Load on the ranks' hardware threads while they ran, as shares."""

    others: float  # load of processes that are not ranks
    stolen: float
    crowding: bool  # others used half a thread or more, and the ranks left less idle


def watch_node(several: bool) -> Callable[[], dict]:
    """Start counting; return a function that gives the host and its counts since, ports only for `several` nodes."""
    since = [watch_cores()]
    if several:  # inside of one node no message takes a port
        since.append(watch_ports())
    return lambda: {"host": host(), **{name: fact for facts in since for name, fact in facts().items()}}


def watch_cores() -> Callable[[], dict]:
    """Start counting; return a function that gives the facts of this node's cores since; see `cores_of_ranks`."""
    begun, before, throttled = perf_counter(), core_times(), _throttle_counts()

    def since() -> dict:
        after, facts = core_times(), dict[str, Any](elapsed_s=perf_counter() - begun)
        if before and after:
            facts["threads"] = {
                cpu: (after.worked_s[cpu] - worked_s, after.stolen_s[cpu] - before.stolen_s[cpu])
                for cpu, worked_s in before.worked_s.items()
                if cpu in after.worked_s
            }
        if events := max((count - throttled.get(path, count) for path, count in _throttle_counts().items()), default=0):
            facts["throttled"] = events
        if clock := _own_clock():
            facts["clock"] = clock
        return facts

    return since


def core_times() -> CoreTimes | None:
    """Return the kernel's counters so far, or None if not available."""
    tick_s, worked_s, stolen_s = 1 / os.sysconf("SC_CLK_TCK"), {}, {}
    for line in (kernel.read("proc/stat") or "").splitlines():
        if match := THREAD.fullmatch(line.strip()):
            times = [int(field) * tick_s for field in match["times"].split()]
            worked_s[int(match["cpu"])] = sum(times[:3])  # user, nice, system
            stolen_s[int(match["cpu"])] = times[7] if len(times) > 7 else 0.0
    return CoreTimes(worked_s, stolen_s) if any(worked_s.values()) else None  # only zeros: the kernel of a sandbox


def _throttle_counts() -> dict[str, int]:
    """Return how often each core and package was throttled since boot, by its file.

    Empty if the processor does not report it.
    """
    if not kernel.exists(f"{CPUS}/cpu0/thermal_throttle"):
        return {}
    paths = kernel.matching_paths(f"{CPUS}/cpu[0-9]*/thermal_throttle/*_throttle_count")
    return {path: count for path in paths if (count := kernel.read_int(path)) is not None}


def _own_clock() -> float | None:
    """Return the clock of this process's core over its maximum, or None if unknown.

    Only for this busy core: querying an idle one takes the kernel milliseconds.
    """
    if not kernel.exists(f"{CPUS}/cpu0/cpufreq"):
        return None
    words = (kernel.read("proc/self/stat") or "").rpartition(")")[2].split()
    folder = f"{CPUS}/cpu{words[PROCESSOR]}/cpufreq" if len(words) > PROCESSOR else ""
    now, top = (kernel.read_int(f"{folder}/{name}") for name in ("scaling_cur_freq", "cpuinfo_max_freq"))
    return now / top if now and top else None


def counts_of_nodes(nodes: Sequence[Sequence[int]], of_ranks: Sequence[dict], one_machine: bool) -> list[dict]:
    """Return the facts that a launch keeps of its nodes (`nodes`: ranks of each), from the counts of every rank.

    Virtual nodes of `one_machine` each count the whole kernel: all ranks count as theirs.
    """
    counts = []
    for ranks in nodes:
        own = [of_ranks[rank] for rank in (range(len(of_ranks)) if one_machine else ranks)]
        cpus = frozenset().union(*(counted["cpus"] for counted in own))
        counts.append(cores_of_ranks(of_ranks[ranks[0]]["node"], cpus, sum(counted["own_s"] for counted in own)))
    return counts


def cores_of_ranks(facts: dict, cpus: Collection[int], own_s: float) -> dict:
    """Reduce the facts of `watch_cores` to those that a launch keeps of one node; unknown ones are absent.

    `cpus`: the threads that its ranks may use (empty: all); `own_s`: processor time that they took.
    """
    threads = facts.pop("threads", {})
    used = [threads[cpu] for cpu in cpus or threads if cpu in threads]
    if not used:
        return facts
    worked_s, stolen_s = (sum(seconds) for seconds in zip(*used))
    return {**facts, "cpus": len(used), "worked_s": worked_s, "stolen_s": stolen_s, "own_s": own_s}


def core_use(counted: dict) -> CoreUse | None:
    """Return the counts of `cores_of_ranks` as shares; None if unknown, too short, or without the ranks' time."""
    cpus, elapsed_s = counted.get("cpus"), counted.get("elapsed_s") or 0.0
    if not cpus or elapsed_s < SHORTEST_S:
        return None
    capacity_s, others_s = cpus * elapsed_s, counted["worked_s"] - counted["own_s"]
    if others_s < -OWN_VIEW * counted["own_s"]:
        return None
    idle_s = capacity_s - counted["worked_s"] - counted["stolen_s"]
    least_s = CROWDING_CORES * elapsed_s
    return CoreUse(
        others=max(0.0, others_s) / capacity_s,
        stolen=counted["stolen_s"] / capacity_s,
        crowding=others_s >= least_s > idle_s,
    )


def is_throttled(counted: dict) -> bool:
    """Return whether CPUs were throttled during the launch, or stayed far below their top frequency."""
    return bool(counted.get("throttled")) or (counted.get("clock") or 1.0) < LOW_CLOCK


def findings_of_nodes(counted: Sequence[dict]) -> list[dict]:
    """Return the findings about the load of the nodes; `counted`: the facts that a launch keeps of each node."""
    findings = [*_loaded(counted), *_stolen(counted), *_throttled(counted)]
    if any(node.get("ports") for node in counted):
        findings += port_findings(counted)
    return findings


def _loaded(counted: Sequence[dict]) -> list[dict]:
    uses = [(node, use) for node in counted if (use := core_use(node))]
    disturbed = [(node, use) for node, use in uses if use.others >= DISTURBED or use.crowding]
    if not disturbed:
        return []
    node, worst = max(disturbed, key=lambda pair: pair[1].others)
    where = on_nodes([node for node, _ in disturbed], counted)
    return [
        finding(
            "loaded",
            "severe" if worst.others >= OVERRUN else "caution",
            (
                f"other processes used {_per_cent(worst.others)} of {node['cpus']} hardware threads during the "
                f"launch{where}"
            ),
            "ranks had to wait for cores: times are longer and vary more",
            (
                "find the processes (top) and stop them, wait for an idle machine (--wait-idle 10m), or use exclusive "
                "nodes (sbatch --exclusive)"
            ),
        )
    ]


def _stolen(counted: Sequence[dict]) -> list[dict]:
    robbed = [(node, use.stolen) for node in counted if (use := core_use(node)) and use.stolen >= DISTURBED]
    if not robbed:
        return []
    worst = max(share for _, share in robbed)
    where = on_nodes([node for node, _ in robbed], counted)
    return [
        finding(
            "stolen",
            "severe" if worst >= OVERRUN else "caution",
            (
                f"the hypervisor took {_per_cent(worst)} of this virtual machine's CPU time during the launch "
                f"(steal){where}"
            ),
            "ranks were stopped by the hypervisor: times are longer and vary more",
            "measure on bare metal or on a host with dedicated cores",
        )
    ]


def _throttled(counted: Sequence[dict]) -> list[dict]:
    slow = list(filter(is_throttled, counted))
    if not slow:
        return []
    events = max(node.get("throttled") or 0 for node in slow)
    lowest = min(node.get("clock") or 1.0 for node in slow)
    heat = f"CPUs were throttled (heat or power), up to {events} times per core" if events else ""
    clock = f"a busy core ran at {lowest:.0%} of its top frequency" if lowest < LOW_CLOCK else ""
    return [
        finding(
            "throttled",
            "caution",
            f"{' and '.join(filter(None, [heat, clock]))}{on_nodes(slow, counted)}",
            "calls became slower during the launch, or all calls were slow",
            "check the cooling and the power limits, or measure on another node",
        )
    ]


def _per_cent(share: float) -> str:
    """Return a share rounded to 5 %, so that similar launches give the same text: `about 35 %`."""
    return f"about {max(5, 5 * round(20 * share))} %"


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
    def words(self) -> str:
        """Return `1.8 of 2 cores busy: python (pid 123, 98 %), make (pid 7, 80 %)`."""
        words = f"{self.busy:.1f} of {self.cores} core{'' if self.cores == 1 else 's'} busy"
        named = [f"{name} (pid {pid}, {share:.0%})".replace("%", " %") for name, pid, share in self.programs]
        if not named:
            return words if self.is_quiet else f"{words} by unknown processes"
        return f"{words}: {few(named, MOST_NAMED)}"


def glance(seconds: float) -> Glance | None:
    """Observe the cores for `seconds`; return None if core usage is not available."""
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
    cpu: int  # last processor


def _processor_times() -> dict[int, _Times]:
    """Return the processor time of every visible process, by its number."""
    tick_s, processes = 1 / os.sysconf("SC_CLK_TCK"), {}
    for path in kernel.matching_paths("proc/[0-9]*"):
        head, _, rest = (kernel.read(f"{path}/stat") or "").rpartition(")")  # a name may hold blanks and brackets
        pid, _, name = head.partition(" (")
        fields = rest.split()
        needed = [fields[place] for place in (USER, SYSTEM, PROCESSOR) if place < len(fields)]
        if pid.isdecimal() and len(needed) == 3 and all(map(str.isdecimal, needed)):
            worked_s = (int(fields[USER]) + int(fields[SYSTEM])) * tick_s
            processes[int(pid)] = _Times(printable(name), worked_s, int(fields[PROCESSOR]))
    return processes


def _programs(
    former: dict[int, _Times], now: dict[int, _Times], elapsed_s: float, cpus: Collection[int]
) -> tuple[Program, ...]:
    """Return other processes that were busy on the threads `cpus`; new ones count from their start."""
    programs = []
    for pid, times in now.items():
        before = former.get(pid)
        share = (times.worked_s - (before.worked_s if before else 0.0)) / elapsed_s
        if share >= LEAST_SHARE and times.cpu in cpus and pid != os.getpid():
            programs.append(Program(times.name, pid, share))
    return tuple(sorted(programs, key=lambda program: -program.share))

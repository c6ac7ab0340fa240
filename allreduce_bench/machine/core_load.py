"""Load of this node's cores during a launch: its own ranks, other processes, CPU steal and throttling.

Not the load average, which includes earlier launches. `worked` is the kernel's user, nice and system time of a core;
guests are in user. Interrupt time is left out: that of messages belongs to the ranks, and is charged to no process.
Standard library only.
"""

import os
import re
from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from . import finding, kernel, on_nodes

SHORTEST_S = 0.5  # seconds; the kernel counts ticks of 10 ms: over less, one tick is some per cent of a core
DISTURBED, OVERRUN = 0.05, 0.25  # shares of the cores, see `evaluation.grade`
CROWDING_CORES = 0.5  # cores used by others while ranks leave none idle: little on large nodes, yet some rank's core
LOW_CLOCK = 0.5  # of a core's top clock; servers stay above it even with wide vectors on all cores
OWN_VIEW = 0.2  # share of the ranks' time missing in the counts; more means that the counts exclude the ranks

# Files of the kernel
CPUS = "sys/devices/system/cpu"
THREAD = re.compile(r"cpu(?P<cpu>\d+)(?P<times>( +\d+){3,})", re.ASCII)  # line of /proc/stat, times in ticks
PROCESSOR = 36  # field of /proc/PID/stat after the name: last processor


class CoreUse(NamedTuple):
    """Load on the ranks' hardware threads while they ran, as shares."""

    others: float  # load of processes that are not ranks
    stolen: float
    crowding: bool  # others used half a thread or more, and the ranks left less idle


def watch_cores() -> Callable[[], dict]:
    """Start counting; return a function that gives the facts of this node's cores since; see `cores_of_ranks`."""
    begun, before, throttled = perf_counter(), core_times(), _throttle_counts()

    def since() -> dict:
        after, facts = core_times(), dict[str, Any](elapsed_s=perf_counter() - begun)
        if before and after:
            facts["threads"] = {
                cpu: (after[cpu][0] - worked_s, after[cpu][1] - stolen_s)
                for cpu, (worked_s, stolen_s) in before.items()
                if cpu in after
            }
        now = _throttle_counts() if throttled else {}
        if events := max((count - throttled.get(path, count) for path, count in now.items()), default=0):
            facts["throttled"] = events
        if clock := _own_clock():
            facts["clock"] = clock
        return facts

    return since


def core_times() -> dict[int, tuple[float, float]]:
    """Return the seconds since boot that each hardware thread worked, and that the hypervisor took; empty: unknown."""
    tick_s, times_s = 1 / os.sysconf("SC_CLK_TCK"), {}
    for line in (kernel.read("proc/stat") or "").splitlines():
        if match := THREAD.fullmatch(line.strip()):
            ticks = [*map(int, match["times"].split()), 0, 0, 0, 0]
            times_s[int(match["cpu"])] = sum(ticks[:3]) * tick_s, ticks[7] * tick_s  # user, nice, system; steal
    return times_s if any(worked_s for worked_s, _ in times_s.values()) else {}  # only zeros: the kernel of a sandbox


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


def load_findings(counted: Sequence[dict]) -> list[dict]:
    """Return the findings about the load of the nodes; `counted`: the facts that a launch keeps of each node."""
    return [*filter(None, (_find_load(counted), _find_steal(counted), _find_throttling(counted)))]


def _find_load(counted: Sequence[dict]) -> dict | None:
    uses = [(node, use) for node in counted if (use := core_use(node))]
    disturbed = [(node, use) for node, use in uses if use.others >= DISTURBED or use.crowding]
    if not disturbed:
        return None
    node, worst = max(disturbed, key=lambda pair: pair[1].others)
    return finding(
        "loaded",
        "severe" if worst.others >= OVERRUN else "caution",
        f"other processes used {_per_cent(worst.others)} of {node['cpus']} hardware threads during the launch"
        + on_nodes([node for node, _ in disturbed], counted),
        "ranks had to wait for cores: times are longer and vary more",
        "find the processes (top) and stop them, wait for an idle machine (--wait-idle 10m), or use exclusive nodes "
        "(sbatch --exclusive)",
    )


def _find_steal(counted: Sequence[dict]) -> dict | None:
    robbed = [(node, use.stolen) for node in counted if (use := core_use(node)) and use.stolen >= DISTURBED]
    if not robbed:
        return None
    worst = max(share for _, share in robbed)
    return finding(
        "stolen",
        "severe" if worst >= OVERRUN else "caution",
        f"the hypervisor took {_per_cent(worst)} of this virtual machine's CPU time during the launch (steal)"
        + on_nodes([node for node, _ in robbed], counted),
        "ranks were stopped by the hypervisor: times are longer and vary more",
        "measure on bare metal or on a host with dedicated cores",
    )


def _find_throttling(counted: Sequence[dict]) -> dict | None:
    slow = list(filter(is_throttled, counted))
    if not slow:
        return None
    events = max(node.get("throttled") or 0 for node in slow)
    lowest = min(node.get("clock") or 1.0 for node in slow)
    heat = f"CPUs were throttled (heat or power), up to {events} times per core" if events else ""
    clock = f"a busy core ran at {lowest:.0%} of its top frequency" if lowest < LOW_CLOCK else ""
    return finding(
        "throttled",
        "caution",
        f"{' and '.join(filter(None, [heat, clock]))}{on_nodes(slow, counted)}",
        "calls became slower during the launch, or all calls were slow",
        "check the cooling and the power limits, or measure on another node",
    )


def _per_cent(share: float) -> str:
    """Return a share rounded to 5 %, so that similar launches give the same text: `about 35 %`."""
    return f"about {max(5, 5 * round(20 * share))} %"

"""The load of this node's cores: during a launch, and now.

During a launch (`watch_node`) it is split into its own ranks, other processes, CPU steal and throttling. Not a load
average: that holds the launches before. `worked` is the kernel's user, nice and system time of a core; guests are in
user. Its time for interrupts is left out: that of messages is the ranks' own, and nobody is charged with it. One rank
of a node loads this, late: standard library only.

`glance` says which other processes are busy now. For a launcher, not for ranks.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from ..message import say
from . import finding, kernel, on_nodes
from .node import affinity, host

# shares and their limits
SHORTEST_S = 0.5  # the kernel counts in ticks of 10 ms: over less, one tick of a core is a share of some per cent
DISTURBED, OVERRUN = 0.05, 0.25  # shares of the cores, see `evaluation.grade`
CROWDING_CORES = 0.5  # that others use where ranks leave none: on large nodes a small share, and yet some rank's core
LOW_CLOCK = 0.5  # of a core's top clock; with all cores at work, wide vector units keep server processors above it
OWN_VIEW = 0.2  # of the ranks' time that may be missing in the counts; with more, they are of another view than theirs
MOST_NAMED = 4  # programs in one sentence
LEAST_SHARE = 0.02  # of a core: a program that takes less is not named


# of the kernel
CPUS = "sys/devices/system/cpu"
THREAD = re.compile(r"cpu(?P<cpu>\d+)(?P<times>( +\d+){3,})", re.ASCII)  # a line of /proc/stat, times in ticks
USER, SYSTEM, PROCESSOR = 11, 12, 36  # fields of /proc/PID/stat, counted behind the name: times, where it ran last


class CoreTimes(NamedTuple):
    """Seconds since the kernel started, of each hardware thread by its number."""

    worked_s: dict[int, float]
    stolen_s: dict[int, float]  # by the hypervisor


class CoreUse(NamedTuple):
    """Shares of the hardware threads that the ranks may use, while they ran."""

    others: float  # load of processes that are not ranks
    stolen: float
    crowding: bool  # others used the time of half a thread or more, and the ranks left them none


def watch_node(several: bool) -> Callable[[], dict]:
    """Begin to count; the result gives the host and what its kernel has counted since. Ports only of one of `several`
    nodes.
    """
    since = [watch_cores()]
    if several:
        from .ports import watch_ports  # late: inside of one node no message takes a port

        since.append(watch_ports())
    return lambda: {"host": host(), **{name: fact for facts in since for name, fact in facts().items()}}


def watch_cores() -> Callable[[], dict]:
    """Begin to count; the result gives the facts of this node's cores since then; see `cores_of_ranks`."""
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
    """The kernel's counters so far; None: not available."""
    tick_s, worked_s, stolen_s = 1 / os.sysconf("SC_CLK_TCK"), {}, {}
    for line in (kernel.read("proc/stat") or "").splitlines():
        if match := THREAD.fullmatch(line.strip()):
            times = [int(field) * tick_s for field in match["times"].split()]
            worked_s[int(match["cpu"])] = sum(times[:3])  # user, nice, system
            stolen_s[int(match["cpu"])] = times[7] if len(times) > 7 else 0.0
    return CoreTimes(worked_s, stolen_s) if any(worked_s.values()) else None  # only zeros: a kernel of a sandbox


def _throttle_counts() -> dict[str, int]:
    """How often since the start of the kernel the clocks of each core and of its package were lowered, by its file.

    Empty where the processor does not tell.
    """
    if not kernel.exists(f"{CPUS}/cpu0/thermal_throttle"):
        return {}
    paths = kernel.matching_paths(f"{CPUS}/cpu[0-9]*/thermal_throttle/*_throttle_count")
    return {path: count for path in paths if (count := kernel.read_int(path)) is not None}


def _own_clock() -> float | None:
    """The clock of the core that this process runs on, over its highest; None: unknown.

    Of this one only, since it is at work; the answer about an idle core takes the kernel milliseconds.
    """
    if not kernel.exists(f"{CPUS}/cpu0/cpufreq"):
        return None
    words = (kernel.read("proc/self/stat") or "").rpartition(")")[2].split()
    folder = f"{CPUS}/cpu{words[PROCESSOR]}/cpufreq" if len(words) > PROCESSOR else ""
    now, top = (kernel.read_int(f"{folder}/{name}") for name in ("scaling_cur_freq", "cpuinfo_max_freq"))
    return now / top if now and top else None


def counts_of_nodes(nodes: Sequence[Sequence[int]], of_ranks: Sequence[dict], one_machine: bool) -> list[dict]:
    """The facts that a launch keeps of its nodes, given as ranks each, from what every rank counted.

    Virtual nodes of `one_machine` each count what its whole kernel did: all ranks are their own.
    """
    counts = []
    for ranks in nodes:
        own = [of_ranks[rank] for rank in (range(len(of_ranks)) if one_machine else ranks)]
        cpus = frozenset().union(*(counted["cpus"] for counted in own))
        counts.append(cores_of_ranks(of_ranks[ranks[0]]["node"], cpus, sum(counted["own_s"] for counted in own)))
    return counts


def cores_of_ranks(facts: dict, cpus: Collection[int], own_s: float) -> dict:
    """Reduce the facts of `watch_cores` to those that a launch keeps of one node. What is not known is absent.

    `cpus`: the threads that its ranks may use (none: all); `own_s`: processor time that they took.
    """
    threads = facts.pop("threads", {})
    used = [threads[cpu] for cpu in cpus or threads if cpu in threads]
    if not used:
        return facts
    worked_s, stolen_s = (sum(seconds) for seconds in zip(*used))
    return {**facts, "cpus": len(used), "worked_s": worked_s, "stolen_s": stolen_s, "own_s": own_s}


def core_use(counted: dict) -> CoreUse | None:
    """What `cores_of_ranks` kept, as shares; None: not known, too short, or counts that do not hold the ranks."""
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
    """Whether this node's CPUs were throttled during the launch, or stayed far below their top frequency."""
    return bool(counted.get("throttled")) or (counted.get("clock") or 1.0) < LOW_CLOCK


def findings_of_nodes(counted: Sequence[dict]) -> list[dict]:
    """The findings about the load of the nodes; `counted`: the facts that a launch keeps of each node."""
    findings = [*_loaded(counted), *_stolen(counted), *_throttled(counted)]
    if any(node.get("ports") for node in counted):
        from .ports import port_findings  # late: few launches have any

        findings += port_findings(counted)
    return findings


def _loaded(counted: Sequence[dict]) -> list[dict]:
    uses = [(node, use) for node in counted if (use := core_use(node))]
    disturbed = [(node, use) for node, use in uses if use.others >= DISTURBED or use.crowding]
    if not disturbed:
        return []
    node, worst = max(disturbed, key=lambda pair: pair[1].others)
    return [
        finding(
            "loaded",
            "severe" if worst.others >= OVERRUN else "caution",
            say(
                "machine.other_processes_used_hardware",
                others=_per_cent(worst.others),
                cpus=node["cpus"],
                on_nodes=on_nodes([node for node, _ in disturbed], counted),
            ),
            say("machine.ranks_had_wait_cores"),
            say("machine.find_processes_top_stop"),
        )
    ]


def _stolen(counted: Sequence[dict]) -> list[dict]:
    robbed = [(node, use.stolen) for node in counted if (use := core_use(node)) and use.stolen >= DISTURBED]
    if not robbed:
        return []
    worst = max(share for _, share in robbed)
    return [
        finding(
            "stolen",
            "severe" if worst >= OVERRUN else "caution",
            say(
                "machine.hypervisor_took_virtual_machine",
                worst=_per_cent(worst),
                on_nodes=on_nodes([node for node, _ in robbed], counted),
            ),
            say("machine.ranks_stopped_hypervisor_times"),
            say("machine.measure_bare_metal_host"),
        )
    ]


def _throttled(counted: Sequence[dict]) -> list[dict]:
    slow = list(filter(is_throttled, counted))
    if not slow:
        return []
    events = max(node.get("throttled") or 0 for node in slow)
    lowest = min(node.get("clock") or 1.0 for node in slow)
    heat = say("machine.cpus_throttled_heat_power", events=events) if events else ""
    clock = say("machine.busy_core_ran_top", lowest=lowest) if lowest < LOW_CLOCK else ""
    return [
        finding(
            "throttled",
            "caution",
            f"{' and '.join(filter(None, [heat, clock]))}{on_nodes(slow, counted)}",
            say("machine.calls_became_slower_during"),
            say("machine.check_cooling_power_limits"),
        )
    ]


def _per_cent(share: float) -> str:
    """Rounded to 5 %, so that similar launches give the same text: `about 35 %`."""
    return f"about {max(5, 5 * round(20 * share))} %"


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

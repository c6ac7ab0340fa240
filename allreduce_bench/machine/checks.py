"""Lines of `doctor` about this node: facts, problems, and facts that it does not tell."""

from collections.abc import Iterator
from typing import NamedTuple

from ..units import counted, format_rate, format_size, three_digits
from . import kernel
from .at_work import glance
from .container import GROUPS
from .copies import COPIED_NBYTES, DELTA, close_copy_factor
from .findings import findings
from .interfaces import Interface, likely_way, reachable
from .node import affinity, free_memory, node_facts
from .shared_memory import small_shared_memory

LOOK_S = 0.5  # seconds of watching other processes
SLOW_COPY = 1.5  # factor above which copies slow an all-reduce visibly


class Check(NamedTuple):
    """Line of `doctor`, with two more lines if it is not ok."""

    level: str  # ok, missing (unknown on this system), or a level of findings
    name: str
    text: str
    effect: str = ""
    advice: str = ""


def as_check(name: str, finding: dict) -> Check:
    """Return a finding as a line."""
    return Check(finding["level"], name, finding["text"], finding["effect"], finding["advice"])


def node_of_this_process() -> dict:
    """Return the facts of this node that `findings` takes, for ranks with this process's affinity."""
    return {**node_facts(), "cpus_of_ranks": len(affinity() or ()) or None}


def node_checks(node: dict) -> Iterator[Check]:
    """Yield all checks except MPI's, for `run`'s default number of ranks; `node` is from `node_of_this_process`."""
    ranks = max(2, node["cores"])
    found = {finding["code"]: finding for finding in findings([node], [ranks], {})}
    crowded = found.get("oversubscribed") or found.get("hyperthreads")
    yield as_check("processor", crowded) if crowded else Check("ok", "processor", _processor(node))
    yield _load()
    yield as_check("frequency", found["governor"]) if "governor" in found else _frequency(node)
    yield as_check("timer", found["timer"]) if "timer" in found else _clock(node)
    yield _memory(node)
    if small := small_shared_memory(ranks):
        yield as_check("memory", small)
    yield _copies(close_copy_factor())
    yield _container(node)
    yield _interfaces(node)


def _processor(node: dict) -> str:
    facts = [node["processor"], f"{counted(node['cores'], 'core')} with {node['threads']} hardware threads"]
    allowed, quota = node["cpus_of_ranks"], node["cpu_quota"]
    facts.append("affinity unknown" if allowed is None else f"{allowed} of them available to this process")
    return ", ".join(facts) + (f", CPU quota of {three_digits(quota)} cores" if quota else "")


def _load() -> Check:
    """Check the current load, not the load average, which includes this node's last minutes."""
    at_work = glance(LOOK_S)
    if at_work is None:
        return Check("missing", "load", "no /proc/stat: the load of other processes is unknown")
    if at_work.is_quiet:
        return Check("ok", "load", at_work.words)
    advice = "stop them, or wait for an idle machine (run --wait-idle 10m)"
    return Check("caution", "load", at_work.words, "times are longer and vary more under load", advice)


def _frequency(node: dict) -> Check:
    if node["governors"]:
        return Check("ok", "frequency", f"governor {', '.join(node['governors'])}")
    return Check(
        "missing", "frequency", "no cpufreq/policy*/scaling_governor in /sys: the frequency governor is unknown"
    )


def _clock(node: dict) -> Check:
    return Check("ok", "timer", f"the clock advances in steps of {three_digits(node['clock_step_s'] * 1e9)} ns")


def _memory(node: dict) -> Check:
    free_nbytes = free_memory()
    if free_nbytes is None:
        return Check("missing", "memory", "no /proc/meminfo: sizes that exceed the memory cannot be skipped")
    of_all = f" of {format_size(node['memory_nbytes'])}" if node["memory_nbytes"] else ""
    return Check("ok", "memory", f"{format_size(free_nbytes)}{of_all} free")


def _copies(factor: float) -> Check:
    text = (
        f"a copy of {format_size(COPIED_NBYTES)} to a place {DELTA} bytes behind modulo a page takes "
        f"{three_digits(factor)} times as long"
    )
    if factor < SLOW_COPY:
        return Check("ok", "copying", text)
    effect = "all-reduces of programs whose arrays lie so take up to twice as long"
    return Check("caution", "copying", text, effect, "allocate at multiples of 64 bytes: docs/placement.md")


def _container(node: dict) -> Check:
    if node["container"]:
        return Check("info", "container", node["container"])
    if kernel.read_once(GROUPS) is None:
        return Check("missing", "container", "no /proc/self/cgroup: containers and their limits are unknown")
    return Check("ok", "container", "none")


def _interfaces(node: dict) -> Check:
    ways = reachable()
    names = [f"{way.name} {way.address} {_rate(way)}" for way in ways]
    names += [f"port {port}" for port in node["port_rates_bytes_per_s"]]
    text = ", ".join(names) or "loopback only: sufficient for ranks on this node"
    if len({way.virtual for way in ways}) < 2:
        return Check("ok", "interfaces", text)
    effect = "an MPI over TCP may try virtual ones, which may reach no other node, and hang"
    advice = f"select the one that connects the nodes: --interface {likely_way(ways)}"
    return Check("info", "interfaces", text, effect, advice)


def _rate(way: Interface) -> str:
    """Return `(25 GB/s)`, `(virtual)` or `(rate unknown)`."""
    rate = way.rate_bytes_per_s
    return f"({format_rate(rate)})" if rate else "(virtual)" if way.virtual else "(rate unknown)"

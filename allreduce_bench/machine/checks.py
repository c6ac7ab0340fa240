"""Checks of `doctor` on this node: facts, problems, and unknown facts."""

from collections.abc import Iterator
from typing import NamedTuple

from ..message import say
from ..units import format_rate, format_size, three_digits
from . import PAGE_NBYTES, findings, kernel
from . import node as environment
from .core_load import Glance, glance
from .interfaces import bridges, reachable, sent_bytes

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
    node_findings = findings.findings([node], [max(2, node["cores"])], {}, None)
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
    facts = [node["processor"], say("machine.cores_hardware_threads", cores=node["cores"], threads=node["threads"])]
    if node["cpus_of_ranks"] is not None:
        facts.append(say("machine.available_process", cpus_of_ranks=node["cpus_of_ranks"]))
    if node["cpu_quota"] is not None:
        facts.append(say("machine.cpu_quota_cores", cpu_quota=three_digits(node["cpu_quota"])))
    yield Check("ok", "processor", ", ".join(facts))
    if not kernel.matching_paths(f"{environment.PROCESSORS}/topology/thread_siblings_list"):
        yield Check("missing", "processor", say("machine.no_cpu_topology_sys"))
    if node["cpus_of_ranks"] is None:
        yield Check("missing", "processor", say("machine.no_affinity_cores_available"))


def _load_checks(node: dict) -> Iterator[Check]:
    """Check the current load, not the load average, which includes this node's last minutes."""
    at_work: Glance | None = node["at_work"]
    if at_work is None:
        yield Check("missing", "load", say("machine.no_proc_stat_load"))
    elif at_work.is_quiet:
        yield Check("ok", "load", at_work.words)
    else:
        advice = say("machine.stop_wait_idle_machine")
        yield Check("caution", "load", at_work.words, say("machine.times_longer_vary_more"), advice)


def _frequency_checks(node: dict) -> Iterator[Check]:
    if node["governors"]:
        yield Check("ok", "frequency", f"governor {', '.join(node['governors'])}")
    else:
        yield Check("missing", "frequency", say("machine.no_cpufreq_scaling_governor"))


def _timer_checks(node: dict) -> Iterator[Check]:
    nanoseconds = {key: value and f"{three_digits(value * 1e9)} ns" for key, value in node["timer"].items()}
    text = say("machine.reading_takes_smallest_observed")
    yield Check("ok", "timer", text.format(**nanoseconds))


def _memory_checks(node: dict) -> Iterator[Check]:
    if node["free_memory_nbytes"] is None:
        yield Check("missing", "memory", say("machine.no_proc_meminfo_sizes"))
    else:
        of_all = "" if node["memory_nbytes"] is None else f" of {format_size(node['memory_nbytes'])}"
        yield Check("ok", "memory", f"{format_size(node['free_memory_nbytes'])}{of_all} free")


def _page_checks(node: dict) -> Iterator[Check]:
    pages = node["huge_pages"]
    if pages is None:
        yield Check("missing", "huge pages", say("machine.no_proc_meminfo_no"))
    else:
        reserved = "an unknown number" if pages["reserved"] is None else pages["reserved"]
        yield Check("ok", "huge pages", f"transparent: {pages['transparent'] or 'unknown'}; {reserved} reserved")


def _copy_checks(node: dict) -> Iterator[Check]:
    copying = node["copying"]
    factor, nbytes, delta = copying["close_factor"], environment.CLOSE_NBYTES, environment.CLOSE_DELTA
    flag = {True: "has fsrm", False: "has no fsrm", None: "fsrm unknown"}[copying["fsrm"]]
    where = say("machine.copy_place_bytes_behind", nbytes=format_size(nbytes), delta=delta, page_nbytes=PAGE_NBYTES)
    text = say(
        "machine.takes_times_long_processor",
        where=where,
        factor=three_digits(factor),
        flag=flag,
        libc=copying["libc"] or "libc unknown",
    )
    if factor < SLOW_COPY:
        yield Check("ok", "copying", text)
    else:
        effect = say("machine.reduces_programs_whose_arrays")
        yield Check("caution", "copying", text, effect, say("machine.allocate_multiples_bytes_docs"))


def _container_checks(node: dict) -> Iterator[Check]:
    container = node["container"]
    yield Check("info" if container else "ok", "container", container or "none")
    if not kernel.exists("proc/self/cgroup"):
        yield Check("missing", "container", say("machine.no_proc_self_cgroup"))


def _interface_checks(node: dict) -> Iterator[Check]:
    ways = reachable(node)
    names = [f"{way['name']} {way['address']}/{way['prefix']} {_format_rate_of(way)}" for way in ways]
    names += [f"fabric {device}" for device in node["fabric_devices"]]
    yield Check("ok", "interfaces", ", ".join(names) or say("machine.loopback_sufficient_ranks_node"))
    yield from from_findings("interfaces", bridges(node))
    if not kernel.matching_paths("sys/class/net/*"):
        yield Check("missing", "interfaces", say("machine.no_sys_class_net"))
    if not sent_bytes():
        yield Check("missing", "interfaces", say("machine.no_proc_net_dev"))


def _format_rate_of(interface: dict) -> str:
    """Return `(25 GB/s)`, `(virtual)` or `(rate unknown)`."""
    rate = interface["rate_bytes_per_s"]
    if rate is not None:
        return f"({format_rate(rate)})"
    return "(virtual)" if interface["virtual"] else "(rate unknown)"

"""The environment of launches as facts: for each key the values that occurred and the rank counts of their launches.

Keys decide whether two environments are equal; labels and texts are for people.
"""

import shlex
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..units import format_ranges, format_size, in_ranks

PACKAGES = ("mpi4py", "numpy")
LAUNCH_OPTION = "--launch"  # in a launch's command: what follows differs between launches of the same ranks
OF_A_JOB = (
    "SLURM_JOB_",
    "SLURM_ARRAY_",
    "SLURM_RESTART_COUNT",
    "PBS_JOBID",
    "LSB_JOBID",
    "I_MPI_INFO_",  # what Intel MPI reports of the machine, and the number of a start
    "I_MPI_HYDRA_UUID",
)  # variables that always differ
Values = dict[Hashable, frozenset[int]]  # value -> the rank counts of the launches that have it


class Field(NamedTuple):
    """One kind of fact about an environment."""

    key: str
    label: str
    read: Callable[[Mapping[str, Any]], Iterable[Any]]  # facts of a launch -> values; None: not known
    text: Callable[[Any], str] = str  # of a value


def environment(attempts: Sequence[Mapping[str, Any]]) -> dict[str, Values]:
    """Return the values of FIELDS that the launches have, by key in order; `attempts`: the facts of each launch."""
    values = {field.key: values_of(attempts, field.read) for field in FIELDS}
    return {key: occurring for key, occurring in values.items() if occurring}


def values_of(attempts: Sequence[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], Iterable[Any]]) -> Values:
    """Return every value except None that `read` returns for a launch, in order of occurrence."""
    ranks: dict[Hashable, set[int]] = {}
    for fact in attempts:
        for value in read(fact):
            if value is not None:
                key = str(value) if isinstance(value, list | dict) else value
                ranks.setdefault(key, set()).add(fact["ranks"])
    return {value: frozenset(at) for value, at in ranks.items()}


def format_values(values: Mapping[Hashable, Collection[int]], text: Callable[[Any], str] = str) -> str:
    """Format `a, b`; `a at 2 ranks; b at 4 ranks` where not all occur at the same rank counts."""
    ranks: dict[str, set[int]] = {}
    for value, at in values.items():
        ranks.setdefault(text(value), set()).update(at)
    if len(set(map(frozenset, ranks.values()))) <= 1:
        return ", ".join(ranks)
    return "; ".join(f"{value} at {in_ranks(at)}" for value, at in ranks.items())


def mpi_fact(key: str) -> Callable[[Mapping[str, Any]], list]:
    """Return a reader of one fact of a launch about its MPI."""
    return lambda fact: [fact.get("mpi", {}).get(key)]


def _machine_fact(key: str) -> Callable[[Mapping[str, Any]], list]:
    return lambda fact: [machine.get(key) for machine in fact.get("machines", [])]


def _version(package: str) -> Callable[[Mapping[str, Any]], list]:
    return lambda fact: [machine.get("packages", {}).get(package) for machine in fact.get("machines", [])]


def _governors(fact: Mapping[str, Any]) -> list[str]:
    return [governor for governors in _machine_fact("governors")(fact) for governor in governors or ()]


def _memory(fact: Mapping[str, Any]) -> list[str]:
    """Format memory with a few digits: kernels reserve a varying number of pages."""
    return [format_size(size_bytes) for size_bytes in _machine_fact("memory_nbytes")(fact) if size_bytes]


def _variables(fact: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in fact.get("variables", {}).items()]


def _command(fact: Mapping[str, Any]) -> list[str]:
    """Return the command of a launch up to the part that differs between launches of the same ranks."""
    command_line = fact.get("command") or ""
    try:
        command = shlex.split(command_line) if isinstance(command_line, str) else command_line
    except ValueError:  # no command of this suite
        return [command_line]
    end = command.index(LAUNCH_OPTION) if LAUNCH_OPTION in command else len(command)
    return [shlex.join(command[:end])] if command else []


def _ranks_of_hosts(fact: Mapping[str, Any]) -> dict[str, list[int]]:
    ranks: dict[str, list[int]] = {}
    for rank, host in enumerate(fact.get("hosts", [])):
        ranks.setdefault(host, []).append(rank)
    return ranks


def _mapping(fact: Mapping[str, Any]) -> list[str]:
    """Return `n1: 0-3, n2: 4-7`, where there is more than one host."""
    hosts = [f"{host}: {format_ranges(ranks)}" for host, ranks in _ranks_of_hosts(fact).items()]
    return [", ".join(hosts)] if len(hosts) > 1 else []


def _switches(fact: Mapping[str, Any]) -> list[str]:
    """Return `s0/s1: n1, n2; s0/s2: n3`, paths from the topmost switch down, where a scheduler reports them."""
    below: dict[str, list[str]] = {}
    for host, path in fact.get("switches", {}).items():
        below.setdefault(path, []).append(host)
    return ["; ".join(f"{path}: {', '.join(hosts)}" for path, hosts in below.items())] if below else []


def _binding(fact: Mapping[str, Any]) -> list[str]:
    """Return the cores of each rank of a launch; none where they are unknown.

    `n1, n2: 0 | 1 | 2 | 3`, rank by rank; `all 0-3` if shared; without hosts if all are alike.
    """
    cores = fact.get("binding", [])
    if None in cores or not cores or len(cores) != len(fact.get("hosts", [])):
        return []
    hosts: dict[str, list[str]] = {}
    for host, ranks in _ranks_of_hosts(fact).items():
        own = [cores[rank] for rank in ranks]
        hosts.setdefault(f"all {own[0]}" if len({*own}) == 1 else " | ".join(own), []).append(host)
    if len(hosts) == 1:
        return [*hosts]
    return ["; ".join(f"{', '.join(names)}: {own}" for own, names in hosts.items())]


FIELDS = (
    Field("mpi_library", "MPI library", mpi_fact("library")),
    Field("mpi_standard", "MPI standard", mpi_fact("mpi_standard")),
    Field("mpi_path", "MPI library file", mpi_fact("path")),
    Field("thread_level", "thread level", mpi_fact("thread_level")),
    Field("transport", "transport, as reported by the MPI", lambda fact: [fact.get("transport")]),
    Field("hosts", "hosts", lambda fact: fact.get("hosts", [])),
    Field("mapping", "ranks of each host", _mapping),
    Field("switches", "switches above the hosts", _switches),
    Field("binding", "core binding", _binding),
    Field("command", "started by", _command),
    Field("layout", "nodes x ranks", lambda fact: [fact.get("layout")]),
    Field("processor", "processor", _machine_fact("processor")),
    Field("processor_family", "processor family", _machine_fact("processor_family")),
    Field("cores", "cores per node", _machine_fact("cores")),
    Field("threads", "hardware threads per node", _machine_fact("threads")),
    Field("governors", "frequency governor", _governors),
    Field("memory", "memory per node", _memory),
    Field("container", "container", _machine_fact("container")),
    Field("kernel", "kernel", _machine_fact("kernel")),
    Field("libc", "C library", _machine_fact("libc")),
    Field("transparent_huge_pages", "transparent huge pages", _machine_fact("transparent_huge_pages")),
    Field("python", "Python", _machine_fact("python")),
    *(Field(name, name, _version(name)) for name in PACKAGES),
    Field("allreduce_bench", "allreduce-bench", _machine_fact("allreduce_bench")),
    Field("variables", "variables", _variables, "=".join),
)


def differences(attempts: Mapping[str, Mapping[str, Any]], first: Iterable[str], second: Iterable[str]) -> list[str]:
    """Return what divides two groups of launches: of each fact that has other values in either group its label.

    `attempts`: launch -> its facts. FIELDS, then each variable, then the logs of imported launches. A fact that some
    launch lacks divides nothing.
    """
    groups = [[attempts[name] for name in names if name in attempts] for names in (first, second)]
    variables = _variables_of(fact for group in groups for fact in group)
    fields = [*(field for field in FIELDS if field.key != "variables"), *map(_variable, variables), LOGS]
    found = []
    for field in fields:
        values = [[tuple(map(str, _known(field, fact))) for fact in group] for group in groups]
        if all(values) and all(map(all, values)) and not set(values[0]) & set(values[1]):
            found.append(field.label)
    return found


def _known(field: Field, fact: Mapping[str, Any]) -> list:
    """Return the distinct values of one launch."""
    return list(dict.fromkeys(value for value in field.read(fact) if value is not None))


def _variables_of(attempts: Iterable[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for fact in attempts for name in fact.get("variables", {}))
    return [name for name in names if not name.startswith(OF_A_JOB)]


def _variable(name: str) -> Field:
    """Return the field of a variable, which every launch of this suite has or lacks."""
    return Field(name, f"variable {name}", lambda fact: [str(fact.get("variables", {}).get(name, "not set"))])


LOGS = Field("logs", "log", lambda fact: fact.get("source", {}).get("files", ()))

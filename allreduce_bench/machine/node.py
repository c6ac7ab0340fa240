"""Facts of this node: processors, memory, load, clock, versions, variables that steer an MPI; and virtual hosts."""

import os
import platform
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from time import get_clock_info, perf_counter

from .. import __version__
from ..units import format_rate, format_size
from . import PAGE_NBYTES, finding, kernel
from .interfaces import fabric_devices, interfaces, port_rates

PROCESSORS = "sys/devices/system/cpu/cpu[0-9]*"
CLOSE_NBYTES, CLOSE_DELTA, CLOSE_TURNS, CLOSE_COPIES = 64 * 1024, 16, 20, 4
SHARED_NBYTES = 7 << 20  # of /dev/shm for each rank, and once: MPICH 5 dies with less, others take less
READINGS, BLOCK = 1000, 100  # of the clock, see `timer`
# Variables of Open MPI's launcher:
INTERNAL = frozenset({f"OMPI_MCA_{name}" for name in ("PREFIXES", "initial_wdir", "num_procs", "cpu_type")})
# Everything else in the environment is not read: it may hold secrets.
VARIABLE_PREFIXES = ("OMPI_MCA_", "MPIR_CVAR_", "MPICH_", "UCX_", "FI_", "PSM2_", "I_MPI_", "OMP_", "GLOO_")
VARIABLE_NAMES = frozenset(
    {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODELIST"}
    | {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_CLUSTER_NAME"}  # no account
    | {
        "SLURM_TASKS_PER_NODE",
        "SLURM_NTASKS",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_CPUS_PER_TASK",
        "SLURM_CPU_BIND",
        "SLURM_DISTRIBUTION",
    }
    | {"PBS_JOBID", "LSB_JOBID", "MPI4PY_RC_THREAD_LEVEL", "GLIBC_TUNABLES"}
)
OF_A_SECRET = re.compile("token|passw|secret|credential", re.IGNORECASE)
NOT_STORED = "not_stored"
KEY_OF_JOB = "OMPI_MCA_orte_precondition_transports"  # a secret of Open MPI's own
NAME_AND_VALUE = ("-env", "--env", "-genv", "--genv")  # options of launchers: name and value of a variable follow
SETTING = re.compile(r"(^|[,;])([A-Za-z_]\w*)=((?:(?![,;][A-Za-z_]\w*=).)*)", re.DOTALL)  # also several in a word


def allowed_variables(environ) -> dict[str, str]:
    """Return the variables on the allow-list, sorted by name."""
    names = {name for name in environ if is_stored(name)}
    return {name: NOT_STORED if name == KEY_OF_JOB else environ[name] for name in sorted(names - INTERNAL)}


def is_stored(name: str) -> bool:
    """Return whether the value of this variable is on the allow-list; a name that speaks of a secret never is."""
    return (name.startswith(VARIABLE_PREFIXES) and not OF_A_SECRET.search(name)) or name in VARIABLE_NAMES


def stored_setting(setting: str) -> str:
    """Return NAME=VALUE as it is stored: without the value, unless the variable is on the allow-list."""
    name, equals, _ = setting.partition("=")
    return setting if is_stored(name) or not equals else f"{name}={NOT_STORED}"


def drop_values(words: Iterable[str]) -> list[str]:
    """Return the words of a command; of variables that they set, values are kept only on the allow-list.

    Such are `NAME=VALUE`, `--export=NAME=VALUE,…` and `-genv NAME VALUE`, also within a word of several words.
    """
    shown: list[str] = []
    words = list(words)
    for option, name, word in zip(["", "", *words], ["", *words], words):
        if option in NAME_AND_VALUE and "=" not in name:
            shown.append(word if is_stored(name) else NOT_STORED)
        else:
            shown.append(_drop_values_within(word))
    return shown


def _drop_values_within(word: str) -> str:
    option, equals, settings = word.partition("=") if word.startswith(("--export=", "--env=")) else ("", "", word)
    dropped = f"{option}{equals}{SETTING.sub(_drop_value, settings)}"
    if dropped != word or len(word.split()) < 2:
        return dropped
    import shlex  # late: few ranks see such a word

    try:
        parts = shlex.split(word)
    except ValueError:  # a quote is open: no launcher takes it
        parts = word.split()
    kept = drop_values(parts)
    return word if kept == parts or len(parts) < 2 else shlex.join(kept)


def _drop_value(setting: re.Match[str]) -> str:
    before, name, _ = setting.groups()
    return setting[0] if is_stored(name) else f"{before}{name}={NOT_STORED}"


def host() -> str:
    """Return the name of this node."""
    return platform.node()


def node_facts() -> dict:
    """Return the facts of this node: processor, memory, network, container, load, versions; None: unknown."""
    return {
        "host": host(),
        "processor": _processor(),
        "processor_family": _processor_family(),
        "cores": cores(),
        "threads": os.cpu_count(),
        "governors": _governors(),
        "load_1min": load(),
        "cpu_quota": kernel.cpu_quota(),
        "container": kernel.container(os.environ),
        "memory_nbytes": memory(),
        "free_memory_nbytes": free_memory(),
        "huge_pages": huge_pages(),
        "copying": copying(),
        "timer": timer(),
        "port_rates_bytes_per_s": port_rates(),
        "interfaces": [way._asdict() for way in interfaces() if way.address or not way.virtual],
        "fabric_devices": fabric_devices(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {name: sys.modules[name].__version__ for name in ("mpi4py", "numpy") if name in sys.modules},
        "allreduce_bench": __version__,
    }


def cores() -> int:
    """Return the cores of this node, regardless of affinity; hardware threads of one core count once."""
    siblings = {kernel.read(path) for path in kernel.matching_paths(f"{PROCESSORS}/topology/thread_siblings_list")}
    return len(siblings - {None}) or os.cpu_count() or 1


def affinity() -> frozenset[int] | None:
    """Return the hardware threads that this process may use; None: unknown."""
    with suppress(AttributeError, OSError):
        return frozenset(os.sched_getaffinity(0))
    return None


def load() -> float | None:
    """Return the load average of the last minute; None: unknown."""
    with suppress(AttributeError, OSError):
        return os.getloadavg()[0]
    return None


def _processor() -> str:
    match = re.search(r"model name\s*:\s*(.+)", kernel.read_lasting("proc/cpuinfo") or "")
    return match[1].strip() if match else platform.processor() or platform.machine()


def _processor_family() -> str | None:
    """Return `family 25, model 1, stepping 1` on x86, which names like `AMD EPYC` omit; None: unknown."""
    text = kernel.read_lasting("proc/cpuinfo") or ""
    found = [
        (word, match[1])
        for word, key in (("family", "cpu family"), ("model", "model"), ("stepping", "stepping"))
        if (match := re.search(rf"^{key}\s*:\s*(\d+)", text, re.MULTILINE))
    ]
    return ", ".join(f"{word} {number}" for word, number in found) or None


def copying() -> dict:
    """Return what determines the speed of copies: C library, `fsrm`, `close_factor`; None: unknown.

    `fsrm`: whether the processor reports that its `rep movsb` is fast for short lengths; `close_factor`: see
    `close_copy_factor`.
    """
    flags, libc = re.search(r"flags\s*:\s*(.+)", kernel.read_lasting("proc/cpuinfo") or ""), None
    with suppress(AttributeError, ValueError, OSError):
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    return {"libc": libc, "fsrm": flags and "fsrm" in flags[1].split(), "close_factor": close_copy_factor()}


def close_copy_factor() -> float:
    """Return the time ratio of copies with and without an offset of CLOSE_DELTA bytes modulo a page.

    CLOSE_NBYTES are copied; each time is the shortest of CLOSE_TURNS turns, which take 1 ms together.

    glibc copies 2 KiB and more with `rep movsb` if the processor reports that this is fast; AMD Zen 3 and 4 take 5 to 9
    times as long for an offset of 1 to 31 bytes (glibc bug 30994).
    """
    import numpy as np  # late: a login node asks for facts, too

    block = np.zeros(2 * CLOSE_NBYTES + 3 * PAGE_NBYTES, np.uint8)
    first = -block.ctypes.data % PAGE_NBYTES
    source = block[first : first + CLOSE_NBYTES]
    least_s = {0: float("inf"), CLOSE_DELTA: float("inf")}
    for _ in range(CLOSE_TURNS):
        for delta in least_s:
            begin = first + CLOSE_NBYTES + PAGE_NBYTES + delta
            into = block[begin : begin + CLOSE_NBYTES]
            begun = perf_counter()
            for _ in range(CLOSE_COPIES):
                np.copyto(into, source)
            least_s[delta] = min(least_s[delta], perf_counter() - begun)
    return least_s[CLOSE_DELTA] / least_s[0]


def _governors() -> list[str]:
    """Return the distinct frequency governors of the processors; empty: unknown."""
    governors = {kernel.read(path) or "" for path in kernel.matching_paths(f"{PROCESSORS}/cpufreq/scaling_governor")}
    return sorted(governors - {""})


def memory() -> int | None:
    """Return the memory of this node in bytes; None: unknown."""
    return _meminfo_nbytes("MemTotal", kernel.read_lasting("proc/meminfo"))


def free_memory() -> int | None:
    """Return the bytes available to new buffers without swapping and within the control group; None: unknown."""
    limits_nbytes = [
        size_bytes
        for size_bytes in (_meminfo_nbytes("MemAvailable", kernel.read("proc/meminfo")), kernel.memory_left())
        if size_bytes is not None
    ]
    return min(limits_nbytes, default=None)


def small_shared_memory(ranks: int) -> dict | None:
    """Return the finding that /dev/shm has too little room for so many ranks of this node; None: enough, or unknown."""
    try:
        stat = os.statvfs(kernel.ROOT / "dev/shm")
    except OSError:
        return None
    free_nbytes, needed_nbytes = stat.f_bavail * stat.f_frsize, (ranks + 1) * SHARED_NBYTES
    if free_nbytes >= needed_nbytes:
        return None
    return finding(
        "shared memory",
        "caution",
        f"/dev/shm has {format_size(free_nbytes)} of {format_size(stat.f_blocks * stat.f_frsize)} free",
        "ranks of one node exchange messages there: without room they die, or their messages take TCP",
        f"give the container more, at least {format_size(needed_nbytes)} for {ranks} ranks (docker run --shm-size=1g), "
        "or remove what ended ranks have left there",
    )


def huge_pages() -> dict | None:
    """Return {"transparent": `always`, `madvise` or `never`, "reserved": number of pages}; None: unknown."""
    transparent = re.search(r"\[(\w+)\]", kernel.read("sys/kernel/mm/transparent_hugepage/enabled") or "")
    reserved = re.search(r"HugePages_Total:\s*(\d+)", kernel.read_lasting("proc/meminfo") or "")
    if not transparent and not reserved:
        return None
    return {"transparent": transparent and transparent[1], "reserved": reserved and int(reserved[1])}


def _meminfo_nbytes(key: str, text: str | None) -> int | None:
    match = re.search(rf"{key}:\s*(\d+) kB", text or "")
    return int(match[1]) * 1024 if match else None


def timer() -> dict:
    """Return seconds of perf_counter: `resolution_s` as declared, `step_s` the smallest seen, `cost_s` per call.

    `step_s` is None if the clock did not advance during READINGS calls. The cost is that of the fastest BLOCK, to
    exclude times in which the process was not scheduled.
    """
    readings = [perf_counter() for _ in range(READINGS)]
    steps = [later - earlier for earlier, later in pairwise(readings) if later > earlier]
    return {
        "resolution_s": get_clock_info("perf_counter").resolution,
        "cost_s": min(end - begin for begin, end in zip(readings, readings[BLOCK:])) / BLOCK,
        "step_s": min(steps, default=None),
    }


# Virtual hosts of one machine: their ranks share its cores, and their links have a known rate


MTU = 9000
ETHERNET = 14  # bytes of a frame's header
LATE_S = 0.5e-3  # delay of the kernel's timer


def bucket_nbytes(rate_bytes_per_s: float, mtu: int = MTU) -> float:
    """Return the bytes that a link passes at once after a pause: one frame, and the arrivals during a timer's delay."""
    return mtu + ETHERNET + rate_bytes_per_s * LATE_S


def virtual_finding(ranks: int, cores: int, shared: bool, rates_bytes_per_s: Sequence[float]) -> dict:
    """Return the finding that the hosts of `ranks` ranks are virtual, with a rate for each host's link.

    `shared`: there are more ranks than hardware threads.
    """
    return finding(
        "virtual",
        "caution" if shared else "info",
        f"{describe(rates_bytes_per_s)}: {ranks} rank{'s' * (ranks > 1)} on {cores} core{'s' * (cores > 1)}"
        + (", waiting ranks yield" if shared else ""),
        "large messages take the time of the links; small messages take the time of the cores, which all ranks share",
        "compare times of large messages with the rate of the links, and times of small ones only with each other",
    )


def describe(rates_bytes_per_s: Sequence[float]) -> str:
    """Return `4 virtual hosts of one machine, links of 100 Mbit/s`."""
    rates = [format_rate(rate) for rate in sorted(set(rates_bytes_per_s))]
    hosts = len(rates_bytes_per_s)
    links = f"{rates[0]} to {rates[-1]}" if len(rates) > 1 else rates[0]
    return f"{hosts} virtual host{'s' * (hosts > 1)} of one machine, links of {links}"

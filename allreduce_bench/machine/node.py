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
from ..message import say
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
NOT_STORED = "(not stored: looks like a secret)"
SECRET_NAMES = {  # name of a variable or an option -> values that are no secrets
    r"token|secret|passw|passphrase|pwd|cred|cookie|(?:api|access|private|ssh|signing)_?key": r"[01]?",
    r"(?:^|[_.-])(?:pass|sig)(?:$|[_.-])|_pin$": r"[+-]?[\d.]{0,3}|[a-z]{1,8}",  # a switch, a kind of pinning
    r"precondition_transports": r"",  # the key of PSM's connections
    r"(?:^|[_.-])(?:key|auth)(?:$|[_.-])": r"[+-]?[\d.]*|0x[0-9a-f]{1,16}|[a-z]{1,12}",  # a switch, a method
}
SECRET_VALUE = (  # of GitHub, GitLab, Slack, AWS, Google, OpenAI, Hugging Face; JWT; PEM; in a URL; in a header
    r"gh[pousr]_\w{16,}|github_pat_\w+|glpat-[\w-]+|xox[abeprs]-[\w-]+|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{30,}"
    r"|\bsk-[\w-]{20,}|hf_\w{20,}|npm_\w{16,}|[rs]k_(?:live|test)_\w{8,}|eyJ[\w-]+\.[\w-]+\.[\w-]*|-----BEGIN[\s\S]*|\w+://[^\s/:@]*:[^\s/@]+@\S*"
    r"|\b(?:[Bb]earer|[Bb]asic)\s+\S{6,}|(?:^|[?&;,\s])(?:access_token|token|sig|signature|pwd|password|secret)=[^&;\s]+"
)

SETTING = re.compile(r"([A-Za-z_]\w*)=(.+)", re.DOTALL)  # word that sets one variable
SETTINGS = re.compile(r"([\w.-]+)=((?:[^,;\s'\"]|;(?![\w.-]+=))+)")  # several, separated by commas or semicolons
SET_VARIABLES = ("-env", "-genv", "--env", "--genv", "-mca", "--mca")  # options that take a name and a value
WORD_OR_BLANKS = re.compile(r"\s+|(?:'[^']*'|\"[^\"]*\"|\\.|[^\s'\"]|['\"])+", re.DOTALL)  # quotes may be open


def allowed_variables(environ) -> dict[str, str]:
    """Return the variables on the allow-list, sorted by name; NOT_STORED for a value that looks like a secret."""
    names = {name for name in environ if name.startswith(VARIABLE_PREFIXES)} | (VARIABLE_NAMES & set(environ))
    return {name: _not_secret(name, environ[name]) for name in sorted(names - INTERNAL)}


def hide_secrets(words: Iterable[str]) -> list[str]:
    """Replace what looks like a secret in the words of a command by NOT_STORED: `--token X`, `TOKEN=X`, or a value.

    Covers `-env TOKEN X`, as Hydra and Intel MPI set variables, and options joined to one word with blanks.
    """
    hidden, before, name = [], "", ""
    for word in words:
        if setting := SETTING.fullmatch(word):
            shown = _hide_in(word) if _not_secret(*setting.groups()) != NOT_STORED else f"{setting[1]}={NOT_STORED}"
        elif "-----BEGIN" in word:
            shown = NOT_STORED
        else:
            shown = _hide_in_options(word) if len(word.split()) > 1 else _hide_in(word)
        hidden.append(_not_secret(name, shown))
        before, name = word, _name_of_next(before, word)
    return hidden


def _hide_in_options(text: str) -> str:
    """Hide secrets in a string of options, as of --launcher-args; blanks are kept, quoted values are one word."""
    shown, before, name = [], "", ""
    for word in WORD_OR_BLANKS.findall(text):
        if word.isspace():
            shown.append(word)
            continue
        setting = SETTING.fullmatch(word.strip("'\""))
        is_secret = setting and _not_secret(setting[1], setting[2].strip("'\"")) == NOT_STORED
        shown.append(_not_secret(name, f"{setting[1]}={NOT_STORED}" if setting and is_secret else _hide_in(word)))
        before, name = word, _name_of_next(before, word)
    return "".join(shown)


def _name_of_next(before: str, word: str) -> str:
    """Return the option or variable whose value follows `word`; empty: none."""
    if before in SET_VARIABLES and "=" not in word:
        return word
    return word.lstrip("-") if word.startswith("-") and "=" not in word and " " not in word else ""


def _hide_in(word: str) -> str:
    """Hide secrets in a word that may hold NAME=VALUE, also several, separated by commas or semicolons."""
    parts = [_hide_settings(part) for part in re.split(r"(\s+)", word)]
    return "".join(parts)


def _hide_settings(word: str) -> str:
    settings = SETTINGS.sub(_hide_setting, word)
    return settings if settings != word else _not_secret("", word)


def _hide_setting(found: re.Match[str]) -> str:
    """Hide a secret in one setting, whose value may itself be one, as in --env=NAME=VALUE."""
    name, value = found.groups()
    within, equals, rest = value.partition("=")
    shown = _not_secret(name, value)
    return f"{name}={shown if shown != value else within + equals + _not_secret(within, rest)}"


def _not_secret(name: str, value: str) -> str:
    """Return the value, or NOT_STORED."""
    is_named = any(
        re.search(names, name, re.IGNORECASE) and not re.fullmatch(settings, value, re.IGNORECASE)
        for names, settings in SECRET_NAMES.items()
    )
    runs = re.findall(r"[A-Za-z0-9]{24,}", value) if value.count("/") < 2 else ()  # paths contain hashes of packages
    is_secret = is_named or re.search(SECRET_VALUE, value) or any(map(_is_random, runs))
    return NOT_STORED if is_secret and NOT_STORED not in value else value


def _is_random(letters: str) -> bool:
    """Return whether letters and digits alternate as in no word, path or mask of cores."""
    kinds = ["digit" if letter.isdigit() else letter.isupper() for letter in letters]
    changes = sum(one != other for one, other in pairwise(kinds))
    return len(set(letters)) >= 10 and changes >= 0.3 * len(letters)


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
        nbytes
        for nbytes in (_meminfo_nbytes("MemAvailable", kernel.read("proc/meminfo")), kernel.memory_left())
        if nbytes is not None
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
        say("machine.large_messages_take_time"),
        say("machine.compare_times_large_messages"),
    )


def describe(rates_bytes_per_s: Sequence[float]) -> str:
    """Return `4 virtual hosts of one machine, links of 100 Mbit/s`."""
    rates = [format_rate(rate) for rate in sorted(set(rates_bytes_per_s))]
    hosts = len(rates_bytes_per_s)
    links = f"{rates[0]} to {rates[-1]}" if len(rates) > 1 else rates[0]
    return say("machine.virtual_host_machine_links", hosts=hosts, value="s" * (hosts > 1), links=links)

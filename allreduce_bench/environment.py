"""What this machine was: MPI, processors, memory, versions, and the variables that steer an MPI.

mpi4py is imported only where its ranks ask: on some login nodes the import ends the interpreter.
"""

import os
import platform
import re
import sys
from contextlib import suppress
from pathlib import Path

from . import __version__
from .topology import Topology
from .units import format_ranges

# Of Open MPI's launcher:
INTERNAL = frozenset({f"OMPI_MCA_{name}" for name in ("PREFIXES", "initial_wdir", "num_procs", "cpu_type")})
# Everything else in the environment stays unread: it may hold secrets.
VARIABLE_PREFIXES = ("OMPI_MCA_", "MPIR_CVAR_", "MPICH_", "UCX_", "FI_", "PSM2_", "I_MPI_", "OMP_", "GLOO_")
VARIABLE_NAMES = frozenset(
    {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODELIST"}
    | {"SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND", "SLURM_DISTRIBUTION"}
    | {"PBS_JOBID", "LSB_JOBID", "MPI4PY_RC_THREAD_LEVEL"}
)


def allowed_variables(environ) -> dict[str, str]:
    """The variables on the allow-list, sorted by name."""
    names = {name for name in environ if name.startswith(VARIABLE_PREFIXES)} | (VARIABLE_NAMES & set(environ))
    return {name: environ[name] for name in sorted(names - INTERNAL)}


def host() -> str:
    """The name of this node."""
    return platform.node()


def machine() -> dict:
    """This node: host name, processor, cores, memory, load, kernel, versions."""
    return {
        "host": host(),
        "processor": _first_match("/proc/cpuinfo", r"model name\s*:\s*(.+)")
        or platform.processor()
        or platform.machine(),
        "cores": cores(),
        "memory_nbytes": _meminfo("MemTotal"),
        "load_1min": os.getloadavg()[0],
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {name: sys.modules[name].__version__ for name in ("mpi4py", "numpy") if name in sys.modules},
        "allreduce_bench": __version__,
    }


def cores() -> int:
    """Cores of this node, whatever this process is bound to; hardware threads of one core count once."""
    siblings = set()
    for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list"):
        with suppress(OSError):
            siblings.add(path.read_text(encoding="utf-8"))
    return len(siblings) or os.cpu_count() or 1


def affinity() -> str | None:
    """The cores (as the system numbers them) that this process may run on: `0-3,8`; None where it does not tell."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    try:
        return format_ranges(os.sched_getaffinity(0))
    except OSError:
        return None


def free_memory() -> int | None:
    """Bytes that new buffers can take on this node without swapping; None where the system does not tell."""
    return _meminfo("MemAvailable")


def nodes_of(comm) -> Topology:
    """Which ranks of the mpi4py communicator share memory, by MPI's own split."""
    from mpi4py import MPI  # late: see the module's docstring

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    leader = node.bcast(comm.rank)
    node.Free()
    return Topology.from_labels(comm.allgather(leader))


def mpi_facts() -> dict:
    """The MPI library of this process, its thread level, and how it was found."""
    from mpi4py import MPI  # late: see the module's docstring

    levels = {
        MPI.THREAD_SINGLE: "single",
        MPI.THREAD_FUNNELED: "funneled",
        MPI.THREAD_SERIALIZED: "serialized",
        MPI.THREAD_MULTIPLE: "multiple",
    }
    return {
        "library": library_name(MPI.Get_library_version()),
        "mpi_standard": ".".join(map(str, MPI.Get_version())),
        "thread_level": levels[MPI.Query_thread()],
    }


def library_name(version_text: str) -> str:
    """`Open MPI 5.0.11`, `MPICH 5.0.2` or the first line of what another library says of itself."""
    for name, pattern in (("Open MPI", r"Open MPI v?(\S+?),"), ("MPICH", r"MPICH Version:\s*(\S+)")):
        if match := re.search(pattern, version_text):
            return f"{name} {match[1]}"
    return version_text.strip("\0 \n").splitlines()[0].strip()


def findings(ranks_of_node: list[int], cores_of_node: list[int], load: float, declared_nodes: int | None) -> list[dict]:
    """What a reader must know before trusting the times: a list of {code, text}."""
    found = []
    if oversubscribed(ranks_of_node, cores_of_node):
        worst = max(zip(ranks_of_node, cores_of_node), key=lambda pair: pair[0] / pair[1])
        text = f"oversubscribed: {worst[0]} ranks on a node of {worst[1]} cores; ranks wait for each other's turns"
        found.append({"code": "oversubscribed", "text": text})
    elif load > 0.5 * max(cores_of_node):
        text = f"the load average was {load:.1f} on {max(cores_of_node)} cores before the launch; others were at work"
        found.append({"code": "loaded", "text": text})
    if declared_nodes is not None:
        text = f"{declared_nodes} nodes were declared, not real: times between them are times inside one machine"
        found.append({"code": "pretended", "text": text})
    return found


def oversubscribed(ranks_of_node: list[int], cores_of_node: list[int]) -> bool:
    """Whether some node has more ranks than cores."""
    return any(ranks > available for ranks, available in zip(ranks_of_node, cores_of_node))


def program() -> list[str]:
    """The command line that starts this program with the same interpreter."""
    return [sys.executable, "-m", "allreduce_bench"]


def _meminfo(key: str) -> int | None:
    kilobytes = _first_match("/proc/meminfo", rf"{key}:\s*(\d+) kB")
    return int(kilobytes) * 1024 if kilobytes else None


def _first_match(path: str, pattern: str) -> str | None:
    try:
        match = re.search(pattern, Path(path).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return match[1].strip() if match else None

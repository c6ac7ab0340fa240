"""Start of a rank: the launcher's variables, readable before MPI_Init, and a stopwatch of the phases.

With thousands of processes the start is a storm of file-system calls and connections that can take longer than the
measurement. `python_s` ends at our first line, `import_s` after the imports of mpi4py, numpy and our modules, `init_s`
after MPI_Init, `first_collective_s` after the first barrier, which waits for the last rank.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence


class OtherLauncher(RuntimeError):
    """Error: the mpirun or srun that started the ranks belongs to another MPI than mpi4py uses."""


def under_launcher(environ: Mapping[str, str]) -> bool:
    """Return whether an mpirun or srun started this process as one rank of several."""
    if any(name in environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK")):
        return True
    step = environ.get("SLURM_STEP_ID", "")  # high numbers: batch scripts and interactive shells; so is one task
    return step.isdigit() and int(step) < 0xFFFFFFF0 and environ.get("SLURM_STEP_NUM_TASKS", "1") != "1"


def watched(environ: Mapping[str, str]) -> bool:
    """Return whether `run` or `exec` started this process and watches it."""
    from ..watching.lifeline import MONITOR_VARIABLE  # late: the stopwatch starts where this module is loaded

    return MONITOR_VARIABLE in environ


def size_of(environ: Mapping[str, str]) -> int | None:
    """Return the number of ranks from the launcher's variables; None: unknown."""
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        if environ.get(name, "").isdigit():
            return int(environ[name])
    return None


def ranks_on_this_node(environ: Mapping[str, str]) -> int | None:
    """Return the number of ranks on this node from the launcher's variables, before MPI_Init; None: unknown."""
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE", "PMI_SIZE"):
        if digits := environ.get(name, "").split("(")[0].split(",")[0]:
            return int(digits) if digits.isdigit() else None
    return None


def rank_of(environ: Mapping[str, str]) -> int:
    """Return the rank of this process from the launcher's variables, before MPI_Init; 0 if none is set."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        if environ.get(name, "").isdigit():
            return int(environ[name])
    return 0


def thread_level(asked: str, ranks_here: int | None) -> str:
    """Return the thread level to initialise MPI with; `auto` is single, and multiple if ranks outnumber cores.

    MPI_THREAD_MULTIPLE costs MPICH up to three times the latency, but lets its ranks yield to each other.
    """
    if asked != "auto":
        return asked
    from ..machine.node import cores  # late: the stopwatch starts where this module is loaded

    return "multiple" if ranks_here is not None and ranks_here > cores() else "single"


class Startup:
    """Stopwatch that starts when it is made."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter, before_s: float | None = None):
        """Start; `before_s`: age of the process in seconds; None: unknown."""
        self._clock, self._last = clock, clock()
        self.phases: dict[str, float] = {} if before_s is None else {"python_s": before_s}

    def mark(self, phase: str) -> None:
        """End `phase`, which began at the end of the last one."""
        now = self._clock()
        self.phases[phase], self._last = now - self._last, now


def age_of_process(stat: str | None = None) -> float | None:
    """Return the age of this process in seconds, to 10 ms, from /proc/self/stat (`stat`); None: unknown."""
    try:
        if stat is None:
            with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
                stat = file.read()
        began = int(stat.rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")  # the name may hold blanks
    except (OSError, ValueError, IndexError):
        return None
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)


def slowest(phases_of_ranks: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return every phase's maximum over ranks, seconds."""
    names = dict.fromkeys(name for phases in phases_of_ranks for name in phases)
    return {name: max(phases[name] for phases in phases_of_ranks if name in phases) for name in names}


def hold_back_mpi() -> None:
    """Keep the import of mpi4py.MPI from initialising MPI, to time it separately; `start_mpi` initialises."""
    import mpi4py

    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True


def start_mpi(thread_level: str) -> None:
    """Initialise MPI at single, funneled, serialized or multiple; wait for all ranks once.

    Marks `import_s`, `init_s` and `first_collective_s` of STARTUP. Raises OtherLauncher where MPI_Init would abort.
    """
    from mpi4py import MPI

    STARTUP.mark("import_s")
    _refuse_pmix(MPI.Get_library_version(), os.environ)
    MPI.Init_thread(getattr(MPI, f"THREAD_{thread_level.upper()}"))
    STARTUP.mark("init_s")
    MPI.COMM_WORLD.Barrier()
    STARTUP.mark("first_collective_s")
    if MPI.Get_library_version().startswith("MPICH"):
        from ..machine.shared_memory import drop_names_of_mpich  # late: as above

        drop_names_of_mpich()


def _refuse_pmix(version_text: str, environ: Mapping[str, str]) -> None:
    """Raise OtherLauncher if PMIx started this rank of an MPICH that was built without it."""
    if "PMIX_NAMESPACE" in environ and version_text.startswith("MPICH") and "pmix" not in version_text:
        raise OtherLauncher(f"the ranks were started by PMIx, but this MPICH has none: {_right_launcher(environ)}")


def refuse_lone_ranks(seen: int, environ: Mapping[str, str]) -> None:
    """Raise OtherLauncher if MPI sees another number of ranks than were started: each would run alone."""
    if (started := size_of(environ)) not in (None, seen):
        raise OtherLauncher(f"{started} ranks were started, but MPI sees {seen}: {_right_launcher(environ)}")


def _right_launcher(environ: Mapping[str, str]) -> str:
    """Return what is wrong with the launcher of these ranks, and what to do."""
    if "OMPI_COMM_WORLD_SIZE" in environ or "SLURM_STEP_NUM_TASKS" not in environ:
        return "this mpirun or srun belongs to another MPI than mpi4py uses; allreduce-bench doctor names the right one"
    return (
        "srun does not support mpi4py's MPI this way; use srun --mpi=pmix or --mpi=pmi2, or run without srun; "
        "allreduce-bench doctor --slurm shows what works"
    )


STARTUP = Startup(before_s=age_of_process())  # of this process

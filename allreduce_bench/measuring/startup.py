"""The start of a rank: what a launcher tells it before MPI may be asked, and a stopwatch of the phases that follow.

In thousands of processes the start is a storm of file-system calls and connections that can take longer than what is
measured. `python_s` ends at the first line of ours, `import_s` where mpi4py, numpy and our modules are imported,
`init_s` after MPI_Init, `first_collective_s` after the first barrier, which waits for the last rank to come.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence


def under_launcher(environ: Mapping[str, str]) -> bool:
    """Whether some mpirun or srun started this process as one rank of several."""
    if any(name in environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK")):
        return True
    step = environ.get("SLURM_STEP_ID", "")  # high numbers are batch scripts and interactive shells, as is one task
    return step.isdigit() and int(step) < 0xFFFFFFF0 and environ.get("SLURM_STEP_NUM_TASKS", "1") != "1"


def watched(environ: Mapping[str, str]) -> bool:
    """Whether `run` or `exec` started this process and watches it."""
    from ..watching.lifeline import MONITOR_VARIABLE  # late: the stopwatch starts where this module is loaded

    return MONITOR_VARIABLE in environ


def size_of(environ: Mapping[str, str]) -> int | None:
    """How many ranks the launcher started, as its variables say; None: unknown."""
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        if environ.get(name, "").isdigit():
            return int(environ[name])
    return None


def ranks_on_this_node(environ: Mapping[str, str]) -> int | None:
    """How many ranks the launcher started here, as its variables say before MPI can be asked; None: unknown."""
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE", "PMI_SIZE"):
        if digits := environ.get(name, "").split("(")[0].split(",")[0]:
            return int(digits) if digits.isdigit() else None
    return None


def rank_of(environ: Mapping[str, str]) -> int:
    """The rank of this process, as the launcher's variables say before MPI can be asked; 0 where none say."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        if environ.get(name, "").isdigit():
            return int(environ[name])
    return 0


def thread_level(asked: str, ranks_here: int | None) -> str:
    """The thread level to initialise MPI with; `auto` is single, and multiple where ranks outnumber cores.

    MPI_THREAD_MULTIPLE costs MPICH up to three times the latency, but lets its ranks give way to each other.
    """
    if asked != "auto":
        return asked
    from ..machine.node import cores  # late: the stopwatch starts where this module is loaded

    return "multiple" if ranks_here is not None and ranks_here > cores() else "single"


class Startup:
    """A stopwatch that starts when it is made."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter, before_s: float | None = None):
        """`before_s`: how long the process was there already, seconds; None: unknown."""
        self._clock, self._last = clock, clock()
        self.phases: dict[str, float] = {} if before_s is None else {"python_s": before_s}

    def mark(self, phase: str) -> None:
        """End `phase`, which began where the last one ended."""
        now = self._clock()
        self.phases[phase], self._last = now - self._last, now


def age_of_process(stat: str | None = None) -> float | None:
    """Seconds since this process began, to 10 ms; `stat` is /proc/self/stat; None where the system does not tell."""
    try:
        if stat is None:
            with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
                stat = file.read()
        began = int(stat.rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")  # the name may hold blanks
    except (OSError, ValueError, IndexError):
        return None
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)


def slowest(phases_of_ranks: Sequence[dict[str, float]]) -> dict:
    """Every phase's maximum over ranks, seconds, and under `slowest_rank` who that was; phases[rank]."""
    names = dict.fromkeys(name for phases in phases_of_ranks for name in phases)
    ranks = {name: _slowest_rank(phases_of_ranks, name) for name in names}
    return {**{name: phases_of_ranks[rank][name] for name, rank in ranks.items()}, "slowest_rank": ranks}


def _slowest_rank(phases_of_ranks: Sequence[dict[str, float]], name: str) -> int:
    return max(range(len(phases_of_ranks)), key=lambda rank: phases_of_ranks[rank].get(name, -1.0))


def hold_back_mpi() -> None:
    """From here on importing mpi4py.MPI initialises nothing, so that its import is timed apart; `start_mpi` does."""
    import mpi4py

    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True


def start_mpi(thread_level: str) -> None:
    """Initialise MPI, held back until now, at single, funneled, serialized or multiple; meet all ranks once.

    Marks `import_s`, `init_s` and `first_collective_s` of STARTUP.
    """
    from mpi4py import MPI

    STARTUP.mark("import_s")
    MPI.Init_thread(getattr(MPI, f"THREAD_{thread_level.upper()}"))
    STARTUP.mark("init_s")
    MPI.COMM_WORLD.Barrier()
    STARTUP.mark("first_collective_s")


STARTUP = Startup(before_s=age_of_process())  # of this process

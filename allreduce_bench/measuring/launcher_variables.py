"""What a launcher's variables tell a process before it may ask MPI."""

from collections.abc import Mapping

from ..machine.node import cores


def under_launcher(environ: Mapping[str, str]) -> bool:
    """Whether some mpirun or srun started this process as one rank of several."""
    if any(name in environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK")):
        return True
    step = environ.get("SLURM_STEP_ID", "")  # high numbers are batch scripts and interactive shells, as is one task
    return step.isdigit() and int(step) < 0xFFFFFFF0 and environ.get("SLURM_STEP_NUM_TASKS", "1") != "1"


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
    return "multiple" if ranks_here is not None and ranks_here > cores() else "single"

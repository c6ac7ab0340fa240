"""Slurm's srun, which starts the ranks without an mpirun."""

import re
import shlex
import subprocess

from ...runs.hosts import slots_of
from ...runs.start import Start
from ..launcher import Launcher, LaunchError, refuse, with_variables
from ..layout import nodes_for, ranks_a_node

PREFERRED = {  # PMI kinds of --mpi per library, best first
    "Open MPI 4": ("pmix", "pmi2"),
    "Open MPI": ("pmix",),
    "MPICH": ("pmi2", "pmix"),
}
PATIENCE_S = 60.0


def command(launcher: Launcher, ranks: int, start: Start, program: list[str]) -> list[str]:
    """Return the command that starts `ranks` ranks. Raises LaunchError, InterfaceError."""
    refuse(start, ("remote_shell",), "srun", "leave it out; srun reaches the nodes without a shell")
    argv = [launcher.program, "-n", str(ranks), *launcher.options, "--kill-on-bad-exit=1"]
    if nodes := nodes_for(ranks, start):
        argv += ["-N", str(nodes), f"--ntasks-per-node={ranks_a_node(ranks, start)}"]
    if start.hosts:
        if any(slots_of(host)[1] for host in start.hosts):
            raise LaunchError(
                "--hosts with slots: srun does not support slots", "give host names only and add --ranks-per-node"
            )
        argv += ["-w", ",".join(start.hosts[:nodes])]
    if start.map_by:
        argv.append(f"--distribution={start.map_by}")
    if start.bind_to:
        argv.append(f"--cpu-bind={start.bind_to}")
    return [*argv, *shlex.split(start.launcher_args), *with_variables(start, program)]


def options_for(program: str, library: str, launcher_args: str) -> tuple[str, ...]:
    """Return `--mpi=…` for this srun and library; empty if the library is unknown or the user sets it.

    Raises LaunchError if srun supports no kind that the library understands.
    """
    understood = kinds_of_library(library)
    if not understood or "--mpi" in launcher_args:
        return ()
    known_to_srun = kinds_of_srun(program)
    for kind in understood:
        if kind in known_to_srun:
            return (f"--mpi={kind}",)
    raise LaunchError(
        (
            f"{library} needs {' or '.join(understood)}, but 'srun --mpi=list' offers "
            f"{', '.join(sorted(known_to_srun)) or 'none'}"
        ),
        "use mpirun, or set --launcher-args '--mpi=…'",
    )


def kinds_of_library(library: str) -> tuple[str, ...]:
    """Return the kinds of PREFERRED that the library understands, best first; empty if the library is unknown."""
    return next((kinds for name, kinds in PREFERRED.items() if library.startswith(name)), ())


def kinds_of_srun(program: str) -> set[str]:
    """Return the kinds that this srun lists; none if it does not answer."""
    try:
        listing = subprocess.run(
            [program, "--mpi=list"], capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        return set()
    return set(re.findall(r"^(?:srun:)?\s*(\w+)$", listing.stdout + listing.stderr, re.MULTILINE))

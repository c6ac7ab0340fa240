"""Whether this is a login node: a scheduler is installed here while no job runs."""

import shutil
import subprocess
from collections.abc import Mapping

from .layout import SCHEDULERS

CONTROLLER_S = 5.0  # timeout


def idle_scheduler(environ: Mapping[str, str]) -> str | None:
    """Return the command of a scheduler installed here while no job runs, as on a login node; else None.

    Slurm counts only if its controller answers.
    """
    if any(environ.get(name) for name in SCHEDULERS.values()):
        return None
    commands = [name for name in SCHEDULERS if shutil.which(name, path=environ.get("PATH"))]
    return next((name for name in commands if name != "sbatch" or _controller_answers(environ)), None)


def _controller_answers(environ: Mapping[str, str]) -> bool:
    """Return whether a Slurm controller, or its backup, reports that it is up, within CONTROLLER_S."""
    program = shutil.which("scontrol", path=environ.get("PATH"))
    if program is None:
        return False
    try:
        command = [program, "ping"]
        ping = subprocess.run(command, env=dict(environ), capture_output=True, timeout=CONTROLLER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"is UP" in ping.stdout

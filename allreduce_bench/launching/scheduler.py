"""Which scheduler is on this node, and whether a job of it runs here."""

from collections.abc import Mapping

SCHEDULERS = {"sbatch": "SLURM_JOB_ID", "qsub": "PBS_JOBID", "bsub": "LSB_JOBID", "flux": "FLUX_JOB_ID"}
CONTROLLER_S = 5.0


def idle_scheduler(environ: Mapping[str, str]) -> str | None:
    """The command of a scheduler that exists here while no job runs, as on a login node; None: no such node.

    A Slurm of which only the programs are here, and no controller answers, is none.
    """
    if any(environ.get(name) for name in SCHEDULERS.values()):
        return None
    import shutil  # late: no rank asks

    found = [name for name in SCHEDULERS if shutil.which(name, path=environ.get("PATH"))]
    return next((name for name in found if name != "sbatch" or _controller_answers(environ)), None)


def _controller_answers(environ: Mapping[str, str]) -> bool:
    """Whether a Slurm controller, or the one in its place, says that it is up, within CONTROLLER_S."""
    import shutil  # late, too
    import subprocess

    program = shutil.which("scontrol", path=environ.get("PATH"))
    if program is None:
        return False
    try:
        command = [program, "ping"]
        ping = subprocess.run(command, env=dict(environ), capture_output=True, timeout=CONTROLLER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"is UP" in ping.stdout

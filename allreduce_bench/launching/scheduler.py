"""Which scheduler is on this node, and whether a job of it runs here."""

from collections.abc import Mapping

SCHEDULERS = {"sbatch": "SLURM_JOB_ID", "qsub": "PBS_JOBID", "bsub": "LSB_JOBID", "flux": "FLUX_JOB_ID"}
CONTROLLER_S = 5.0


def idle_scheduler(environ: Mapping[str, str]) -> str | None:
    """The command of a scheduler that exists here while no job runs, as on a login node; None: there is none.

    A Slurm whose programs are here but whose controller does not answer does not count.
    """
    if any(environ.get(name) for name in SCHEDULERS.values()):
        return None
    import shutil  # late: no rank asks

    commands = [name for name in SCHEDULERS if shutil.which(name, path=environ.get("PATH"))]
    return next((name for name in commands if name != "sbatch" or _controller_answers(environ)), None)


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

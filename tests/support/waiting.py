"""Waiting for jobs. `sbatch --wait` is not used: it looks after 2, 10, 42 … seconds only."""

import time

from allreduce_bench.slurm import commands
from allreduce_bench.slurm.commands import SlurmJob

PATIENCE_S = 120.0


def reached(number: str, *states: str, patience_s: float = PATIENCE_S) -> SlurmJob:
    """The job, when it is in one of these states of Slurm's. Fails when it was in none."""
    deadline = time.monotonic() + patience_s
    while (job := commands.find_jobs([number])[number]).state not in states:
        assert time.monotonic() < deadline, f"job {number} is {job.state} ({job.reason}), not {' or '.join(states)}"
        time.sleep(0.2)
    return job


def ended(number: str, patience_s: float = PATIENCE_S) -> SlurmJob:
    """The job, when it neither waits nor runs any more. Fails when it has not."""
    deadline = time.monotonic() + patience_s
    while (job := commands.find_jobs([number])[number]).queued or job.running:
        assert time.monotonic() < deadline, f"job {number} is {job.state} ({job.reason})"
        time.sleep(0.2)
    return job

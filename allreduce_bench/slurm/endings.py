"""The outcome of a job as text, from Slurm's state and from the job's own record. Pure."""

import signal
from typing import NamedTuple

from .job_states import FORGOTTEN, JobStates
from .parsing import SlurmJob, duration
from .tasks import JobTask

QUEUED, RUNNING, DONE, ENDED, UNSURE = "queued", "running", "done", "ended", "unsure"


class Ending(NamedTuple):
    """Where a job stands."""

    kind: str  # QUEUED, RUNNING, DONE, ENDED otherwise, or UNSURE
    event: str  # hit its time limit of 30:00
    reported: str = ""  # by the job itself

    @property
    def phrase(self) -> str:
        """The text for a table: was stopped: rank 3 died."""
        return f"{self.event}: {self.reported}" if self.reported else self.event

    @property
    def sentence(self) -> str:
        """The predicate after the name of the job: is still queued (Resources)."""
        return f"is still {self.phrase}" if self.active else self.phrase

    @property
    def reason(self) -> str:
        """The reason why a cell of the job has no time; follows the name of the job."""
        return self._replace(event="ended without measuring it").phrase if self.kind == DONE else self.sentence

    @property
    def active(self) -> bool:
        """Whether it may still measure something."""
        return self.kind in (QUEUED, RUNNING)


def ending(task: JobTask, states: JobStates) -> Ending:
    """The outcome of a job or of a task of a job array."""
    job = states.jobs.get(task.id)
    limit_s = job.limit_s if job and job.limit_s else task.limit_s
    if job is not None and (slurm_ending := by_slurm(job, limit_s)):
        return slurm_ending
    record = task.record
    if record is None:
        return _without_record(task, job)
    if record.requeued:
        return Ending(ENDED if job else UNSURE, "was requeued and has not restarted yet")
    if record.end == "done":
        return Ending(DONE, "done", record.why or "")
    if record.end == "warned":
        return Ending(ENDED, f"stopped before its time limit{_of_limit(limit_s)}")
    if record.end:
        event = {"refused": "refused to measure", "stopped": "was stopped"}.get(record.end, f"ended as {record.end}")
        return Ending(ENDED, event, record.why or "")
    if job is None:
        return Ending(UNSURE, "may be running, or ended without a message")
    return Ending(ENDED, _status_phrase(job) or "ended without a message (killed?)")


def by_slurm(job: SlurmJob, limit_s: float | None = None) -> Ending | None:
    """What a state of Slurm says that nobody knows better; None: the job itself knows better how it ended."""
    if job.queued:
        return Ending(QUEUED, f"queued ({job.reason})" if job.reason else "queued")
    if job.running:
        return Ending(RUNNING, f"running on {job.nodelist}" if job.nodelist else "running")
    lost_nodes = "one of its nodes" if set("[,") & set(job.nodelist) else "its node"
    event = {
        "TIMEOUT": f"hit its time limit{_of_limit(limit_s)}",
        "NODE_FAIL": f"lost {lost_nodes} {job.nodelist}" if job.nodelist else "lost a node",
        "BOOT_FAIL": "did not start: a node failed to boot",
        "OUT_OF_MEMORY": "ran out of memory",
        "CANCELLED": f"was cancelled by {job.by}" if job.by else "was cancelled",
        "PREEMPTED": "was preempted",
        "DEADLINE": "missed its deadline",
        "REVOKED": "was revoked",
    }.get(job.state)
    return Ending(ENDED, event) if event else None


def _without_record(task: JobTask, job: SlurmJob | None) -> Ending:
    if job is None:
        return Ending(UNSURE, "has not started to measure")

    if job.state == FORGOTTEN:
        return Ending(ENDED, "never started to measure; Slurm has no record of it")
    event = _status_phrase(job) or ("failed" if job.state == "FAILED" else "ended")
    pointer = f", see {task.output_file}" if task.output_file else ""
    return Ending(ENDED, f"{event} before it started to measure{pointer}")


def _status_phrase(job: SlurmJob) -> str:
    """How the script of a job ended, if it failed."""
    status, _, number = job.exit_code.partition(":")
    if number.isdecimal() and int(number):
        try:
            return f"was killed by {signal.Signals(int(number)).name}"
        except ValueError:
            return f"was killed by signal {number}"
    return f"ended with status {status}" if status.isdecimal() and int(status) else ""


def _of_limit(limit_s: float | None) -> str:
    """` of 30:00`; empty where it is not known."""
    return f" of {duration(limit_s)}" if limit_s else ""

"""What became of a job, in words: from what Slurm says and from what the job wrote of itself. Pure."""

import signal
from typing import NamedTuple

from .job_states import FORGOTTEN, JobStates
from .parsing import SlurmJob, duration
from .tasks import JobTask

QUEUED, RUNNING, DONE, ENDED, UNSURE = "queued", "running", "done", "ended", "unsure"


class Ending(NamedTuple):
    """Where a job stands."""

    kind: str  # QUEUED, RUNNING, DONE, ENDED otherwise, or UNSURE
    what: str  # hit its time limit of 30:00
    why: str = ""  # as the job said itself

    @property
    def words(self) -> str:
        """What a table says of it: was stopped: rank 3 died."""
        return f"{self.what}: {self.why}" if self.why else self.what

    @property
    def sentence(self) -> str:
        """What follows the name of the job: is still queued (Resources)."""
        return f"is still {self.words}" if self.active else self.words

    @property
    def reason(self) -> str:
        """Why a cell that the job was to measure has no time, after the name of the job."""
        return self._replace(what="ended without measuring it").words if self.kind == DONE else self.sentence

    @property
    def active(self) -> bool:
        """Whether it may still measure something."""
        return self.kind in (QUEUED, RUNNING)


def ending(task: JobTask, told: JobStates) -> Ending:
    """What became of a job or of a task of a job array."""
    job = told.jobs.get(task.id)
    limit_s = job.limit_s if job and job.limit_s else task.limit_s
    if job is not None and (known := by_slurm(job, limit_s)):
        return known
    record = task.record
    if record is None:
        return _without_record(task, job)
    if record.requeued:
        return Ending(ENDED if job else UNSURE, "was requeued, and has not begun again since")
    if record.end == "done":
        return Ending(DONE, "done", record.why or "")
    if record.end == "warned":
        return Ending(ENDED, f"stopped in time before its limit{_of(limit_s)}")
    if record.end:
        what = {"refused": "refused to measure", "stopped": "was stopped"}.get(record.end, f"ended as {record.end}")
        return Ending(ENDED, what, record.why or "")
    if job is None:
        return Ending(UNSURE, "may be running, or ended without a word")
    return Ending(ENDED, _status(job) or "ended without a word (killed?)")


def by_slurm(job: SlurmJob, limit_s: float | None = None) -> Ending | None:
    """What a state of Slurm says that nobody knows better; None: the job itself knows better how it ended."""
    if job.queued:
        return Ending(QUEUED, f"queued ({job.reason})" if job.reason else "queued")
    if job.running:
        return Ending(RUNNING, f"running on {job.nodelist}" if job.nodelist else "running")
    several = "one of its nodes" if set("[,") & set(job.nodelist) else "its node"
    words = {
        "TIMEOUT": f"hit its time limit{_of(limit_s)}",
        "NODE_FAIL": f"lost {several} {job.nodelist}" if job.nodelist else "lost a node",
        "BOOT_FAIL": "did not begin: a node did not boot",
        "OUT_OF_MEMORY": "ran out of memory",
        "CANCELLED": f"was cancelled by {job.by}" if job.by else "was cancelled",
        "PREEMPTED": "was preempted",
        "DEADLINE": "missed its deadline",
        "REVOKED": "was revoked",
    }.get(job.state)
    return Ending(ENDED, words) if words else None


def _without_record(task: JobTask, job: SlurmJob | None) -> Ending:
    if job is None:
        return Ending(UNSURE, "has not begun to measure")
    if job.state == FORGOTTEN:
        return Ending(ENDED, "never began to measure, and Slurm knows it no more")
    how = _status(job) or ("failed" if job.state == "FAILED" else "ended")
    where = f", see {task.said}" if task.said else ""
    return Ending(ENDED, f"{how} before it began to measure{where}")


def _status(job: SlurmJob) -> str:
    """How the script of a job ended, where that was not well."""
    status, _, number = job.exit_code.partition(":")
    if number.isdecimal() and int(number):
        try:
            return f"was ended by {signal.Signals(int(number)).name}"
        except ValueError:
            return f"was ended by signal {number}"
    return f"ended with status {status}" if status.isdecimal() and int(status) else ""


def _of(limit_s: float | None) -> str:
    """` of 30:00`; empty where it is not known."""
    return f" of {duration(limit_s)}" if limit_s else ""

"""The jobs of a sweep, and the tasks of its job arrays: as submitted, and as they wrote of themselves. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..runs.launch_choice import is_launch_chosen
from ..runs.plan import Launch
from .job_files import JOBS, StartRecord, Submission
from .parsing import id_parts

BY_HAND = 0  # number of no submission


@dataclass(frozen=True)
class JobTask:
    """A job, or a task of a job array, that measures launches of one run."""

    id: str  # as Slurm writes it: 12, or 12_3
    job_name: str
    nodes: int
    run: str  # name of the run in its sweep
    only: str  # the launches, as `run --only` takes them
    submission: int  # BY_HAND where the job was not submitted by us
    limit_s: float | None
    records: tuple[StartRecord, ...]  # of its starts, in order

    @property
    def name(self) -> str:
        """The job's own, for a task of an array that we submitted with its number."""
        task = id_parts(self.id)[1]
        return f"{self.job_name}-{task}" if task and self.submission != BY_HAND else self.job_name

    @property
    def record(self) -> StartRecord | None:
        """What the last start wrote of itself."""
        return self.records[-1] if self.records else None

    @property
    def output_file(self) -> str:
        """The file in the sweep that takes the output of the job; empty: submitted by hand, so it may be anywhere."""
        return f"{JOBS}/{self.submission}/{self.job_name}-{self.id}.out" if self.submission != BY_HAND else ""

    @property
    def restarts(self) -> int:
        """How often it was requeued and began again."""
        return max((record.restart for record in self.records), default=0)

    def covers(self, launch: Launch) -> bool:
        """Whether it is to measure the launch. Raises PlanError where what it wrote is damaged."""
        return is_launch_chosen(self.only, launch)


def tasks_of(submissions: Sequence[Submission], records: Mapping[str, Sequence[StartRecord]]) -> list[JobTask]:
    """Those of all submissions, and those that were submitted by hand, oldest first.

    `records`: those that stand in each run, by its name.
    """
    starts: dict[tuple[str, str], list[StartRecord]] = {}
    for run, records_of_run in records.items():
        for record in records_of_run:
            starts.setdefault((run, record.id), []).append(record)
    tasks = []
    for submission in submissions:
        for job in submission.jobs:
            for number, only in job.tasks().items():
                own = _by_restart(starts.pop((job.run, number), []))
                facts = only, submission.number, job.limit_s
                tasks.append(JobTask(number, job.name, job.nodes, job.run, *facts, own))
    for (run, number), own_starts in starts.items():
        last = own_starts[-1]
        nodes = len(last.nodes)
        tasks.append(JobTask(number, f"{nodes}n", nodes, run, last.only, BY_HAND, None, _by_restart(own_starts)))
    return sorted(tasks, key=lambda task: _age(task.id))


def _by_restart(records: Sequence[StartRecord]) -> tuple[StartRecord, ...]:
    return tuple(sorted(records, key=lambda record: record.restart))


def _age(number: str) -> tuple[int, int]:
    """Slurm counts upwards, so ids of jobs sort by age."""
    job, task = id_parts(number)
    return int(job) if job.isdecimal() else 0, int(task) if task.isdecimal() else 0

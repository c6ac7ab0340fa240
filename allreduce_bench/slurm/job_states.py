"""The outcome of the jobs of a sweep, and so why planned cells have no time.

Slurm is queried for the states of jobs, and what it has forgotten was kept (`ask_states`). Jobs and tasks of job arrays
come from submissions and their own records (`tasks_of`). Both together give the outcome of a job (`ending`), and that
the reason why a cell without a report has no time (`missing_cells`). Only `ask_states`, `kept_states` and `keep_states`
access anything outside of this process.
"""

import json
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..evaluation.missing import MissingCell
from ..runs.files import write_atomically
from ..runs.folder import CellKey, key_of
from ..runs.launch_choice import is_launch_chosen
from ..runs.plan import Launch, Plan
from ..runs.rows import Row, RunError
from ..runs.schema import FINAL, MISSING, UNFINISHED
from ..runs.typed_json import JsonError, read_as, read_json
from . import commands
from .commands import SlurmJob, split_id
from .job_files import JOBS, StartRecord, Submission, name_of_job
from .times import duration

FORGOTTEN = "FORGOTTEN"  # state of a job that Slurm does not know (any more): it is over
BY_HAND = 0  # the submission number of jobs submitted by hand
QUEUED, RUNNING, DONE, ENDED, UNSURE = "queued", "running", "done", "ended", "unsure"  # kinds of endings


class JobStates(NamedTuple):
    """The known states of jobs."""

    jobs: Mapping[str, SlurmJob]  # by id
    silence: str = ""  # why Slurm could not be queried; empty: it was


@dataclass(frozen=True)
class JobTask:
    """A job, or a task of a job array, that measures launches of one run."""

    id: str  # as Slurm writes it: 12, or 12_3
    name: str  # of the job, with its number for a task of an array that we submitted
    run: str  # name of the run in its sweep
    nodes: int
    only: str  # the launches, as `run --only` takes them
    records: tuple[StartRecord, ...]  # of its starts, in order
    submission: int = BY_HAND
    limit_s: float | None = None
    output_file: str = ""  # in the sweep, what the job says; empty: submitted by hand, so it may be anywhere

    @property
    def record(self) -> StartRecord | None:
        """Record of the last start."""
        return self.records[-1] if self.records else None

    @property
    def restarts(self) -> int:
        """Number of times it was requeued and began again."""
        return max((record.restart for record in self.records), default=0)

    def covers(self, launch: Launch) -> bool:
        """Return whether it is to measure the launch. Raises PlanError if its record is damaged."""
        return is_launch_chosen(self.only, launch)


class Ending(NamedTuple):
    """The outcome of a job so far."""

    kind: str  # QUEUED, RUNNING, DONE, ENDED otherwise, or UNSURE
    event: str  # hit its time limit of 30:00
    reported: str = ""  # by the job itself

    @property
    def phrase(self) -> str:
        """Text for a table: was stopped: rank 3 died."""
        return f"{self.event}: {self.reported}" if self.reported else self.event

    @property
    def reason(self) -> str:
        """Reason why a cell of the job has no time; follows the name of the job."""
        if self.kind == DONE:
            return self._replace(event="ended without measuring it").phrase
        return f"is still {self.phrase}" if self.active else self.phrase

    @property
    def active(self) -> bool:
        """Whether it may still measure something."""
        return self.kind in (QUEUED, RUNNING)


def ask_states(numbers: Iterable[str], sweep: Path) -> JobStates:
    """Ask Slurm for these jobs; use kept states for those it has forgotten. Raises RunError."""
    job_ids, kept = list(numbers), kept_states(sweep)
    if not job_ids:
        return JobStates(kept)
    masters = sorted({split_id(number)[0] for number in job_ids}, key=lambda number: (len(number), number))
    try:
        current = commands.find_jobs(masters)
        return JobStates({**{number: SlurmJob(number, FORGOTTEN) for number in job_ids}, **kept, **current})
    except commands.SlurmError as error:
        return JobStates(kept, str(error))


def kept_states(sweep: Path) -> dict[str, SlurmJob]:
    """Return by id the jobs whose end `keep_states` has kept. Raises RunError."""
    path = _path(sweep)
    values = read_json(path) if path.is_file() else {}
    try:
        return read_as(dict[str, SlurmJob], values, exact=True)
    except JsonError as error:
        raise RunError(f"{path}: damaged: {error}; remove it") from error


def keep_states(states: JobStates, sweep: Path) -> None:
    """Keep the ends of jobs beside the sweep: Slurm forgets, and reports are read elsewhere. Raises OSError."""
    ended = {number: job._asdict() for number, job in states.jobs.items() if not (job.queued or job.running)}
    if ended:
        _path(sweep).parent.mkdir(exist_ok=True)  # a folder of runs by hand has none
        write_atomically(_path(sweep), json.dumps(ended, indent=1) + "\n")


def _path(sweep: Path) -> Path:
    """Return the file that keeps how jobs ended."""
    return sweep / JOBS / "ended.json"


def tasks_of(submissions: Sequence[Submission], records: Mapping[str, Sequence[StartRecord]]) -> list[JobTask]:
    """Return the jobs of all submissions, and those submitted by hand, oldest first.

    `records`: those in each run, by its name.
    """
    starts: dict[tuple[str, str], list[StartRecord]] = {}
    for run, records_of_run in records.items():
        for record in records_of_run:
            starts.setdefault((run, record.id), []).append(record)
    tasks = [
        JobTask(
            id=number,
            name=f"{job.name}-{split_id(number)[1]}" if job.array else job.name,
            run=job.run,
            nodes=job.nodes,
            only=only,
            records=_sort_starts(starts.pop((job.run, number), [])),
            submission=submission.number,
            limit_s=job.limit_s,
            output_file=f"{JOBS}/{submission.number}/{job.output(number)}",
        )
        for submission in submissions
        for job in submission.jobs
        for number, only in job.tasks().items()
    ]
    for (run, number), own in starts.items():
        nodes = len(own[-1].nodes)
        tasks.append(JobTask(number, name_of_job(nodes, run), run, nodes, own[-1].only, _sort_starts(own)))
    return sorted(tasks, key=lambda task: _age(task.id))


def _sort_starts(records: Sequence[StartRecord]) -> tuple[StartRecord, ...]:
    return tuple(sorted(records, key=lambda record: record.restart))


def _age(number: str) -> tuple[int, int]:
    """Return a sort key by age: Slurm counts ids upwards."""
    job, task = split_id(number)
    return int(job) if job.isdecimal() else 0, int(task) if task.isdecimal() else 0


def ending(task: JobTask, states: JobStates) -> Ending:
    """Return the outcome of a job or of a task of a job array."""
    job = states.jobs.get(task.id)
    limit_s = job.limit_s if job and job.limit_s else task.limit_s
    if job is not None and (slurm_ending := ending_in_slurm(job, limit_s)):
        return slurm_ending
    record = task.record
    if record is None:
        return _ending_without_record(task, job)
    if record.requeued:
        return Ending(ENDED if job else UNSURE, "was requeued and has not restarted yet")
    if record.end == "done":
        return Ending(DONE, "done", record.why or "")
    if record.end == "warned":
        return Ending(ENDED, f"stopped before its time limit{_limit_phrase(limit_s)}")
    if record.end:
        event = {"refused": "refused to measure", "stopped": "was stopped"}.get(record.end, f"ended as {record.end}")
        return Ending(ENDED, event, record.why or "")
    if job is None:
        return Ending(UNSURE, "may be running, or ended without a message")
    return Ending(ENDED, _status_phrase(job) or "ended without a message (killed?)")


def ending_in_slurm(job: SlurmJob, limit_s: float | None = None) -> Ending | None:
    """Return the outcome that only Slurm knows; None: the job's own record is better."""
    if job.queued:
        return Ending(QUEUED, f"queued ({job.reason})" if job.reason else "queued")
    if job.running:
        return Ending(RUNNING, f"running on {job.nodelist}" if job.nodelist else "running")
    lost_nodes = "one of its nodes" if set("[,") & set(job.nodelist) else "its node"
    event = {
        "TIMEOUT": f"hit its time limit{_limit_phrase(limit_s)}",
        "NODE_FAIL": f"lost {lost_nodes} {job.nodelist}" if job.nodelist else "lost a node",
        "BOOT_FAIL": "did not start: a node failed to boot",
        "OUT_OF_MEMORY": "ran out of memory",
        "CANCELLED": f"was cancelled by {job.by}" if job.by else "was cancelled",
        "PREEMPTED": "was preempted",
        "DEADLINE": "missed its deadline",
        "REVOKED": "was revoked",
    }.get(job.state)
    return Ending(ENDED, event) if event else None


def _ending_without_record(task: JobTask, job: SlurmJob | None) -> Ending:
    """Return the outcome of a job without a record."""
    if job is None:
        return Ending(UNSURE, "has not started to measure")
    if job.state == FORGOTTEN:
        return Ending(ENDED, "never started to measure; Slurm has no record of it")
    event = _status_phrase(job) or ("failed" if job.state == "FAILED" else "ended")
    pointer = f", see {task.output_file}" if task.output_file else ""
    return Ending(ENDED, f"{event} before it started to measure{pointer}")


def _status_phrase(job: SlurmJob) -> str:
    """Describe how the script of a job ended, if it failed."""
    status, _, number = job.exit_code.partition(":")
    if number.isdecimal() and int(number):
        try:
            return f"was killed by {signal.Signals(int(number)).name}"
        except ValueError:
            return f"was killed by signal {number}"
    return f"ended with status {status}" if status.isdecimal() and int(status) else ""


def _limit_phrase(limit_s: float | None) -> str:
    """Format as ` of 30:00`; empty if unknown."""
    return f" of {duration(limit_s)}" if limit_s else ""


def missing_cells(plan: Plan, marks: Iterable[Row], tasks: Sequence[JobTask], states: JobStates) -> list[MissingCell]:
    """Return the cells that are not done, in the order of the launches, except those skipped on purpose.

    `marks` and `tasks` are the run's.
    """
    outcome_of, found = _outcomes(marks), []
    for launch in plan.planned_launches():
        fate_reason, active = _fate(launch, tasks, states)
        for cell in plan.cells(launch):
            state, reason = outcome_of.get((launch.name, cell.key), (MISSING, fate_reason))
            if state in UNFINISHED and active:
                state, reason = MISSING, fate_reason
            if state in (MISSING, *FINAL, *UNFINISHED):
                found.append(MissingCell(launch, cell, state, reason))
    return found


def _outcomes(marks: Iterable[Row]) -> dict[tuple[str, CellKey], tuple[str, str]]:
    """Return (launch, cell) -> state and reason, of the attempt that ended it, else of the last one."""
    outcome_of: dict[tuple[str, CellKey], tuple[str, str]] = {}
    for mark in sorted(marks, key=lambda mark: int(mark["attempt"])):
        cell = mark["launch"], key_of(mark)
        if cell not in outcome_of or outcome_of[cell][0] in UNFINISHED:
            reason = mark["reason"] or (f"{mark['wrong']} wrong elements" if mark["wrong"] else "")
            outcome_of[cell] = mark["state"], reason
    return outcome_of


def _fate(launch: Launch, tasks: Sequence[JobTask], states: JobStates) -> tuple[str, bool]:
    """Return why a launch did not measure a cell, and whether it still may."""
    if not tasks:
        return "its launch was not started, or has not ended", False
    task_endings = [(task, ending(task, states)) for task in tasks if task.covers(launch)]
    if not task_endings:
        return "not assigned to any job", False
    task, fate = next((pair for pair in reversed(task_endings) if pair[1].active), task_endings[-1])
    return f"job {task.id} {fate.reason}", fate.active

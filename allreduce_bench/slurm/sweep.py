"""A sweep read from its folder and from Slurm: runs, jobs, missing cells; the output about it."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..evaluation.missing import MissingCell, group_missing
from ..runs.folder import CellKey, RunFolder, key_of
from ..runs.hosts import compress
from ..runs.plan import Launch, Plan
from ..runs.rows import Row, RunError
from ..runs.schema import FINAL
from ..tables import UNBOUNDED, Screen, columns_of, fitted
from ..units import counted, format_ranges, shell_word, three_digits
from . import job_states
from .allocation import allocation
from .commands import SlurmJob
from .job_files import JOBS, Submission, read_records, read_submissions, runs_of
from .job_states import (
    FORGOTTEN,
    RUNNING,
    UNSURE,
    Ending,
    JobStates,
    JobTask,
    ask_states,
    ending,
    ending_in_slurm,
    keep_states,
    kept_states,
    tasks_of,
)
from .times import duration

TIMES = {1: "once", 2: "twice"}


@dataclass(frozen=True)
class SweepRun:
    """A run of a sweep, with its finished cells."""

    name: str  # relative to the sweep; `.` where it is the sweep
    folder: RunFolder
    plan: Plan
    marks: tuple[Row, ...]
    finished: dict[Launch, set[CellKey]]  # of each planned launch

    def progress(self, launches: Iterable[Launch]) -> tuple[int, int]:
        """Return the number of cells of these launches that need no further attempt, and of all cells."""
        keys = {launch: {cell.key for cell in self.plan.cells(launch)} for launch in launches}
        done = sum(len(planned & self.finished[launch]) for launch, planned in keys.items())
        return done, sum(map(len, keys.values()))


@dataclass(frozen=True)
class Overview:
    """Runs of a sweep and the jobs that measure them."""

    sweep: Path
    runs: tuple[SweepRun, ...]
    submissions: tuple[Submission, ...]  # oldest first
    tasks: tuple[JobTask, ...]  # oldest first
    states: JobStates

    def tasks_of(self, run: SweepRun) -> list[JobTask]:
        """Return the jobs that measure the run."""
        return [task for task in self.tasks if task.run == run.name]

    def missing_cells(self, run: SweepRun) -> list[MissingCell]:
        """Return the cells of the run that lack a time, but should have one."""
        return job_states.missing_cells(run.plan, run.marks, self.tasks_of(run), self.states)

    def launches(self, task: JobTask) -> list[Launch]:
        """Return the planned launches that a job measures."""
        plans = [run.plan for run in self.runs if run.name == task.run]
        return [launch for plan in plans for launch in plan.planned_launches() if task.covers(launch)]

    def ending(self, task: JobTask) -> Ending:
        """Return the outcome of a job so far."""
        return ending(task, self.states)

    def active(self) -> list[JobTask]:
        """Jobs that may still measure something."""
        return [task for task in self.tasks if self.ending(task).active]

    @property
    def progress(self) -> tuple[int, int]:
        """Number of cells that need no further attempt, and of all cells."""
        each = [run.progress(run.finished) for run in self.runs]
        return sum(done for done, _ in each), sum(cells for _, cells in each)


def read_sweep(path: Path, ask_slurm: bool = True) -> Overview:
    """Read the sweep in `path`, or a single run of one; without `ask_slurm` from files alone. Raises RunError."""
    folders = runs_of(path)
    sweep = _sweep_of(path)
    runs = tuple(_read_run(folder, sweep) for folder in folders)
    submissions = read_submissions(sweep)
    tasks = tasks_of(submissions, {run.name: read_records(run.folder) for run in runs})
    own_tasks = tuple(task for task in tasks if task.run in {run.name for run in runs})
    if ask_slurm:
        collecting = [submission.collect.job for submission in submissions]
        states = ask_states([*(task.id for task in own_tasks), *collecting], sweep)
    else:
        states = JobStates(kept_states(sweep), "it was not asked")
    return Overview(sweep, runs, tuple(submissions), own_tasks, states)


def _read_run(folder: RunFolder, sweep: Path) -> SweepRun:
    """Read a run of the sweep. Raises RunError."""
    if imported := folder.imported():
        raise RunError(f"{folder.path}: imported from {imported['tool']}, so it has no jobs")
    plan = folder.plan()
    marks = folder.marks() if folder.attempts() else []  # an unfinished run has none
    finished = {launch: folder.finished(launch) for launch in plan.planned_launches()}
    name = folder.path.resolve().relative_to(sweep.resolve()).as_posix()
    return SweepRun(name, folder, plan, tuple(marks), finished)


def _sweep_of(path: Path) -> Path:
    """Return the folder itself, or its parent if its jobs were submitted for several runs."""
    parent = path.resolve().parent
    runs_of_parent = [job.run for submission in read_submissions(parent) for job in submission.jobs]
    if path.resolve().name not in runs_of_parent:
        return path
    return path.parent if path.name not in ("", "..") else parent


def missing_of_run(folder: RunFolder) -> list[MissingCell]:
    """Return the missing cells of a run measured by jobs, from files alone; empty for any other run. Raises
    RunError.
    """
    if folder.imported() or not ((folder.path / JOBS).is_dir() or _sweep_of(folder.path) != folder.path):
        return []
    overview = read_sweep(folder.path, ask_slurm=False)
    return [cell for run in overview.runs for cell in overview.missing_cells(run)]


class StatusLine(NamedTuple):
    """One job, as text."""

    name: str
    job: str
    nodes: str
    ranks: str
    cells: str  # done/all
    elapsed: str  # of its last start, as Slurm counts
    state: str


def status_lines(overview: Overview) -> list[StatusLine]:
    """Return lines of the jobs of the newest submission, and of earlier jobs that have not ended."""
    newest = max((submission.number for submission in overview.submissions), default=0)
    shown = [task for task in overview.tasks if task.submission == newest or overview.ending(task).active]
    collecting = [_collecting_line(overview, submission, newest) for submission in overview.submissions]
    return [*(_task_line(overview, task) for task in shown), *filter(None, collecting)]


def _task_line(overview: Overview, task: JobTask) -> StatusLine:
    launches = overview.launches(task)
    progress = [run.progress(launches) for run in overview.runs if run.name == task.run]
    ranks = format_ranges({launch.ranks for launch in launches})
    cells = "".join(f"{finished}/{planned}" for finished, planned in progress)
    elapsed, state = _format_elapsed(overview, task.id), _state_phrase(overview, task)
    return StatusLine(task.name, task.id, str(task.nodes), ranks, cells, elapsed, state)


def _format_elapsed(overview: Overview, number: str) -> str:
    job = overview.states.jobs.get(number)
    return duration(job.elapsed_s) if job and job.elapsed_s else ""


def _state_phrase(overview: Overview, task: JobTask) -> str:
    ending, job = overview.ending(task), overview.states.jobs.get(task.id)
    phrase = ending.phrase
    if ending.kind == RUNNING and job and job.limit_s is not None and job.elapsed_s is not None:
        left = max(0.0, job.limit_s - job.elapsed_s)
        phrase += f", {duration(left)} of {duration(job.limit_s)} remaining"
    if task.restarts:
        phrase += f", requeued {TIMES.get(task.restarts, f'{task.restarts} times')}"
    return phrase


def _collecting_line(overview: Overview, submission: Submission, newest: int) -> StatusLine | None:
    """Return the line of the collecting job, of the newest submission or if it has not ended."""
    collect = submission.collect
    job = overview.states.jobs.get(collect.job)
    if submission.number != newest and not (job and (job.queued or job.running)):
        return None
    if job is None or job.state == FORGOTTEN:
        state = "unknown"
    elif slurm_ending := ending_in_slurm(job):
        state = slurm_ending.phrase
    else:
        state = "done" if job.state == "COMPLETED" else "failed, or cells are missing"
    return StatusLine(
        collect.name, collect.job, str(collect.nodes), "", "", _format_elapsed(overview, collect.job), state
    )


def status_text(lines_of_jobs: Sequence[StatusLine], screen: Screen = UNBOUNDED) -> str:
    """Return the table in aligned columns, with its header; long states wrap at the screen's end."""
    header = StatusLine._fields
    columns = columns_of([header, *lines_of_jobs], left=range(len(header)), text=len(header) - 1)
    return "\n".join(fitted(columns, screen)) + "\n"


def next_step(overview: Overview, collected: bool) -> str:
    """Return `74 of 240 cells done; next: ...`; `collected`: a report covers all of them."""
    done, cells = overview.progress
    sweep = shell_word(overview.sweep)
    progress = f"{done} of {cells} cells done"
    collecting = _collecting_job(overview)
    if active := overview.active():
        waiting = collecting and collecting.queued and f"job {collecting.id} then collects them"
        follow_up = waiting or f"then: allreduce-bench collect {sweep}"
        return f"{progress}; {counted(len(active), 'job')} unfinished; {follow_up}"
    if collecting:
        return f"{progress}; job {collecting.id} {'is collecting them' if collecting.running else 'will collect them'}"
    if done < cells and any(overview.ending(task).kind == UNSURE for task in overview.tasks):
        return f"{progress}; next, when all jobs have ended: allreduce-bench collect {sweep}"
    if done < cells:
        hint = f"(to list missing cells: allreduce-bench collect {sweep})"
        return f"{progress}; next: allreduce-bench submit --resume -o {sweep} {hint}"
    return progress if collected else f"{progress}; next: allreduce-bench collect {sweep}"


def keep_end_of_collecting(overview: Overview, is_complete: bool) -> None:
    """Where this process is the sweep's collecting job, keep how it ends: Slurm forgets. Raises OSError."""
    job = allocation(os.environ)
    if job and job.name in {submission.collect.job for submission in overview.submissions}:
        end = SlurmJob(job.name, "COMPLETED" if is_complete else "FAILED", nodelist=compress(job.nodes))
        keep_states(JobStates({**overview.states.jobs, job.name: end}), overview.sweep)


def _collecting_job(overview: Overview) -> SlurmJob | None:
    """Return the collecting job, while it waits or runs."""
    jobs = [overview.states.jobs.get(submission.collect.job) for submission in overview.submissions]
    return next((job for job in jobs if job and (job.queued or job.running)), None)


def account_lines(overview: Overview, missing: Sequence[Sequence[MissingCell]]) -> list[str]:
    """Return the lines that `collect` prints; `missing`: of each run the cells that lack a time, but should have
    one.
    """
    sentences = []
    for run, cells in zip(overview.runs, missing):
        prefix = "" if len(overview.runs) == 1 else f"{run.name}: "
        sentences += [prefix + group.sentence for group in group_missing(run.plan, cells)]
    counts = [_count_sentence(overview, sum(map(len, missing))), *_elapsed_sentences(overview)]
    return [*sentences, *counts, *_next_commands(overview, missing)]


def _elapsed_sentences(overview: Overview) -> list[str]:
    """Return `the jobs took 2.10 node-hours by Slurm's count, the longest 30:00`; empty: Slurm tells no time."""
    jobs = [(task.nodes, overview.states.jobs.get(task.id)) for task in overview.tasks]
    times = [(nodes, job.elapsed_s) for nodes, job in jobs if job and job.elapsed_s]
    if not times:
        return []
    hours = three_digits(sum(nodes * time_s for nodes, time_s in times) / 3600)
    longest = duration(max(time_s for _, time_s in times))
    return [f"the jobs took {hours} node-hours by Slurm's count, the longest {longest}"]


def _count_sentence(overview: Overview, missing: int) -> str:
    """Return `286 of 300 cells measured, 4 skipped as planned`."""
    cells = overview.progress[1]
    skipped = sum(map(_skipped_cells, overview.runs))
    sentence = f"{cells - missing} of {cells} cells complete" if missing else f"all {cells} cells complete"
    return sentence + (f" ({skipped} skipped intentionally)" if skipped else "")


def _skipped_cells(run: SweepRun) -> int:
    return len({(mark["launch"], key_of(mark)) for mark in run.marks if mark["state"] == "skipped"})


def _next_commands(overview: Overview, missing: Sequence[Sequence[MissingCell]]) -> list[str]:
    """Return the one command that measures the missing cells; none if another attempt cannot help."""
    runs = [run for run, cells in zip(overview.runs, missing) if any(cell.state not in FINAL for cell in cells)]
    if active := overview.active():
        jobs = ", ".join(task.id for task in active)
        return [f"still queued or running: job {jobs}; run collect again after it has ended"]
    if runs and overview.tasks:
        when = ", after all jobs of the sweep have ended" if overview.states.silence else ""
        return [
            f"to submit the missing cells again{when}: allreduce-bench submit --resume -o {shell_word(overview.sweep)}"
        ]
    return [
        f"to measure the missing cells: allreduce-bench run --resume -o {shell_word(run.folder.path)}" for run in runs
    ]

"""A sweep from its folder and from Slurm: its runs, its jobs, and missing cells."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..evaluation.missing import MissingCell
from ..runs.folder import CellKey, RunFolder
from ..runs.plan import Launch, Plan
from ..runs.rows import Row, RunError
from . import fates
from .endings import Ending, ending
from .job_files import JOBS, Submission, read_records, read_submissions, runs_of
from .job_states import JobStates, ask_states, kept_states
from .tasks import JobTask, tasks_of


@dataclass(frozen=True)
class SweepRun:
    """A run of a sweep, and what was finished of it."""

    name: str  # relative to the sweep; `.` where it is the sweep
    folder: RunFolder
    plan: Plan
    marks: tuple[Row, ...]
    finished: dict[Launch, set[CellKey]]  # of each planned launch

    def progress(self, launches: Iterable[Launch]) -> tuple[int, int]:
        """Of these launches the number of cells that need no further attempt, and of all cells."""
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
    told: JobStates

    def tasks_of(self, run: SweepRun) -> list[JobTask]:
        """The jobs that measure the run."""
        return [task for task in self.tasks if task.run == run.name]

    def missing(self, run: SweepRun) -> list[MissingCell]:
        """What of the run has no time although it should."""
        return fates.missing(run.plan, run.marks, self.tasks_of(run), self.told)

    def launches(self, task: JobTask) -> list[Launch]:
        """The planned launches that a job measures."""
        plans = [run.plan for run in self.runs if run.name == task.run]
        return [launch for plan in plans for launch in plan.planned_launches() if task.covers(launch)]

    def ending(self, task: JobTask) -> Ending:
        """Where a job stands."""
        return ending(task, self.told)

    def active(self) -> list[JobTask]:
        """The jobs that may still measure something."""
        return [task for task in self.tasks if self.ending(task).active]

    @property
    def progress(self) -> tuple[int, int]:
        """The number of cells that need no further attempt, and of all cells."""
        each = [run.progress(run.finished) for run in self.runs]
        return sum(done for done, _ in each), sum(cells for _, cells in each)


def read_sweep(path: Path, ask_slurm: bool = True) -> Overview:
    """The sweep in `path`, or a single run of one. Without `ask_slurm` from files alone. Raises RunError."""
    folders = runs_of(path)
    sweep = _sweep_of(path)
    runs = tuple(_read_run(folder, sweep) for folder in folders)
    submissions = read_submissions(sweep)
    tasks = tasks_of(submissions, {run.name: read_records(run.folder) for run in runs})
    own_tasks = tuple(task for task in tasks if task.run in {run.name for run in runs})
    if ask_slurm:
        collecting = [submission.collect for submission in submissions if submission.collect]
        states = ask_states([*(task.id for task in own_tasks), *collecting], sweep)
    else:
        states = JobStates(kept_states(sweep), "it was not asked")
    return Overview(sweep, runs, tuple(submissions), own_tasks, states)


def missing_of_run(folder: RunFolder) -> list[MissingCell]:
    """What a run that jobs measured lacks, from files alone; of any other run nothing. Raises RunError."""
    if folder.imported() or not ((folder.path / JOBS).is_dir() or _sweep_of(folder.path) != folder.path):
        return []
    overview = read_sweep(folder.path, ask_slurm=False)
    return [cell for run in overview.runs for cell in overview.missing(run)]


def _sweep_of(path: Path) -> Path:
    """The folder itself, or the one around it where its jobs were submitted for several runs."""
    parent = path.resolve().parent
    runs_of_parent = [job.run for submission in read_submissions(parent) for job in submission.jobs]
    if path.resolve().name not in runs_of_parent:
        return path
    return path.parent if path.name not in ("", "..") else parent


def _read_run(folder: RunFolder, sweep: Path) -> SweepRun:
    if imported := folder.imported():
        raise RunError(f"{folder.path}: imported from {imported['tool']}, so it has no jobs")
    plan = folder.plan()
    marks = folder.marks() if folder.attempts() else []  # where nothing was finished yet there are none to be read
    finished = {launch: folder.finished(launch) for launch in plan.planned_launches()}
    name = folder.path.resolve().relative_to(sweep.resolve()).as_posix()
    return SweepRun(name, folder, plan, tuple(marks), finished)

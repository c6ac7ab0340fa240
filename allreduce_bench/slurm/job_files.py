"""Kept files about the jobs of a sweep: submissions, and the records that its jobs write of themselves.

The record of a job start stands in its run, RUN/jobs/job-ID.RESTART.json, and is written at the start and at the end. A
record without an end is of a job that is at work, or ended without a word: SIGKILL, or its node is gone.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any, TypeVar

from ..runs.files import read_kept, write_atomically
from ..runs.folder import RunFolder
from ..runs.kept import read_json
from ..runs.recorder import now
from ..runs.rows import RunError
from ..runs.start import expand
from ..runs.typed_json import read_as
from ..units import printable
from .commands import Allocation

JOBS = "jobs"  # the folder of both, in the sweep and in its runs
SUBMISSION = "submission.json"  # of each, in JOBS/number

Kind = TypeVar("Kind")
Text = Annotated[str, printable]  # it will be shown on a terminal


class JobRecord:
    """The record of one start. A disk that does not take it costs the record, never the run."""

    def __init__(self, folder: Path, allocation: Allocation, only: str):
        """Write it into the run `folder`; `only` is what was said by --only.

        A second run of the same start has a record of its own: job-12.0.2.json.
        """
        self.facts: dict[str, Any] = {
            "job": allocation.job,
            "task": allocation.task,
            "restart": allocation.restart,
            "only": only,
            "nodes": list(allocation.nodes),
            "switches": {},
            "started": now(),
            "ended": None,
            "end": None,
            "why": None,
            "requeued": False,
        }
        self._path: Path | None = None
        with suppress(OSError):
            (folder / JOBS).mkdir(exist_ok=True)
            self._path = _created(folder / JOBS, f"job-{allocation.name}.{allocation.restart}", self._text())

    def add(self, **facts: Any) -> None:
        """Write it anew with these facts."""
        self.facts |= facts
        if self._path is not None:
            with suppress(OSError):
                write_atomically(self._path, self._text())

    def end(self, end: str, why: str | None, requeued: bool = False) -> None:
        """Write how this start ended: done, warned, stopped or refused; and why, in a sentence."""
        self.add(ended=now(), end=end, why=why, requeued=requeued)

    def _text(self) -> str:
        return json.dumps(self.facts, indent=1) + "\n"


def _created(folder: Path, stem: str, text: str) -> Path:
    """Create a new file, named after `stem`."""
    for number in count(1):
        path = folder / (f"{stem}.json" if number == 1 else f"{stem}.{number}.json")
        with suppress(FileExistsError), open(path, "x", encoding="utf-8") as file:
            file.write(text)
            return path
    raise AssertionError


@dataclass(frozen=True)
class SubmittedJob:
    """A job as it was submitted."""

    name: Text  # what it is called in tables
    nodes: int
    job: Text
    run: Text  # path of the run relative to the sweep
    only: Text  # launches that it shall measure, as --only takes them; of an array's tasks before their number
    ranks_per_node: int | None = None  # ranks of a node; None: as the system says
    script: Text = ""
    array: Text | None = None  # tasks of the job array, such as 1-5; None: no array
    limit_s: float | None = None
    expected_s: float | None = None

    def tasks(self) -> dict[str, str]:
        """By id, such as 12 or 12_3, the launches that a job or each task of a job array shall measure."""
        if not self.array:
            return {self.job: self.only}
        numbers = (name.rpartition("_")[2] for name in expand(f"_[{self.array.partition('%')[0]}]"))
        return {f"{self.job}_{number}": f"{self.only}-{number}" for number in numbers}


@dataclass(frozen=True)
class SubmissionChoices:
    """Choices of a submission beside the plans of its runs, which `submit --resume` takes over."""

    system: Text  # path of its file
    job_name: Text
    template: Text = ""  # path of the template; empty: the shipped one
    time_s: float | None = None  # limit of the time; None: of the system, or by what is left
    array: bool = False
    steering: tuple[Text, ...] = ()  # options of run
    arguments: tuple[Text, ...] = ()  # further words for sbatch


@dataclass(frozen=True)
class Submission:
    """The jobs that one command submitted."""

    number: int  # its folder is JOBS/number
    submitted: Text  # ISO 8601
    command: tuple[Text, ...]  # command that submitted them, word by word
    system: Text
    arguments: tuple[Text, ...]  # further words for sbatch
    jobs: tuple[SubmittedJob, ...]  # the measuring jobs
    collect: Text | None  # number of the collecting job; None: none
    again: SubmissionChoices | None = None  # choices that submit --resume takes again; None: not kept


@dataclass(frozen=True)
class StartRecord:
    """The record that one start of a job, or of a task of a job array, wrote."""

    job: Text  # number of the job, or of its array
    restart: int  # how often the job was requeued before
    only: Text  # launches that it was to measure; empty: all
    nodes: tuple[Text, ...]
    started: Text  # ISO 8601
    task: Text | None = None  # number of the task in its array; None: no array
    ended: Text | None = None  # ISO 8601; None: it has not, or without a word
    end: Text | None = None  # how it ended: done, warned (of its limit), stopped, refused; None: as of ended
    why: Text | None = None  # why it ended so, in a sentence; None: no reason was said
    requeued: bool = False  # whether it sent itself back to the queue

    @property
    def id(self) -> str:
        """Id as Slurm writes it: 12, or 12_3."""
        return self.job if self.task is None else f"{self.job}_{self.task}"


def runs_of(folder: Path) -> list[RunFolder]:
    """Return the runs of a sweep: the folder itself, or those in it. Raises RunError if there is none."""
    if (folder / "run.json").is_file():
        return [RunFolder(folder)]
    paths = folder.glob("[!.]*/run.json")  # a hidden one is being made
    runs = [RunFolder(path.parent) for path in sorted(paths, key=_run_order)]
    if not runs:
        reason = "contains no run" if folder.is_dir() else "no such folder"
        raise RunError(f"{folder}: {reason}; expected a sweep of 'allreduce-bench submit', or a run")
    return runs


def _run_order(path: Path) -> tuple[int, str]:
    """Return a sort key that puts 2-per-node before 10-per-node."""
    number = path.parent.name.partition("-")[0]
    return int(number) if number.isdecimal() else 0, path.parent.name


def read_submissions(folder: Path) -> list[Submission]:
    """Return all submissions of the sweep in `folder`, in order. Raises RunError."""
    paths = [path for path in (folder / JOBS).glob(f"*/{SUBMISSION}") if path.parent.name.isdecimal()]
    return [_read_submission(path) for path in sorted(paths, key=lambda path: int(path.parent.name))]


def _read_submission(path: Path) -> Submission:
    """Return the submission of one file. Raises RunError."""
    submission = _typed(Submission, {**read_json(path), "number": int(path.parent.name)}, path)
    for job in submission.jobs:
        try:
            job.tasks()
        except ValueError as error:
            raise RunError(f"{path}: damaged: job {job.name} has the array {job.array!r:.60}") from error
    return submission


def read_records(run: RunFolder) -> list[StartRecord]:
    """Return the records of all starts of all jobs that wrote into the run, in order. Raises RunError."""
    paths = (run.path / JOBS).glob("job-*.json")
    whole = [path for path in paths if read_kept(path).rstrip().endswith(b"}")]  # half: being written, or cut off
    records = [_typed(StartRecord, read_json(path), path) for path in whole]
    return sorted(records, key=lambda record: (record.started, record.id, record.restart))


def _typed(kind: type[Kind], values: dict[str, Any], path: Path) -> Kind:
    """Return the dataclass of a file's content; unknown fields are ignored. Raises RunError."""
    try:
        return read_as(kind, values)
    except ValueError as error:
        raise RunError(f"{path}: damaged: {error}") from error

"""Jobs of a sweep as its files keep them: submissions, and the records that the jobs write of themselves.

The record of a job start stands in its run, RUN/jobs/job-ID.RESTART.json, and is written at the start and at the end. A
record without an end is of a job that is at work, or ended without a word: SIGKILL, or its node is gone.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Annotated, Any, TypeVar

from ..runs.files import read_kept, write_atomically
from ..runs.folder import RunFolder
from ..runs.hosts import expand
from ..runs.recorder import now
from ..runs.rows import RunError
from ..runs.typed_json import NotNegative, read_as, read_json
from ..units import printable
from .allocation import Allocation

JOBS = "jobs"  # the folder of both, in the sweep and in its runs
SUBMISSION = "submission.json"  # of each, in JOBS/number
HERE = "."  # the folder of the sweep is itself the run

Kind = TypeVar("Kind")
Text = Annotated[str, printable]  # it will be shown on a terminal


def check_tasks(text: str) -> str:
    """Return the numbers of an array's tasks, such as 1-3,5. Raises ValueError if they are none."""
    expand(f"_[{text}]")
    return text


def name_of_job(nodes: int, run: str) -> str:
    """Return the name of the job that measures the run on so many nodes: 8n, or 8n-4-per-node."""
    return f"{nodes}n" if run == HERE else f"{nodes}n-{run}"


@dataclass(frozen=True)
class SweepJob:
    """One job, or one array of jobs: the launches of one run on one number of nodes, or the job that collects."""

    name: Text  # 8n, or 8n-4-per-node: unique in its submission, and also in file names
    run: Text  # path of its run relative to the sweep: HERE, or 4-per-node
    nodes: int
    ranks_per_node: int
    only: Text  # launches that it shall measure, as --only takes them; of an array's tasks before their number
    cells: int  # that were left in all of them; 0: it collects
    expected_s: float  # of the job; of the longest of its tasks in an array
    limit_s: float
    array: Annotated[str, check_tasks] | None = None  # tasks of the job array, such as 1-5; None: no array
    job: Text = ""  # its number; empty: not submitted

    @property
    def script(self) -> str:
        """Name of the file."""
        return f"{self.name}.sbatch"

    @property
    def ranks(self) -> int:
        """Ranks of its launches."""
        return self.nodes * self.ranks_per_node

    def output(self, number: str) -> str:
        """Return the file name of what job `number`, or %j, says."""
        return f"{self.name}-{number}.out"

    def tasks(self) -> dict[str, str]:
        """By id, such as 12 or 12_3, the launches that a job or each task of a job array shall measure."""
        if not self.array:
            return {self.job: self.only}
        return {f"{self.job}{task}": f"{self.only}-{task[1:]}" for task in expand(f"_[{self.array}]")}

    def node_hours(self, time_s: float) -> float:
        """Return the node-hours if each of its tasks takes `time_s`."""
        return self.nodes * len(self.tasks()) * time_s / 3600


@dataclass(frozen=True)
class SubmissionChoices:
    """Choices of a submission beside the plans of its runs, which `submit --resume` takes over."""

    system: Text  # path of its file
    time_s: float | None = None  # limit of the time; None: of the system, or by what is left
    within_s: float | None = None  # time of each job to measure in; None: until all is measured
    array: bool = False  # each launch is a task
    steering: tuple[Text, ...] = ()  # further options of run that are not in its plan
    arguments: tuple[Text, ...] = ()  # for sbatch, in the user's words


@dataclass(frozen=True)
class Submission:
    """The jobs that one command submits."""

    number: int  # its folder is JOBS/number
    submitted: Text  # ISO 8601
    command: tuple[Text, ...]  # word by word
    choices: SubmissionChoices
    jobs: tuple[SweepJob, ...]  # that measure
    collect: SweepJob  # after all of them

    @property
    def all_jobs(self) -> tuple[SweepJob, ...]:
        """Those that measure, then the one that collects."""
        return (*self.jobs, self.collect)


@dataclass(frozen=True, kw_only=True)
class StartRecord:
    """The record that one start of a job, or of a task of a job array, writes."""

    job: Text  # number of the job, or of its array
    task: Text | None = None  # number of the task in its array; None: no array
    restart: int  # how often the job was requeued before
    only: Text  # launches that it was to measure; empty: all
    nodes: tuple[Text, ...]
    switches: dict[str, Text] = field(default_factory=dict)  # above each node
    started: Text  # ISO 8601
    ended: Text | None = None  # ISO 8601; None: it has not, or without a word
    end: Text | None = None  # how it ended: done, warned (of its limit), stopped, refused; None: as of ended
    why: Text | None = None  # why it ended so, in a sentence; None: no reason was said
    requeued: bool = False  # whether it sent itself back to the queue
    step_energies_j: dict[str, NotNegative] = field(default_factory=dict)  # with --energy, as Slurm counts

    @property
    def id(self) -> str:
        """Id as Slurm writes it: 12, or 12_3."""
        return self.job if self.task is None else f"{self.job}_{self.task}"


class JobRecord:
    """The file of one start. A disk that does not take it costs the record, never the run."""

    def __init__(self, folder: Path, allocation: Allocation, only: str):
        """Write it into the run `folder`; `only` is what was said by --only.

        A second run of the same start has a record of its own: job-12.0.2.json.
        """
        self.facts = StartRecord(
            job=allocation.job,
            task=allocation.task,
            restart=allocation.restart,
            only=only,
            nodes=allocation.nodes,
            started=now(),
        )
        self._path: Path | None = None
        with suppress(OSError):
            (folder / JOBS).mkdir(exist_ok=True)
            self._path = _create_file(folder / JOBS, f"job-{allocation.name}.{allocation.restart}", self._text())

    def add(self, **facts: Any) -> None:
        """Write it anew with these facts."""
        self.facts = replace(self.facts, **facts)
        if self._path is not None:
            with suppress(OSError):
                write_atomically(self._path, self._text())

    def end(self, end: str, why: str | None, requeued: bool = False) -> None:
        """Write how this start ended: done, warned, stopped or refused; and why, in a sentence."""
        self.add(ended=now(), end=end, why=why, requeued=requeued)

    def _text(self) -> str:
        return json.dumps(asdict(self.facts), indent=1) + "\n"


def _create_file(folder: Path, stem: str, text: str) -> Path:
    """Create a new file, named after `stem`."""
    for number in count(1):
        path = folder / (f"{stem}.json" if number == 1 else f"{stem}.{number}.json")
        with suppress(FileExistsError), open(path, "x", encoding="utf-8") as file:
            file.write(text)
            return path
    raise AssertionError


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
    in_order = sorted(paths, key=lambda path: int(path.parent.name))
    return [_typed(Submission, read_json(path), path) for path in in_order]


def next_number(sweep: Path) -> int:
    """Return the number of the next submission: 1, 2, ..."""
    numbers = [int(path.name) for path in (sweep / JOBS).glob("*") if path.name.isdecimal()]
    return max(numbers, default=0) + 1


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

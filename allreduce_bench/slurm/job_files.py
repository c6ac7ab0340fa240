"""What is kept of the jobs of a sweep, read: submissions, and the records that its jobs write of themselves."""

from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from ..runs.folder import RunFolder, read_json
from ..runs.rows import RunError
from .nodelist import expand

JOBS = "jobs"  # the folder of both, in the sweep and in its runs
SUBMISSION = "submission.json"  # of each, in JOBS/number
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Submitted:
    """A job as it was submitted."""

    name: str
    nodes: int
    job: str  # its number
    run: str  # path of the run relative to the sweep
    only: str  # the launches that it shall measure, as `run --only` takes them; of an array's tasks before their number
    ranks_per_node: int | None = None
    script: str = ""
    array: str | None = None  # the tasks, such as 1-5
    limit_s: float | None = None
    expected_s: float | None = None

    def tasks(self) -> dict[str, str]:
        """By id, such as 12 or 12_3, the launches that a job or each task of a job array shall measure."""
        if not self.array:
            return {self.job: self.only}
        numbers = (name.rpartition("_")[2] for name in expand(f"_[{self.array.partition('%')[0]}]"))
        return {f"{self.job}_{number}": f"{self.only}-{number}" for number in numbers}


@dataclass(frozen=True)
class Again:
    """What was chosen for a submission and is not in the plan of its runs: `submit --resume` need not be told again."""

    system: str  # path of its file
    job_name: str
    template: str = ""  # path; empty: the shipped one
    time_s: float | None = None  # the limit; None: the system's, or by what is left
    array: bool = False
    stage: str = ""
    steering: tuple[str, ...] = ()  # options of run
    arguments: tuple[str, ...] = ()  # for sbatch


@dataclass(frozen=True)
class Submission:
    """The jobs that one command submitted."""

    number: int  # its folder is JOBS/number
    submitted: str  # ISO 8601
    command: tuple[str, ...]
    system: str
    arguments: tuple[str, ...]  # further words for sbatch
    jobs: tuple[Submitted, ...]
    collect: str | None  # number of the collecting job
    again: Again | None = None


@dataclass(frozen=True)
class Record:
    """What one start of a job, or of a task of a job array, wrote of itself."""

    job: str
    restart: int  # 0: the first start
    only: str
    nodes: tuple[str, ...]
    started: str  # ISO 8601
    task: str | None = None
    ended: str | None = None
    end: str | None = None  # done, warned, stopped, refused; None: not ended, or without a word
    why: str | None = None  # one sentence
    requeued: bool = False

    @property
    def id(self) -> str:
        """As Slurm writes it: 12, or 12_3."""
        return self.job if self.task is None else f"{self.job}_{self.task}"


def runs_of(folder: Path) -> list[RunFolder]:
    """The runs of a sweep: the folder itself, or those in it. Raises RunError where there is none."""
    if (folder / "run.json").is_file():
        return [RunFolder(folder)]
    whole = folder.glob("[!.]*/run.json")  # a hidden one is being made
    found = [RunFolder(path.parent) for path in sorted(whole, key=_in_order)]
    if not found:
        why = "holds no run, nor does a folder in it" if folder.is_dir() else "no such folder"
        raise RunError(f"{folder}: {why}; expected a sweep of 'allreduce-bench submit', or a run")
    return found


def _in_order(path: Path) -> tuple[int, str]:
    """2-per-node before 10-per-node."""
    number = path.parent.name.partition("-")[0]
    return int(number) if number.isdecimal() else 0, path.parent.name


def read_submissions(folder: Path) -> list[Submission]:
    """All that were made for the sweep in `folder`, in order; none where it has none. Raises RunError."""
    found = [path for path in (folder / JOBS).glob(f"*/{SUBMISSION}") if path.parent.name.isdecimal()]
    return [_submission(path) for path in sorted(found, key=lambda path: int(path.parent.name))]


def read_records(run: RunFolder) -> list[Record]:
    """Those of all starts of all jobs that wrote into the run, in order. Raises RunError."""
    whole = [path for path in (run.path / JOBS).glob("job-*.json") if path.read_bytes().rstrip().endswith(b"}")]
    found = [_read(Record, read_json(path), path) for path in whole]  # half: it begins, or its node went down then
    return sorted(found, key=lambda record: (record.started, record.id, record.restart))


def _submission(path: Path) -> Submission:
    submission = _read(Submission, {**read_json(path), "number": int(path.parent.name)}, path)
    for job in submission.jobs:
        try:
            job.tasks()
        except ValueError as error:
            raise RunError(f"{path}: damaged: job {job.name} has the array {job.array!r:.60}") from error
    return submission


def _read(kind: type[Kind], values: dict[str, Any], path: Path) -> Kind:
    """The dataclass of what a file holds; what it does not know is left out. Raises RunError."""
    try:
        return _as(kind, values)
    except ValueError as error:
        raise RunError(f"{path}: damaged: {error}") from error


def _as(hint: Any, value: Any) -> Any:
    """A JSON value as the type that `hint` names. Raises ValueError."""
    if is_dataclass(hint) and isinstance(value, dict):
        return _filled(hint, value)
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_as(get_args(hint)[0], item) for item in value)
    if get_origin(hint) is UnionType:
        return None if value is None else _as(get_args(hint)[0], value)
    if hint is str and isinstance(value, str):
        return "".join(char if char.isprintable() else " " for char in value)  # it will be shown on a terminal
    if type(value) is hint or (hint is float and type(value) is int):
        return value
    raise ValueError(f"it says {value!r:.60}")


def _filled(kind: Any, values: dict[str, Any]) -> Any:
    given, hints = {}, get_type_hints(kind)
    for one in fields(kind):
        if one.name in values:
            try:
                given[one.name] = _as(hints[one.name], values[one.name])
            except ValueError as error:
                raise ValueError(f"{one.name}: {error}") from error
        elif one.default is MISSING:
            raise ValueError(f"it does not say {one.name}")
    return kind(**given)

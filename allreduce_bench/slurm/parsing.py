"""Parse the output of Slurm's commands: text in, values out. Tested with Slurm 22.05."""

import re
from collections.abc import Iterator
from typing import Annotated, NamedTuple

from ..runs.start import expand

SQUEUE_FORMAT = "%i|%T|%N|%M|%l|%r"  # what of_squeue reads; nothing in it is anybody's free text
SACCT_FIELDS = "JobID,State,NodeList,ElapsedRaw,TimelimitRaw,ExitCode,Reason"
SINFO_FORMAT = "%P|%a|%l|%s|%D|%T|%N"  # what of_sinfo reads: a line for each state in each partition
QUEUED = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
RUNNING = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")
DAYS = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")  # 1-02:03:04, 03:04


class SlurmJob(NamedTuple):
    """What Slurm says of one job, or of one task of a job array."""

    id: Annotated[str, "number of the job, such as 12 or 12_3"]
    state: Annotated[str, "as Slurm calls it, such as COMPLETED or NODE_FAIL"]
    reason: Annotated[str, "as Slurm says it; empty: none"] = ""
    nodelist: Annotated[str, "its nodes, as Slurm writes them"] = ""  # see `runs.start.expand`
    elapsed_s: Annotated[float | None, "how long it ran; null: not told; unit: s"] = None
    limit_s: Annotated[float | None, "limit of its time; null: none, or not told; unit: s"] = None
    exit_code: Annotated[str, "status:signal"] = ""
    by: Annotated[str, "who cancelled it"] = ""

    @property
    def queued(self) -> bool:
        """Whether it waits to be started, perhaps again."""
        return self.state in QUEUED

    @property
    def running(self) -> bool:
        """Whether it holds nodes."""
        return self.state in RUNNING


class Partition(NamedTuple):
    """What Slurm says of one partition."""

    name: str
    default: bool
    available: str  # in Slurm's words: up, down, drain, inact
    limit: str  # of a job's time, in Slurm's words: 1-00:00:00, infinite
    sizes: str  # nodes of a job, in Slurm's words: 1-infinite, 1-4
    states: dict[str, list[str]]  # state, in Slurm's words (idle, mixed, down*, ...) -> its nodes

    @property
    def nodes(self) -> list[str]:
        """All of them, those that are down included."""
        return [name for names in self.states.values() for name in names]


def job_id(text: str) -> str:
    """The id in what `sbatch --parsable` printed: `12`, or `12;cluster`. Raises ValueError."""
    match = re.search(r"^(\d+)(?:;\S+)?$", text.strip(), re.MULTILINE)
    if not match:
        raise ValueError(f"sbatch printed '{text.strip()[:80]}'; expected a job number")
    return match[1]


def of_squeue(text: str) -> list[SlurmJob]:
    """The jobs that `squeue --noheader --array --format SQUEUE_FORMAT` printed."""
    rows = (line.split("|", 5) for line in text.splitlines())
    jobs = (
        SlurmJob(number, state, _word_or_empty(reason), _word_or_empty(nodes), seconds(elapsed), seconds(limit))
        for number, state, nodes, elapsed, limit, reason in (row for row in rows if len(row) == 6)
    )
    return [task for job in jobs for task in _tasks(job)]


def of_sacct(text: str) -> list[SlurmJob]:
    """The jobs that `sacct --allocations --noheader --parsable2 --format SACCT_FIELDS` printed."""
    rows = (line.split("|", 6) for line in text.splitlines())
    jobs = (
        SlurmJob(
            id=number,
            state=_first_word(state),
            reason=_word_or_empty(reason),
            nodelist=_word_or_empty(nodes),
            elapsed_s=_whole_seconds(elapsed),
            limit_s=_seconds_of_minutes(limit),
            exit_code=code,
            by=_canceller(state),
        )
        for number, state, nodes, elapsed, limit, code, reason in (row for row in rows if len(row) == 7)
    )
    return [task for job in jobs for task in _tasks(job)]


def of_scontrol(text: str) -> list[SlurmJob]:
    """The jobs that `scontrol --oneliner show job` printed."""
    return [task for line in text.splitlines() if line.startswith("JobId=") for task in _tasks(_job_of_line(line))]


def _job_of_line(line: str) -> SlurmJob:
    head, _, rest = line.partition(" JobName=")
    name = re.search(r".* UserId=", rest)  # a job's name is free text, and may look like a field
    fields = dict(re.findall(r"(\S+?)=(\S*)", head + " " + rest[name.end() if name else 0 :]))
    number = f"{fields['ArrayJobId']}_{fields['ArrayTaskId']}" if "ArrayTaskId" in fields else fields["JobId"]
    return SlurmJob(
        id=number,
        state=_first_word(fields.get("JobState", "")),
        reason=_word_or_empty(fields.get("Reason", "")),
        nodelist=_word_or_empty(fields.get("NodeList", "")),
        elapsed_s=seconds(fields.get("RunTime", "")),
        limit_s=seconds(fields.get("TimeLimit", "")),
        exit_code=fields.get("ExitCode", ""),
    )


def id_parts(job_id: str) -> tuple[str, str]:
    """The number of a job, or of the array that a task belongs to, and the task's own: `12` and `3` of `12_3`."""
    job, _, task = job_id.partition("_")
    return job, task


def _tasks(job: SlurmJob) -> list[SlurmJob]:
    """Of the tasks of an array that wait together as `12_[3-5%2]` or `12_3-5` each one; any other job itself."""
    number, tasks = id_parts(job.id)
    try:
        names = expand(f"{number}_[{re.sub('%.*', '', tasks.strip('[]'))}]") if tasks else [number]
    except ValueError:  # a long list is cut short
        return [job]
    return [job._replace(id=name) for name in names]


def of_sinfo(text: str) -> list[Partition]:
    """The partitions that `sinfo --noheader --format SINFO_FORMAT` printed. Raises ValueError for odd nodes."""
    partition_of: dict[str, Partition] = {}
    for line in text.splitlines():
        columns = line.split("|")
        if len(columns) != 7:
            continue
        name, available, limit, sizes, _, state, nodes = columns
        new = Partition(name.rstrip("*"), name.endswith("*"), available, limit, sizes, {})
        partition_of.setdefault(name, new).states.setdefault(state, []).extend(expand(nodes))
    return list(partition_of.values())


def switches(text: str) -> Iterator[tuple[str, str, str]]:
    """(name, level, list of nodes) of each switch in what `scontrol --oneliner show topology` printed."""
    for line in text.splitlines():
        fields = dict(re.findall(r"(\S+?)=(\S*)", line))
        if "SwitchName" in fields:
            yield fields["SwitchName"], fields.get("Level", "0"), fields.get("Nodes", "")


def seconds(text: str) -> float | None:
    """A duration as Slurm prints it: 1-02:03:04, 02:03:04 or 03:04; None for UNLIMITED and other words."""
    match = DAYS.fullmatch(text.strip())
    if not match:
        return None
    days, hours, minutes, rest = (int(group or 0) for group in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)


def duration(time_s: float) -> str:
    """The same back: 1-02:03:04, 2:03:04 or 3:04."""
    minutes, rest = divmod(max(0, round(time_s)), 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days}-{hours:02}:{minutes % 60:02}:{rest:02}"
    return f"{hours}:{minutes % 60:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _word_or_empty(text: str) -> str:
    """Empty for the words by which Slurm says nothing."""
    return "" if text.strip() in ("None", "(null)", "N/A", "None assigned", "Unknown") else text.strip()


def _first_word(text: str) -> str:
    """The state alone of `CANCELLED by 1000`."""
    return (text.split() or [""])[0].rstrip("+")


def _canceller(text: str) -> str:
    """The user of `CANCELLED by 1000`."""
    return text.partition(" by ")[2].strip()


def _whole_seconds(text: str) -> float | None:
    return float(text) if text.strip().isdigit() else None


def _seconds_of_minutes(text: str) -> float | None:
    return 60.0 * int(text) if text.strip().isdigit() else None

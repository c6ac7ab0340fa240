"""Slurm's commands and their output: parses text into values, and runs the commands. Tested with Slurm 22.05."""

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..runs.hosts import expand
from .times import seconds

SQUEUE_FORMAT = "%i|%T|%N|%M|%l|%r"  # for parse_squeue; no field is free text
UNCOUNTED = 2**63
SACCT_FIELDS = "JobID,State,NodeList,ElapsedRaw,TimelimitRaw,ExitCode,Reason"
SINFO_FORMAT = "%P|%a|%l|%s|%D|%T|%N"  # for parse_sinfo: a line for each state in each partition
QUEUED = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
UNUSABLE = re.compile(r"down|drain|fail|unk|maint|reboot|power(ed|ing)_down|.*\*$")  # states of nodes
RUNNING = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")


class SlurmJob(NamedTuple):
    """A job, or a task of a job array, as Slurm reports it."""

    id: str  # such as 12 or 12_3
    state: str  # as Slurm calls it, such as COMPLETED or NODE_FAIL
    reason: str = ""
    nodelist: str = ""  # see `runs.start.expand`
    elapsed_s: float | None = None  # None: not told
    limit_s: float | None = None  # None: none, or not told
    exit_code: str = ""  # status:signal
    by: str = ""  # who cancelled it

    @property
    def queued(self) -> bool:
        """Whether it waits to be started, perhaps again."""
        return self.state in QUEUED

    @property
    def running(self) -> bool:
        """Whether it holds nodes."""
        return self.state in RUNNING


class Partition(NamedTuple):
    """A partition as Slurm reports it."""

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

    @property
    def is_usable(self) -> bool:
        """Whether jobs start on its nodes, as far as their states say."""
        return self.available == "up" and not all(UNUSABLE.match(state) for state in self.states)

    @property
    def sentence(self) -> str:
        """Its state in words: `debug: up, 2 idle, 1 down*`."""
        states = ", ".join(f"{len(names)} {state}" for state, names in self.states.items()) or "no nodes"
        return f"{self.name}{' (default)' if self.default else ''}: {self.available}, {states}"


def parse_job_id(text: str) -> str:
    """Return the id in what `sbatch --parsable` printed: `12`, or `12;cluster`. Raises ValueError."""
    match = re.search(r"^(\d+)(?:;\S+)?$", text.strip(), re.MULTILINE)
    if not match:
        raise ValueError(f"sbatch printed '{text.strip()[:80]}'; expected a job number")
    return match[1]


def parse_squeue(text: str) -> list[SlurmJob]:
    """Return the jobs that `squeue --noheader --array --format SQUEUE_FORMAT` printed."""
    return [
        task
        for number, state, nodes, elapsed, limit, reason in _rows(text, 6)
        for task in _tasks(
            SlurmJob(number, state, _word_or_empty(reason), _word_or_empty(nodes), seconds(elapsed), seconds(limit))
        )
    ]


def parse_sacct(text: str) -> list[SlurmJob]:
    """Return the jobs that `sacct --allocations --noheader --parsable2 --format SACCT_FIELDS` printed."""
    found = []
    for number, state, nodes, elapsed, limit, code, reason in _rows(text, 7):
        words, _, by = state.partition(" by ")  # CANCELLED by 1000
        why, where = _word_or_empty(reason), _word_or_empty(nodes)
        times = _whole_seconds(elapsed), _whole_seconds(limit, 60)
        found += _tasks(SlurmJob(number, words.strip().rstrip("+"), why, where, *times, code, by.strip()))
    return found


def _rows(text: str, columns: int) -> list[list[str]]:
    """Return the lines of so many columns; the last one may hold anything."""
    rows = (line.split("|", columns - 1) for line in text.splitlines())
    return [row for row in rows if len(row) == columns]


def split_id(job_id: str) -> tuple[str, str]:
    """Return the number of a job, or of the array that a task belongs to, and the task's own: `12` and `3` of
    `12_3`.
    """
    job, _, task = job_id.partition("_")
    return job, task


def _tasks(job: SlurmJob) -> list[SlurmJob]:
    """Return the tasks of an array that wait together as `12_[3-5%2]` or `12_3-5`; any other job itself."""
    number, tasks = split_id(job.id)
    try:
        names = expand(f"{number}_[{re.sub('%.*', '', tasks.strip('[]'))}]") if tasks else [number]
    except ValueError:  # a long list is truncated
        return [job]
    return [job._replace(id=name) for name in names]


def parse_sinfo(text: str) -> list[Partition]:
    """Return the partitions that `sinfo --noheader --format SINFO_FORMAT` printed. Raises ValueError for odd nodes."""
    partition_of: dict[str, Partition] = {}
    for line in text.splitlines():
        columns = line.split("|")
        if len(columns) != 7:
            continue
        name, available, limit, sizes, _, state, nodes = columns
        new = Partition(name.rstrip("*"), name.endswith("*"), available, limit, sizes, {})
        partition_of.setdefault(name, new).states.setdefault(state, []).extend(expand(nodes))
    return list(partition_of.values())


def parse_energies(text: str) -> dict[str, float]:
    """Return step -> joules of what `sacct --format=JobID,ConsumedEnergyRaw` printed; 0 and 2**64 - 2: not counted."""
    pairs = [line.split("|")[:2] for line in text.splitlines() if "." in line.partition("|")[0]]
    return {step: float(joules) for step, joules in pairs if joules.isdecimal() and 0 < int(joules) < UNCOUNTED}


def parse_switches(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (name, level, list of nodes) of each switch in what `scontrol --oneliner show topology` printed."""
    for line in text.splitlines():
        fields = dict(re.findall(r"(\S+?)=(\S*)", line))
        if "SwitchName" in fields:
            yield fields["SwitchName"], fields.get("Level", "0"), fields.get("Nodes", "")


def _word_or_empty(text: str) -> str:
    """Return the word, or an empty text for Slurm's words for nothing."""
    return "" if text.strip() in ("None", "(null)", "N/A", "None assigned", "Unknown") else text.strip()


def _whole_seconds(text: str, unit_s: float = 1.0) -> float | None:
    return unit_s * int(text) if text.strip().isdigit() else None


# Running Slurm's commands: nothing else runs them


PATIENCE_S = 60.0  # a busy controller answers within that
INHERITED = re.compile(r"SBATCH_|SQUEUE_|SACCT_|SLURM_(?!CONF|JWT|CLUSTERS)")  # inherited from a shell or an outer job
PREFIX = re.compile(  # of an error message: the command that prints it
    r"^(?:sbatch|squeue|scontrol|scancel|sacct|sinfo|salloc|slurm_load_\w+)(?:: (?:error|fatal|info))?: "
)


class SlurmError(RuntimeError):
    """Error: Slurm is missing, does not respond, or refuses; its message in one line."""


class NoAnswer(SlurmError):
    """Error: a command timed out; whether it took effect is unknown."""


def version(patience_s: float = PATIENCE_S) -> str:
    """Return Slurm's version, in its words. Raises SlurmError."""
    return _stdout_of(["sinfo", "--version"], patience_s).strip()


def ping(patience_s: float = PATIENCE_S) -> str:
    """Return the output of `scontrol ping`. Raises SlurmError: no Slurm, or it does not answer."""
    return _stdout_of(["scontrol", "ping"], patience_s=patience_s).strip()


def partitions(patience_s: float = PATIENCE_S) -> list[Partition]:
    """Return the visible partitions. Raises SlurmError."""
    return parse_sinfo(_stdout_of(["sinfo", "--noheader", f"--format={SINFO_FORMAT}"], patience_s))


def test_only(script: Path, arguments: Sequence[str] = ()) -> str:
    """When and where the script would start, in Slurm's words; nothing is submitted. Raises SlurmError."""
    return complaint_sentence(_run(["sbatch", "--test-only", *arguments, str(script)]).stderr)


def submit(script: Path, arguments: Sequence[str] = ()) -> str:
    """Submit the script; return the number of its job. Raises SlurmError; NoAnswer: the job may be queued anyway."""
    try:
        printed = _stdout_of(["sbatch", "--parsable", *arguments, str(script)])
    except NoAnswer as error:
        raise NoAnswer(f"{error}; if 'squeue --me' shows a held job for it, cancel that job") from error
    try:
        return parse_job_id(printed)
    except ValueError as error:
        raise SlurmError(str(error)) from error


def release(numbers: Sequence[str]) -> None:
    """Let held jobs start. Raises SlurmError."""
    _stdout_of(["scontrol", "release", ",".join(numbers)])


def cancel(numbers: Sequence[str]) -> None:
    """Cancel jobs, those that have ended already included. Raises SlurmError."""
    if numbers:
        _stdout_of(["scancel", *numbers])


def scripts_of_queue(numbers: Sequence[str]) -> dict[str, str]:
    """Return the script of each job or array of these that is queued or running, by its number. Raises SlurmError."""
    ping()  # squeue also fails for jobs that nobody knows any more
    with suppress(SlurmError):
        rows = _stdout_of(["squeue", "--noheader", f"--jobs={','.join(numbers)}", "--format=%F|%o"]).splitlines()
        return dict(row.split("|", 1) for row in rows if "|" in row)
    return {}


def requeue(number: str) -> None:
    """End a job, and have it start again later. Raises SlurmError."""
    _stdout_of(["scontrol", "requeue", number])


def find_jobs(numbers: Sequence[str]) -> dict[str, SlurmJob]:
    """Return the jobs that Slurm knows, by id; job arrays task by task. Forgotten ones are absent.

    Queried are the accounting, if there is one, and the queue, which for some minutes has jobs that are over.
    """
    ping()  # the commands below also fail for jobs that nobody knows any more
    job_of = {job.id: job for job in _jobs_of_accounting(numbers)}
    for job in _jobs_of_queue(numbers):  # of what is over, the accounts say more; of what is not, they may be late
        if job.queued or job.running or job.id not in job_of or job_of[job.id].queued or job_of[job.id].running:
            job_of[job.id] = job
    return job_of


def _jobs_of_accounting(numbers: Sequence[str]) -> list[SlurmJob]:
    options = ["--allocations", "--noheader", "--parsable2", f"--format={SACCT_FIELDS}"]
    with suppress(SlurmError):  # many sites keep no accounts
        accounts = parse_sacct(_stdout_of(["sacct", f"--jobs={','.join(numbers)}", *options]))
        return [job._replace(by=_user_name(job.by)) for job in accounts]
    return []


def _user_name(user: str) -> str:
    """Return the name of a user's number, where it has one here."""
    with suppress(KeyError, ValueError):
        return pwd.getpwuid(int(user)).pw_name
    return user


def _jobs_of_queue(numbers: Sequence[str]) -> list[SlurmJob]:
    options = ["--noheader", "--array", "--states=all", f"--format={SQUEUE_FORMAT}"]
    with suppress(SlurmError):  # `Invalid job id specified`, where it has forgotten the only one
        return parse_squeue(_stdout_of(["squeue", f"--jobs={','.join(numbers)}", *options]))
    return []


def switches_of_nodes(names: Iterable[str]) -> dict[str, str]:
    """Return the switches above each of these nodes, topmost first: `s0/s1`; empty where Slurm knows no topology."""
    with suppress(SlurmError, ValueError):
        by_level = [
            (int(level), name, set(expand(nodes)))
            for name, level, nodes in parse_switches(_stdout_of(["scontrol", "--oneliner", "show", "topology"]))
        ]
        by_level.sort(reverse=True)
        paths = {node: "/".join(name for _, name, nodes_below in by_level if node in nodes_below) for node in names}
        return {node: path for node, path in paths.items() if path}
    return {}


def oversubscribe_of(number: str) -> str:
    """Return whether a job shares its nodes, in Slurm's words: NO, OK, YES, USER. Raises SlurmError."""
    text = _stdout_of(["scontrol", "--oneliner", "show", "job", number])
    found = re.search(r"\bOverSubscribe=(\S+)", text)
    return found[1] if found else "unknown"


def step_energies(number: str) -> dict[str, float]:
    """Return step -> joules of a job, where Slurm counts them. Raises SlurmError."""
    options = ["--noheader", "--parsable2", "--format=JobID,ConsumedEnergyRaw"]
    return parse_energies(_stdout_of(["sacct", f"--jobs={number}", *options]))


def _stdout_of(command: list[str], patience_s: float = PATIENCE_S) -> str:
    return _run(command, patience_s).stdout


def _run(command: list[str], patience_s: float = PATIENCE_S) -> subprocess.CompletedProcess:
    """Run the command to its end. Raises SlurmError unless it ended well."""
    program = command[0]
    if not shutil.which(program):
        raise SlurmError(f"{program} not found in PATH: no Slurm on this machine, or its module is not loaded")
    environ = {name: value for name, value in os.environ.items() if not INHERITED.match(name)}
    captured: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "replace"}
    try:
        process = subprocess.run(command, env=environ, timeout=patience_s, check=False, **captured)
    except subprocess.TimeoutExpired:
        raise NoAnswer(
            f"{program}: no response within {patience_s:.0f} s; check the controller (scontrol ping)"
        ) from None
    if process.returncode:
        complaint = complaint_sentence(process.stderr) or complaint_sentence(process.stdout)
        habit = complaint or f"exit status {process.returncode}"
        raise SlurmError(f"{program}: {habit}")
    return process


def complaint_sentence(printed: str) -> str:
    """Return the errors that a command printed, in one line and without its name before each sentence."""
    lines = [PREFIX.sub("", PREFIX.sub("", line.strip())) for line in printed.splitlines()]
    return "; ".join(dict.fromkeys(line for line in lines if line and not line.startswith("**")))  # nor a banner

"""Slurm's commands (the only module that runs them; `parsing` reads their output), and the job of this process."""

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..runs.plan import Launch, Plan
from ..runs.rows import RunError
from ..runs.start import expand
from . import parsing
from .parsing import Partition, SlurmJob

PATIENCE_S = 60.0  # a controller that is only busy answers within that
INHERITED = re.compile(r"SBATCH_|SQUEUE_|SACCT_|SLURM_(?!CONF|JWT|CLUSTERS)")  # what a shell or an outer job slips in
PREFIX = re.compile(  # of a complaint: which command speaks
    r"^(?:sbatch|squeue|scontrol|scancel|sacct|sinfo|salloc|slurm_load_\w+)(?:: (?:error|fatal|info))?: "
)


class SlurmError(RuntimeError):
    """Error: Slurm is missing, does not respond, or refuses; its message in one line."""


class NoAnswer(SlurmError):
    """Error: a command timed out; whether it took effect is unknown."""


class Allocation(NamedTuple):
    """A job, or a task of a job array, and this start of it."""

    number: str  # of this job alone: what scontrol is told
    job: str  # of an array: that of the array
    task: str | None  # of an array
    restart: int  # how often it was requeued
    nodes: tuple[str, ...]  # their names; empty: not told
    node_count: int | None

    @property
    def name(self) -> str:
        """`12`, or `12_3` of a job array, as squeue shows it."""
        return self.job if self.task is None else f"{self.job}_{self.task}"


def allocation(environ: Mapping[str, str]) -> Allocation | None:
    """The job that these environment variables tell of; None: no job."""
    number, task = _digits(environ, "SLURM_JOB_ID"), _digits(environ, "SLURM_ARRAY_TASK_ID")
    if number is None:
        return None
    try:
        nodes = tuple(expand(environ.get("SLURM_JOB_NODELIST", "")))
    except ValueError:
        nodes = ()
    count = _digits(environ, "SLURM_JOB_NUM_NODES")
    return Allocation(
        number=number,
        job=_digits(environ, "SLURM_ARRAY_JOB_ID") or number,
        task=task,
        restart=int(_digits(environ, "SLURM_RESTART_COUNT") or 0),
        nodes=nodes,
        node_count=int(count) if count else len(nodes) or None,
    )


def _digits(environ: Mapping[str, str], name: str) -> str | None:
    """The value of a variable that is a whole number; None: it is none, or there is none."""
    value = environ.get(name, "")
    return value if value.isascii() and value.isdigit() else None


def refuse_few_nodes(job: Allocation | None, plan: Plan, launches: Iterable[Launch]) -> None:
    """Raises RunError where the job has fewer nodes than one of the launches needs at --ranks-per-node."""
    ranks_per_node = plan.start.ranks_per_node
    if job is None or job.node_count is None or ranks_per_node is None:
        return
    for launch in launches:
        nodes_needed = -(-launch.ranks // ranks_per_node)
        if nodes_needed > job.node_count:
            raise RunError(
                f"launch {launch.name}: {launch.ranks} ranks at {ranks_per_node} per node need {nodes_needed} nodes, "
                f"but job {job.name} has {job.node_count}; submit it with --nodes={nodes_needed}, "
                "or choose other launches with --only"
            )


def version(patience_s: float = PATIENCE_S) -> str:
    """Which Slurm this is, in its words. Raises SlurmError."""
    return _stdout_of(["sinfo", "--version"], patience_s).strip()


def ping(patience_s: float = PATIENCE_S) -> str:
    """What `scontrol ping` says of the controller. Raises SlurmError: no Slurm, or it does not answer."""
    return _stdout_of(["scontrol", "ping"], patience_s=patience_s).strip()


def partitions(patience_s: float = PATIENCE_S) -> list[Partition]:
    """The partitions that we may see. Raises SlurmError."""
    return parsing.of_sinfo(_stdout_of(["sinfo", "--noheader", f"--format={parsing.SINFO_FORMAT}"], patience_s))


def test_only(script: Path, arguments: Sequence[str] = ()) -> str:
    """When and where the script would start, in Slurm's words; nothing is submitted. Raises SlurmError."""
    return _complaint_sentence(_run(["sbatch", "--test-only", *arguments, str(script)]).stderr)


def submit(script: Path, arguments: Sequence[str] = ()) -> str:
    """Submit the script; the number of its job. Raises SlurmError; NoAnswer: the job may be in the queue anyway."""
    try:
        printed = _stdout_of(["sbatch", "--parsable", *arguments, str(script)])
    except NoAnswer as error:
        raise NoAnswer(f"{error}; if 'squeue --me' shows a held job for it, cancel that job") from error
    try:
        return parsing.job_id(printed)
    except ValueError as error:
        raise SlurmError(str(error)) from error


def release(numbers: Sequence[str]) -> None:
    """Let held jobs start. Raises SlurmError."""
    _stdout_of(["scontrol", "release", ",".join(numbers)])


def cancel(numbers: Sequence[str]) -> None:
    """Cancel jobs, those that have ended already included. Raises SlurmError."""
    if numbers:
        _stdout_of(["scancel", *numbers])


def requeue(number: str) -> None:
    """End a job, and have it start again later. Raises SlurmError."""
    _stdout_of(["scontrol", "requeue", number])


def jobs(numbers: Sequence[str]) -> dict[str, SlurmJob]:
    """By id what Slurm knows of these jobs; job arrays task by task. Those that it has forgotten are absent.

    Asked are the accounting, where there is one, the queue, and of what both have not the controller's memory.
    Raises SlurmError.
    """
    ping()  # the commands below also fail for jobs that nobody knows any more
    job_of = {job.id: job for job in _jobs_of_accounting(numbers)}
    for job in _jobs_of_queue(numbers):  # of what is over, the accounts say more; of what is not, they may be late
        if job.queued or job.running or job.id not in job_of or job_of[job.id].queued or job_of[job.id].running:
            job_of[job.id] = job
    masters = {parsing.id_parts(number)[0] for number in job_of}  # the jobs, and the arrays to which the tasks belong
    unknown = [number for number in numbers if number not in masters]
    return job_of | {job.id: job for job in _jobs_of_controller(unknown)}


def _jobs_of_accounting(numbers: Sequence[str]) -> list[SlurmJob]:
    options = ["--allocations", "--noheader", "--parsable2", f"--format={parsing.SACCT_FIELDS}"]
    with suppress(SlurmError):  # many sites keep no accounts
        accounts = parsing.of_sacct(_stdout_of(["sacct", f"--jobs={','.join(numbers)}", *options]))
        return [job._replace(by=_user_name(job.by)) for job in accounts]
    return []


def _user_name(user: str) -> str:
    """The name of a user's number, where it has one here."""
    with suppress(KeyError, ValueError):
        return pwd.getpwuid(int(user)).pw_name
    return user


def _jobs_of_queue(numbers: Sequence[str]) -> list[SlurmJob]:
    options = ["--noheader", "--array", "--states=all", f"--format={parsing.SQUEUE_FORMAT}"]
    with suppress(SlurmError):  # `Invalid job id specified`, where it has forgotten the only one
        return parsing.of_squeue(_stdout_of(["squeue", f"--jobs={','.join(numbers)}", *options]))
    return []


def _jobs_of_controller(numbers: Sequence[str]) -> list[SlurmJob]:
    remembered = []
    for number in numbers:
        with suppress(SlurmError):
            remembered += parsing.of_scontrol(_stdout_of(["scontrol", "--oneliner", "show", "job", number]))
    return remembered


def switches(names: Iterable[str]) -> dict[str, str]:
    """The switches above each of these nodes, topmost first: `s0/s1`; empty where Slurm knows no topology."""
    with suppress(SlurmError, ValueError):
        by_level = [
            (int(level), name, set(expand(nodes)))
            for name, level, nodes in parsing.switches(_stdout_of(["scontrol", "--oneliner", "show", "topology"]))
        ]
        by_level.sort(reverse=True)
        paths = {node: "/".join(name for _, name, nodes_below in by_level if node in nodes_below) for node in names}
        return {node: path for node, path in paths.items() if path}
    return {}


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
        advice = "check the controller (scontrol ping)"
        raise NoAnswer(f"{program}: no response within {patience_s:.0f} s; {advice}") from None
    if process.returncode:
        complaint = _complaint_sentence(process.stderr) or _complaint_sentence(process.stdout)
        raise SlurmError(f"{program}: {complaint or f'exit status {process.returncode}'}")
    return process


def _complaint_sentence(printed: str) -> str:
    """What a command complained of, in one line and without its name before each sentence."""
    lines = [PREFIX.sub("", PREFIX.sub("", line.strip())) for line in printed.splitlines()]
    return "; ".join(dict.fromkeys(line for line in lines if line and not line.startswith("**")))  # nor a banner

"""Slurm's states of the jobs of a sweep, including kept states of jobs that Slurm has forgotten."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from ..runs.files import write_atomically
from ..runs.kept import read_json
from ..runs.rows import RunError
from ..runs.typed_json import JsonError, read_as
from . import commands
from .job_files import JOBS
from .parsing import SlurmJob, id_parts

FORGOTTEN = "FORGOTTEN"  # state of a job that Slurm does not know (any more): it is over


class JobStates(NamedTuple):
    """What is known of jobs."""

    jobs: Mapping[str, SlurmJob]  # by id
    silence: str = ""  # why Slurm could not be asked; empty: it was


def ask_states(numbers: Iterable[str], sweep: Path) -> JobStates:
    """Ask Slurm for these jobs; of what it has forgotten there is what it told earlier. Raises RunError."""
    job_ids, kept = list(numbers), kept_states(sweep)
    if not job_ids:
        return JobStates(kept)
    masters = sorted({id_parts(number)[0] for number in job_ids}, key=lambda number: (len(number), number))
    try:
        current = commands.jobs(masters)
        return JobStates({**{number: SlurmJob(number, FORGOTTEN) for number in job_ids}, **kept, **current})
    except commands.SlurmError as error:
        return JobStates(kept, str(error))


def kept_states(sweep: Path) -> dict[str, SlurmJob]:
    """By id the jobs of which `keep_states` has kept how they ended. Raises RunError."""
    path = _path(sweep)
    values = read_json(path) if path.is_file() else {}
    try:
        return read_as(dict[str, SlurmJob], values, exact=True)
    except JsonError as error:
        raise RunError(f"{path}: damaged: {error}; remove it") from error


def keep_states(states: JobStates, sweep: Path) -> None:
    """Keep beside the sweep's jobs how they ended: Slurm forgets, and reports are read elsewhere. Raises OSError."""
    ended = {number: job._asdict() for number, job in states.jobs.items() if not (job.queued or job.running)}
    if ended:
        _path(sweep).parent.mkdir(exist_ok=True)  # a folder of runs by hand has none
        write_atomically(_path(sweep), json.dumps(ended, indent=1) + "\n")


def _path(sweep: Path) -> Path:
    return sweep / JOBS / "ended.json"

"""A submission as a transaction: either all jobs are queued, or none, and nothing is left on disk."""

import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from shutil import rmtree

from ..runs.folder import RunFolder
from ..runs.plan import Plan
from ..runs.recorder import create_run, write_whole
from ..runs.rows import RunError
from . import commands
from .commands import NoAnswer, SlurmError
from .job_files import JOBS, SUBMISSION, Submission, SweepJob, next_number, read_submissions
from .sbatch_words import drop_node_words, partitions_of

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # signals that end a session
NOTHING = "nothing was submitted"


def submit_all(
    submission: Submission, scripts: Mapping[str, str], sweep: Path, new_runs: Sequence[tuple[RunFolder, Plan]]
) -> Submission:
    """Create the new runs, submit the scripts of all jobs, release them; return the submission with their numbers.

    It is kept as submission.json. On any failure, KeyboardInterrupt included, submitted jobs are cancelled and created
    files removed. Raises SlurmError, RunError, OSError.
    """
    made: list[Path] = []
    jobs: list[SweepJob] = []
    with _deferred_signals() as is_interrupted:
        try:
            for _ in _steps(submission, scripts, sweep, new_runs, made, jobs):
                if is_interrupted():
                    raise KeyboardInterrupt
        except BaseException as error:
            _cancel_and_remove([job.job for job in jobs], sweep, made, error)
            if isinstance(error, SlurmError) and not isinstance(error, NoAnswer):
                raise SlurmError(f"{error}; {NOTHING}") from error
            if isinstance(error, OSError) and error.strerror:  # a full disk does not say where
                raise OSError(error.errno, f"{error.strerror}; {NOTHING}", error.filename or sweep) from error
            raise
    return _describe_submission(submission, made[-1], jobs)


def _steps(
    submission: Submission,
    scripts: Mapping[str, str],
    sweep: Path,
    new_runs: Sequence[tuple[RunFolder, Plan]],
    made: list[Path],
    jobs: list[SweepJob],
) -> Iterator[None]:
    """Submit, and yield after each step; `made` and `jobs` grow with what there is to be undone."""
    for run, plan in new_runs:
        create_run(run, plan, submission.command)
        made.append(run.path)
        yield
    folder = _make_folder(sweep)
    made.append(folder)
    for name, text in scripts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for job in submission.all_jobs:
        with _name_job_in_errors(job):
            commands.test_only(folder / job.script, words_for(job, submission))
        yield
    numbered = replace(submission, number=int(folder.name))
    for job in submission.all_jobs:  # held, so that nothing starts before the last one is in
        arguments = sbatch_arguments(job, numbered, sweep, behind=[job.job for job in jobs])
        with _name_job_in_errors(job):
            jobs.append(replace(job, job=commands.submit(folder / job.script, arguments)))
        yield
    kept = asdict(_describe_submission(submission, folder, jobs))
    write_whole(folder / SUBMISSION, json.dumps(kept, indent=1).encode())  # others may look for it
    yield
    commands.release([job.job for job in jobs])
    yield


def _describe_submission(submission: Submission, folder: Path, jobs: Sequence[SweepJob]) -> Submission:
    """Return the submission with its number and the numbers of its jobs."""
    *measuring, collect = jobs
    return replace(submission, number=int(folder.name), jobs=tuple(measuring), collect=collect)


def words_for(job: SweepJob, submission: Submission) -> Sequence[str]:
    """Return the words of the user for sbatch that suit the job."""
    arguments = submission.choices.arguments
    return drop_node_words(arguments) if job.name == submission.collect.name else arguments


def sbatch_arguments(job: SweepJob, submission: Submission, sweep: Path, behind: Sequence[str]) -> list[str]:
    """Return the arguments of sbatch for the job; the one that collects depends on the jobs `behind`."""
    folder = str(sweep / JOBS / str(submission.number)).replace("%", "%%")
    output = f"--output={folder}/{job.output('%A_%a' if job.array else '%j')}"
    is_last = job.name == submission.collect.name
    dependency = [f"--dependency=afterany:{':'.join(behind)}"] if is_last else []
    return [*words_for(job, submission), "--hold", output, *dependency]


@contextmanager
def _name_job_in_errors(job: SweepJob) -> Iterator[None]:
    """Name the script in errors of sbatch."""
    try:
        yield
    except SlurmError as error:
        raise type(error)(f"{job.script}: {error}") from error


@contextmanager
def _deferred_signals() -> Iterator[Callable[[], bool]]:
    """Defer signals that would end this process, or the commands that it waits for; give what says whether one came.

    They are blocked, which commands inherit, and handled, since other threads of this process (numpy's) do not block
    them.
    """
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in ENDING}
    heeded = {number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in heeded:
        signal.signal(number, lambda number, frame: received.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, heeded)
    try:
        yield lambda: bool(received or heeded & signal.sigpending())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in heeded:
            signal.signal(number, before[number])


def _make_folder(sweep: Path) -> Path:
    """Create the folder of the submission."""
    while True:
        folder = sweep / JOBS / str(next_number(sweep))
        with suppress(FileExistsError):  # another submission was faster
            folder.mkdir(parents=True)
            return folder


def _cancel_and_remove(numbers: Sequence[str], sweep: Path, made: Sequence[Path], error: BaseException) -> None:
    """Undo a submission that failed with `error`. Raises RuntimeError if its jobs cannot be cancelled."""
    try:
        commands.cancel(numbers)
    except SlurmError as refused:
        raise RuntimeError(
            f"{error or 'interrupted'}; the submitted jobs could not be cancelled ({refused}): scancel "
            f"{' '.join(numbers)}"
        ) from error
    for path in made:
        rmtree(path, ignore_errors=True)
    for path in (sweep / JOBS, sweep):
        with suppress(OSError):  # where it holds anything else
            path.rmdir()


def find_queued_jobs(sweep: Path) -> list[SweepJob]:
    """Return the jobs of the sweep that are queued or running. Raises SlurmError, RunError.

    A job whose script is not in the sweep has a number that Slurm gave again: it belongs to somebody else.
    """
    scripts = {
        job.job: (job, sweep / JOBS / str(submission.number) / job.script)
        for submission in read_submissions(sweep)
        for job in submission.all_jobs
    }
    if not scripts:
        raise RunError(f"{sweep}: not a sweep: no job was submitted for it")
    queue = commands.scripts_of_queue([*scripts])
    return [
        job for number, (job, script) in scripts.items() if Path(queue.get(number, "")).resolve() == script.resolve()
    ]


def cancel_sweep(sweep: Path) -> list[SweepJob]:
    """Cancel the jobs of the sweep that are queued or running, and return them. Raises SlurmError, RunError."""
    jobs = find_queued_jobs(sweep)
    commands.cancel([job.job for job in jobs])
    return jobs


def refuse_down_partition(words: Sequence[str], site: Mapping[str, str | None], patience_s: float) -> None:
    """Raise SlurmError if no partition that the words, else the file of the site, name, else the default, is usable.

    Partitions that sinfo does not show are left to sbatch.
    """
    partitions = commands.partitions(patience_s)
    named = partitions_of(words) or (site.get("partition") or "").split(",")
    asked = [each for each in partitions if each.name in named or named == [""] and each.default]
    if not asked or any(each.is_usable for each in asked):
        return
    usable = [each.name for each in partitions if each.is_usable]
    advice = f"choose another: -- -p {' or '.join(usable)}" if usable else "no other partition is up"
    sentence = "; ".join(each.sentence for each in asked)
    raise SlurmError(f"partition {sentence}: jobs would wait until its state changes; {advice}; {NOTHING}")


def check_folder(path: Path) -> Path:
    """Return `path`, below which sbatch shall write. Raises ValueError for names that it would misread."""
    odd = next((letter for letter in str(path) if letter == "\\" or not letter.isprintable()), None)
    if odd is not None:
        raise ValueError(
            f"{str(path)!r}: sbatch cannot write to a folder with {ascii(odd)} in its name; use another folder"
        )
    return path

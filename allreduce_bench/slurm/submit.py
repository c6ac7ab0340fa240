"""The jobs of a sweep, one per run and number of nodes, and their submission, all or none.

With their expected duration, estimated from the plan, and their time limit.
"""

import json
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from ..runs.folder import RunFolder
from ..runs.injected import longest_phase_s
from ..runs.plan import Cell, Plan, PlanError
from ..runs.recorder import create_run, write_whole
from ..runs.rows import RunError
from ..runs.start import Start
from ..units import format_ranges, parse_duration
from . import commands
from .commands import NoAnswer, SlurmError
from .job_files import JOBS, SUBMISSION

HERE = "."  # the folder of the sweep is itself the run


# cost of a launch
START_S, START_OF_NODE_S = 10.0, 0.1  # of a launch: Python and MPI on every node, and the clocks compared
CALL_S, BYTES_PER_S = 1e-4, 1e9  # of a slow all-reduce: its latency, and bandwidth of long vectors
LEAST_CALLS = 6  # timed however long they take; see `measuring.budget`
CHECK_S, CHECKED_BYTES_PER_S = (
    0.05,
    2e8,
)  # of a cell: vectors are made, and compared before, during and after its timing
CHECK_CALLS = 8  # of long vectors: calls only for checks


# time limits
MARGIN = 2.0  # of a limit over the expected duration
STEP_S, LEAST_LIMIT_S = 300.0, 600.0  # limits are whole steps
LONGEST_LIMIT_S = 366 * 86400.0
FORMS = (  # of sbatch --time
    r"(?P<m>\d+)(?::(?P<s>\d+))?",
    r"(?P<h>\d+):(?P<m>\d+):(?P<s>\d+)",
    r"(?P<d>\d+)-(?P<h>\d+)(?::(?P<m>\d+)(?::(?P<s>\d+))?)?",
)
LENGTHS_S = {"d": 86400, "h": 3600, "m": 60, "s": 1}
SIGNAL_AT = re.compile(r"@\d+$")
SHORT_LIMIT_S, SHORT_WARNING_S = 300.0, 30  # below such a limit the job is warned only so long before it


class SweepJob(NamedTuple):
    """One job, or one array of jobs: the launches of one run on one number of nodes."""

    name: str  # 8n
    run: str  # its run in the folder of the sweep: HERE, or 4-per-node
    nodes: int
    start: Start  # of its ranks; it names the ranks per node
    ranks: int
    launches: tuple[int, ...]  # their numbers: those that have cells left
    cells: int  # that are left in all of them
    expected_s: float  # of the job; of the longest of its tasks in an array
    array: str | None = None  # the numbers of its tasks as sbatch takes them; None: no array

    @property
    def label(self) -> str:
        """Unique name within the sweep, also in file names: 8n, or 8n-4-per-node."""
        return self.name if self.run == HERE else f"{self.name}-{self.run}"

    @property
    def only(self) -> str:
        """Its launches as `run --only` takes them; a task of an array adds its number."""
        return f"{self.ranks}r"

    @property
    def tasks(self) -> int:
        """Number of jobs that Slurm makes of it."""
        return len(self.launches) if self.array else 1

    def node_hours(self, time_s: float) -> float:
        """Return the node-hours if each of its tasks takes `time_s`."""
        return self.nodes * self.tasks * time_s / 3600


def jobs_of(
    sweep: Path,
    runs: Sequence[tuple[RunFolder, Plan]],
    array: bool = False,
    skip_hung: bool = False,
    within_s: float | None = None,
) -> list[SweepJob]:
    """Return the jobs that measure the rest of the runs, each within a time; with `array` each launch is a task.

    Empty: nothing is left. Raises PlanError for a run that does not say how many ranks its nodes have.
    """
    return [
        job if within_s is None else job._replace(expected_s=min(job.expected_s, START_S + within_s))
        for folder, plan in runs
        for ranks in plan.ranks
        for job in _job_of(sweep, folder, plan, ranks, array, skip_hung)
    ]


def _job_of(sweep: Path, folder: RunFolder, plan: Plan, ranks: int, array: bool, skip_hung: bool) -> Iterator[SweepJob]:
    nodes = _nodes_for(folder, plan, ranks)
    cells_left: dict[int, list[list[Cell]]] = {}  # number -> of each launch of that number
    for launch in [launch for launch in plan.planned_launches() if launch.ranks == ranks]:
        finished = folder.finished(launch, skip_hung)
        if cells := [cell for cell in plan.cells(launch) if cell.key not in finished]:
            cells_left.setdefault(launch.number, []).append(cells)
    if not cells_left:
        return
    launches_s = [sum(launch_s(plan, nodes, cells) for cells in launches) for launches in cells_left.values()]
    run = HERE if folder.path == sweep else folder.path.name
    yield SweepJob(
        name=f"{nodes}n",
        run=run,
        nodes=nodes,
        start=plan.start,
        ranks=ranks,
        launches=tuple(cells_left),
        cells=sum(len(cells) for launches in cells_left.values() for cells in launches),
        expected_s=max(launches_s) if array else sum(launches_s),
        array=format_ranges(cells_left) if array else None,
    )


def _nodes_for(folder: RunFolder, plan: Plan, ranks: int) -> int:
    """Return how many nodes so many ranks fill. Raises PlanError if that is no integer."""
    ranks_per_node = plan.start.ranks_per_node
    if not ranks_per_node or ranks % ranks_per_node:
        layout = (
            f"{ranks} ranks, {ranks_per_node} on each node" if ranks_per_node else "a plan without --ranks-per-node"
        )
        raise PlanError(f"{folder.path}: {layout}: not a whole number of nodes; continue it with run --resume in a job")
    return ranks // ranks_per_node


def name_of_run(ranks_per_node: int, several: bool) -> str:
    """Return the place in the sweep's folder of the run with so many ranks per node; a single one is the sweep
    itself.
    """
    return f"{ranks_per_node}-per-node" if several else HERE


def launch_s(plan: Plan, nodes: int, cells: Iterable[Cell]) -> float:
    """Return the seconds of one launch on so many nodes that measures these cells in full."""
    return START_S + START_OF_NODE_S * nodes + sum(_cell_s(plan, cell) for cell in cells)


def _cell_s(plan: Plan, cell: Cell) -> float:
    """Return the seconds of one cell in one launch."""
    size_bytes = cell.size_bytes
    plain_s = CALL_S + size_bytes / BYTES_PER_S
    call_s = plain_s + longest_phase_s(plan.compute_s, plan.inject_slowdown)
    timed_s = plan.iters * call_s if plan.iters else max(plan.cell_time_s, LEAST_CALLS * call_s)
    untimed_s = plan.warmups * call_s + (plan.back_to_back + CHECK_CALLS) * plain_s
    return max(timed_s, plan.min_time_s) + untimed_s + CHECK_S + size_bytes / CHECKED_BYTES_PER_S


def limit_for(expected_s: float) -> float:
    """Return the time limit of a job that takes `expected_s`: twice that, in whole five minutes, ten at least."""
    return max(LEAST_LIMIT_S, ceil(MARGIN * expected_s / STEP_S) * STEP_S)


def parse_limit(text: str) -> float:
    """Parse a time limit as sbatch takes it (30, 1:30:00, 2-12), or with units (90m, 2h); seconds, in whole minutes.

    Raises ValueError.
    """
    match = next(filter(None, (re.fullmatch(form, text.strip()) for form in FORMS)), None)
    try:
        parts = {unit: int(number or 0) for unit, number in match.groupdict().items()} if match else {}
        limit_s = sum(LENGTHS_S[unit] * number for unit, number in parts.items()) if match else parse_duration(text)
    except ValueError:
        limit_s = 0.0
    if not 0 < limit_s <= LONGEST_LIMIT_S:
        raise ValueError(f"'{text}' is not a time limit; expected minutes, such as 30, or such as 1:30:00, 2-12 or 90m")
    return ceil(limit_s / 60) * 60.0


def format_limit(limit_s: float) -> str:
    """Format for sbatch: `00:30:00`, `1-02:00:00`."""
    days, rest = divmod(round(limit_s), 86400)
    return f"{f'{days}-' if days else ''}{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def warning_for(signal: str, limit_s: float) -> str:
    """Return the value of --signal, such as B:USR1@120, fitted to a short limit: Slurm may warn a minute too early."""
    warning_s = SHORT_WARNING_S if limit_s > 60 else SHORT_WARNING_S - 5
    return SIGNAL_AT.sub(f"@{warning_s}", signal) if limit_s < SHORT_LIMIT_S else signal


# Submission of scripts as a transaction: either all jobs are queued, or none, and nothing is left on disk.
#
# The user may give any option of sbatch that submit does not set itself (`check_sbatch_words`).


ENDING = (  # signals that end a session
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
)
NOTHING = "nothing was submitted"


# options of sbatch
BEFORE_DASHES = "put it before the --"
BY_SUBMIT = "submit sets it itself"
ONE_CLUSTER = "submit on a login node of that cluster"
DECIDED = {  # options of sbatch that would override the scripts -> what to do instead
    "nodes": f"{BEFORE_DASHES}: --nodes",
    "ntasks": "ranks are nodes x ranks per node: --nodes, --ranks-per-node",
    "ntasks-per-node": f"{BEFORE_DASHES}: --ranks-per-node",
    "job-name": f"{BEFORE_DASHES}: --job-name",
    "time": f"{BEFORE_DASHES}: --time",
    "array": f"{BEFORE_DASHES}: --array",
    "output": BY_SUBMIT,
    "hold": BY_SUBMIT,
    "parsable": BY_SUBMIT,
    "quiet": "sbatch would not print the job number",
    "test-only": "use --dry-run",
    "wait": BY_SUBMIT,
    "wrap": BY_SUBMIT,
    "help": BY_SUBMIT,
    "usage": BY_SUBMIT,
    "version": BY_SUBMIT,
    "clusters": ONE_CLUSTER,
}
SHORT = {"N": "nodes", "n": "ntasks", "J": "job-name", "t": "time", "a": "array", "o": "output", "H": "hold"}
SHORT |= {"W": "wait", "h": "help", "V": "version", "M": "clusters", "Q": "quiet"}
FLAGS = {"contiguous", "exclusive", "get-user-env", "nice", "no-kill", "no-requeue", "overcommit", "oversubscribe"}
FLAGS |= {"propagate", "reboot", "requeue", "share", "spread-job", "use-min-nodes", "verbose"}
SHORT_FLAGS = ("-k", "-O", "-s", "-v")  # without a value: sbatch would take it for the script


class Script(NamedTuple):
    """The script of one job."""

    name: str  # of the job in the sweep, and of its file without .sbatch
    text: str
    output: str  # file name of its output, in sbatch's words

    @property
    def file(self) -> str:
        """File name."""
        return f"{self.name}.sbatch"


class SubmissionOrder(NamedTuple):
    """The jobs of one submission."""

    sweep: Path  # absolute
    new: Sequence[tuple[RunFolder, Plan]]  # the runs to create; empty: the sweep exists
    scripts: Sequence[Script]  # of the jobs that measure
    collecting: Script  # of the job that runs after all of them
    arguments: Sequence[str]  # for sbatch, in the user's words
    command: Sequence[str]  # that was called

    def sbatch_arguments(self, script: Script, number: int, behind: Sequence[str] = ()) -> list[str]:
        """Return the arguments of sbatch for the script in submission `number`, depending on the jobs `behind`."""
        folder = str(self.sweep / JOBS / str(number)).replace("%", "%%")
        dependency = [f"--dependency=afterany:{':'.join(behind)}"] if behind else []
        return [*self.user_arguments(script), "--hold", f"--output={folder}/{script.output}", *dependency]

    def user_arguments(self, script: Script) -> Sequence[str]:
        """Return the words of the user for the script."""
        return for_collecting(self.arguments) if script is self.collecting else self.arguments


def submit_all(order: SubmissionOrder, facts: Callable[[list[str], str], dict]) -> tuple[list[str], str]:
    """Create the new runs, submit all scripts, release them; return the ids of the jobs, and of the collecting one.

    `facts` of these ids is kept as submission.json. On any failure, KeyboardInterrupt included, submitted jobs are
    cancelled and created files removed. Raises SlurmError, RunError, OSError.
    """
    made: list[Path] = []
    ids: list[str] = []
    try:
        with _ended_by_interrupt():
            _make_runs(order, made)
            folder = _make_folder(order.sweep, made)
            _write_scripts(order, folder)
            _test_scripts(order, folder)
            return _submit_held(order, folder, ids, facts)
    except BaseException as error:
        with undisturbed():
            _cancel_and_remove(ids, made, error)
        if isinstance(error, SlurmError) and not isinstance(error, NoAnswer):
            raise SlurmError(f"{error}; {NOTHING}") from error
        if isinstance(error, OSError) and error.strerror:  # a full disk does not say where
            raise OSError(error.errno, f"{error.strerror}; {NOTHING}", error.filename or order.sweep) from error
        raise


@contextmanager
def undisturbed() -> Iterator[None]:
    """Defer signals that would end this process, or the commands that it waits for; then raise KeyboardInterrupt.

    They are blocked and handled, since other threads of this process (numpy's) do not block them.
    """
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in ENDING}
    heeded = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    for number in heeded:
        signal.signal(number, lambda number, frame: received.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # the commands inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in heeded:
            signal.signal(number, before[number])
    if received:
        raise KeyboardInterrupt


@contextmanager
def _ended_by_interrupt() -> Iterator[None]:
    """Turn the end of a session, or of the job that this runs in, into an interrupt, to be undone like Ctrl-C."""
    before = {number: signal.getsignal(number) for number in ENDING[1:]}
    changed = {number: handler for number, handler in before.items() if handler is signal.SIG_DFL}
    try:
        for number in changed:
            signal.signal(number, _interrupt)
        yield
    finally:
        for number, handler in changed.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _make_runs(order: SubmissionOrder, made: list[Path]) -> None:
    """Create the new runs; each folder is in `made` as soon as it is ours, never one that another process made."""
    sweep = order.sweep
    if any(run.path != sweep for run, _ in order.new):
        sweep.parent.mkdir(parents=True, exist_ok=True)
        with undisturbed():
            with suppress(OSError):
                sweep.rmdir()  # an empty one, which ours replaces
            try:
                sweep.mkdir()
            except FileExistsError:
                raise RunError(f"{sweep}: exists already; choose another folder with -o") from None
            made.append(sweep)
    for run, plan in order.new:
        with undisturbed():
            create_run(run, plan, order.command)
            made.append(run.path)


def _make_folder(sweep: Path, made: list[Path]) -> Path:
    """Create the folder of the submission."""
    (sweep / JOBS).mkdir(exist_ok=True)
    while True:
        folder = sweep / JOBS / str(next_number(sweep))
        with undisturbed():
            try:
                folder.mkdir()
            except FileExistsError:  # another submission was faster
                continue
            made.append(folder)
            return folder


def _write_scripts(order: SubmissionOrder, folder: Path) -> None:
    for script in (*order.scripts, order.collecting):
        (folder / script.file).write_text(script.text, encoding="utf-8")


def _test_scripts(order: SubmissionOrder, folder: Path) -> None:
    for script in (*order.scripts, order.collecting):
        try:
            commands.test_only(folder / script.file, order.user_arguments(script))
        except SlurmError as error:
            raise SlurmError(f"{script.file}: {error}") from error


def _submit_held(
    order: SubmissionOrder, folder: Path, ids: list[str], facts: Callable[[list[str], str], dict]
) -> tuple[list[str], str]:
    """Submit all scripts held, so that nothing starts before the last one is in; `ids` grows with each."""
    number = int(folder.name)
    for script in (*order.scripts, order.collecting):
        behind = ids if script is order.collecting else ()
        with undisturbed():
            try:
                ids.append(commands.submit(folder / script.file, order.sbatch_arguments(script, number, behind)))
            except SlurmError as error:
                raise type(error)(f"{script.file}: {error}") from error
    write_whole(folder / SUBMISSION, json.dumps(facts(ids[:-1], ids[-1]), indent=1).encode())  # others may look for it
    with undisturbed():
        commands.release(ids)
    return ids[:-1], ids[-1]


def _cancel_and_remove(ids: Sequence[str], made: Sequence[Path], error: BaseException) -> None:
    """Undo a submission that failed with `error`. Raises RuntimeError if its jobs cannot be cancelled."""
    try:
        commands.cancel(ids)
    except SlurmError as refused:
        raise RuntimeError(
            f"{error or 'interrupted'}; the submitted jobs could not be cancelled ({refused}): scancel {' '.join(ids)}"
        ) from error
    for path in made:
        rmtree(path, ignore_errors=True)


def check_folder(path: Path) -> Path:
    """Return `path`, below which sbatch shall write. Raises ValueError for names that it would misread."""
    odd = next((letter for letter in str(path) if letter == "\\" or not letter.isprintable()), None)
    if odd is not None:
        raise ValueError(
            f"{str(path)!r}: sbatch cannot write to a folder with {ascii(odd)} in its name; use another folder"
        )
    return path


def next_number(sweep: Path) -> int:
    """Return the number of the next submission: 1, 2, ..."""
    numbers = [int(path.name) for path in (sweep / JOBS).glob("*") if path.name.isdecimal()]
    return max(numbers, default=0) + 1


def check_sbatch_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words if sbatch takes them for its options. Raises ValueError for those that submit sets itself."""
    for previous, word in zip(("", *words), words):
        if not word.isprintable():
            raise ValueError(f"{word!r} after --: contains a control character; remove it")
        if word in ("-", "--") or not (word.startswith("-") or _takes_value(previous)):
            raise ValueError(
                f"'{word}' after --: expected an option of sbatch, such as --qos=high; sbatch would take this for the "
                "script"
            )
        if advice := DECIDED.get(_decided_option(word)):
            raise ValueError(f"'{word}' after --: {advice}")
    return tuple(words)


def _takes_value(word: str) -> bool:
    """Return whether the next word is the value of this one."""
    return word.startswith("-") and "=" not in word and word not in SHORT_FLAGS and word[2:] not in FLAGS


def for_collecting(words: Sequence[str]) -> tuple[str, ...]:
    """Return those of the checked words that suit the collecting job: it takes any one node."""
    pairs = zip(("", *words), words)
    return tuple(word for previous, word in pairs if not (_names_nodes(word) or _names_nodes_next(previous, word)))


def _names_nodes(word: str) -> bool:
    """Return whether it is an option, perhaps abbreviated, that chooses nodes: no other begins with --nodel or
    --nodef.
    """
    if not word.startswith("--"):
        return word.startswith(("-w", "-F"))
    name = word.partition("=")[0]
    return len(name) > len("--node") and any(long.startswith(name) for long in ("--nodelist", "--nodefile"))


def _names_nodes_next(previous: str, word: str) -> bool:
    """Return whether it is the value of such an option."""
    is_alone = previous in ("-w", "-F") or (previous.startswith("--") and "=" not in previous)
    return is_alone and _names_nodes(previous) and not word.startswith("-")


def _decided_option(word: str) -> str:
    """Return the one of DECIDED that the word names, perhaps abbreviated, as sbatch allows; empty: none."""
    if not word.startswith("--"):
        return SHORT.get(word[1:2], "") if word.startswith("-") else ""
    name = word[2:].partition("=")[0]
    return name if name in DECIDED else next((long for long in DECIDED if long.startswith(name)), "")

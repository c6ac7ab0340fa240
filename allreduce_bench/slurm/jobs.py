"""The jobs of a sweep: one per run and number of nodes, for the remaining cells.

With their expected duration, estimated from the plan, and their time limit.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

from ..message import BadValue, say
from ..runs.folder import RunFolder
from ..runs.injected import longest_phase_s
from ..runs.plan import Cell, Launch, Plan, PlanError
from ..runs.start import Start
from ..units import format_ranges, parse_duration

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
    launches = [Launch(ranks, number) for number in range(1, plan.launches + 1)]
    finished = {launch.number: folder.finished(launch, skip_hung) for launch in launches}
    cells_left = {}
    for launch in launches:
        if cells := [cell for cell in plan.cells(launch) if cell.key not in finished[launch.number]]:
            cells_left[launch.number] = cells
    if not cells_left:
        return
    launches_s = [launch_s(plan, nodes, cells) for cells in cells_left.values()]
    run = HERE if folder.path == sweep else folder.path.name
    yield SweepJob(
        name=f"{nodes}n",
        run=run,
        nodes=nodes,
        start=plan.start,
        ranks=ranks,
        launches=tuple(cells_left),
        cells=sum(map(len, cells_left.values())),
        expected_s=max(launches_s) if array else sum(launches_s),
        array=format_ranges(cells_left) if array else None,
    )


def _nodes_for(folder: RunFolder, plan: Plan, ranks: int) -> int:
    """Return how many nodes so many ranks fill. Raises PlanError if that is no integer."""
    ranks_per_node = plan.start.ranks_per_node
    if not ranks_per_node or ranks % ranks_per_node:
        per_node = f"{ranks_per_node} on each node"
        layout = f"{ranks} ranks, {per_node}" if ranks_per_node else say("slurm.plan_without_ranks_per")
        raise PlanError("slurm.not_whole_number_nodes", folder=folder.path, layout=layout)
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
    nbytes = cell.count * plan.itemsize
    plain_s = CALL_S + nbytes / BYTES_PER_S
    call_s = plain_s + longest_phase_s(plan.compute_s, plan.inject_slowdown)
    timed_s = plan.iters * call_s if plan.iters else max(plan.cell_time_s, LEAST_CALLS * call_s)
    untimed_s = plan.warmups * call_s + (plan.back_to_back + CHECK_CALLS) * plain_s
    return max(timed_s, plan.min_time_s) + untimed_s + CHECK_S + nbytes / CHECKED_BYTES_PER_S


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
        raise BadValue("slurm.not_time_limit_expected", text=text)
    return ceil(limit_s / 60) * 60.0


def format_limit(limit_s: float) -> str:
    """Format for sbatch: `00:30:00`, `1-02:00:00`."""
    days, rest = divmod(round(limit_s), 86400)
    return f"{f'{days}-' if days else ''}{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def warning_for(signal: str, limit_s: float) -> str:
    """Return the value of --signal, such as B:USR1@120, fitted to a short limit: Slurm may warn a minute too early."""
    warning_s = SHORT_WARNING_S if limit_s > 60 else SHORT_WARNING_S - 5
    return SIGNAL_AT.sub(f"@{warning_s}", signal) if limit_s < SHORT_LIMIT_S else signal

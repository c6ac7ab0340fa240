"""The jobs of a sweep: one per run and number of nodes, for what is left to be measured there."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..runs.folder import RunFolder
from ..runs.plan import Launch, Plan, PlanError
from ..runs.start import Start
from ..units import format_ranges
from .estimate import START_S, launch_s

HERE = "."  # the folder of the sweep is itself the run


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
        """What tells it from all others of the sweep, also in names of files: 8n, or 8n-4-per-node."""
        return self.name if self.run == HERE else f"{self.name}-{self.run}"

    @property
    def only(self) -> str:
        """Its launches as `run --only` takes them; a task of an array adds its number."""
        return f"{self.ranks}r"

    @property
    def tasks(self) -> int:
        """How many jobs Slurm makes of it."""
        return len(self.launches) if self.array else 1

    def node_hours(self, time_s: float) -> float:
        """What it takes if each of its tasks takes so long."""
        return self.nodes * self.tasks * time_s / 3600


def name_of_run(ranks_per_node: int, several: bool) -> str:
    """Where in the sweep's folder the run with so many ranks per node lies; a single one is the sweep itself."""
    return f"{ranks_per_node}-per-node" if several else HERE


def jobs_of(
    sweep: Path,
    runs: Sequence[tuple[RunFolder, Plan]],
    array: bool = False,
    skip_hung: bool = False,
    within_s: float | None = None,
) -> list[SweepJob]:
    """The jobs that measure what is left of the runs, each within a time; with `array` a launch is a task of its own.

    None: nothing is left. Raises PlanError for a run that does not say how many ranks its nodes have.
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
    ranks_per_node = plan.start.ranks_per_node
    if not ranks_per_node or ranks % ranks_per_node:
        per_node = f"{ranks_per_node} on each node"
        layout = f"{ranks} ranks, {per_node}" if ranks_per_node else "a plan without --ranks-per-node"
        raise PlanError(f"{folder.path}: {layout}: not a whole number of nodes; continue it with run --resume in a job")
    return ranks // ranks_per_node

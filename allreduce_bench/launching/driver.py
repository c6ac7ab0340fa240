"""Without a launcher around this process: starts mpirun itself for every planned launch that has cells left."""

import time

from ..runs.plan import Launch
from ..runs.schema import FLOOR
from ..watching.progress import LaunchPosition
from .supervision import SupervisedLaunch, SupervisedRun

START_S, CELL_S = 2.0, 0.1  # a launch that has less time than its start and so much a cell is not worth it


def drive(run: SupervisedRun) -> list[Launch]:
    """Start the pending launches one after the other; return those for which `within_s` or a warning left no time.

    Raises LaunchFailed when a launch fails: what was measured is kept; LaunchRefused when its ranks refuse to begin.
    """
    launches, left_out = _split_by_time(run, run.folder.pending(run.plan, run.skip_hung, run.launches))
    for number, launch in enumerate(launches):
        if run.warning.is_set:
            return launches[number:] + left_out
        deadline = None
        if run.within_s is not None:
            left_s = run.started + run.within_s - time.time()
            if left_s <= 0:
                return launches[number:] + left_out
            deadline = time.time() + left_s / (len(launches) - number)
        position = LaunchPosition(number + 1, len(launches), run.started, launch.ranks, deadline)
        SupervisedLaunch(run, launch, position).measure()
    return left_out


def _split_by_time(run: SupervisedRun, launches: list[Launch]) -> tuple[list[Launch], list[Launch]]:
    """The launches worth starting, one for every rank count at least, and the others."""
    if run.within_s is None or not launches:
        return launches, []
    rank_counts = len({launch.ranks for launch in launches})
    allreduces = sum(cell.executor != FLOOR for cell in run.plan.cells(launches[0]))
    shortest_s = START_S + CELL_S * allreduces
    rounds = max(1, int((run.started + run.within_s - time.time()) / (shortest_s * rank_counts)))
    return launches[: rounds * rank_counts], launches[rounds * rank_counts :]

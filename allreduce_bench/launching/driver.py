"""Without a launcher around this process: starts mpirun itself for every planned launch that has cells left."""

import time

from ..runs.plan import Launch
from ..runs.schema import FLOOR
from ..watching.progress import LaunchPosition
from .supervision import SupervisedLaunch, SupervisedRun
from .wait_idle import IdleWait

START_S, CELL_S = 2.0, 0.1  # a launch is skipped if less than its start-up and this time per cell is left


def drive(run: SupervisedRun, idle_wait: IdleWait | None = None) -> list[Launch]:
    """Start the pending launches one after the other; return those for which `within_s` or a warning left no time.

    `idle_wait` waits for a quiet machine before each of them; that does not count towards `within_s`. Raises
    LaunchFailed when a launch fails: what was measured is kept; LaunchRefused when its ranks refuse to begin.
    """
    idle_wait = idle_wait or IdleWait(0.0)
    pending = run.folder.pending(run.plan, run.skip_hung, run.launches)
    if pending:
        idle_wait.wait(lambda: run.warning.is_set)
    launches, left_out = _split_by_time(run, pending, _left_s(run, idle_wait))
    for number, launch in enumerate(launches):
        if number:
            idle_wait.wait(lambda: run.warning.is_set)
        if run.warning.is_set:
            return launches[number:] + left_out
        deadline = None
        if (left_s := _left_s(run, idle_wait)) is not None:
            if left_s <= 0:
                return launches[number:] + left_out
            deadline = time.time() + left_s / (len(launches) - number)
        position = LaunchPosition(number + 1, len(launches), run.started, launch.ranks, deadline)
        SupervisedLaunch(run, launch, position).measure()
    return left_out


def _left_s(run: SupervisedRun, idle_wait: IdleWait) -> float | None:
    """The rest of `within_s`; None: no limit."""
    return None if run.within_s is None else run.started + idle_wait.waited_s + run.within_s - time.time()


def _split_by_time(
    run: SupervisedRun, launches: list[Launch], left_s: float | None
) -> tuple[list[Launch], list[Launch]]:
    """The launches worth starting, one for every rank count at least, and the others."""
    if left_s is None or not launches:
        return launches, []
    rank_counts = len({launch.ranks for launch in launches})
    allreduces = sum(cell.executor != FLOOR for cell in run.plan.cells(launches[0]))
    shortest_s = START_S + CELL_S * allreduces
    rounds = max(1, int(left_s / (shortest_s * rank_counts)))
    return launches[: rounds * rank_counts], launches[rounds * rank_counts :]

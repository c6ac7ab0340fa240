"""Without a launcher around this process: starts mpirun itself for every planned launch that has cells left."""

import time
from typing import NamedTuple

from ..runs.plan import Launch
from ..runs.schema import FLOOR
from ..watching.progress import LaunchPosition
from .layout import start_s
from .supervision import LaunchFailed, SupervisedLaunch, SupervisedRun
from .wait_idle import IdleWait

CELL_S = 0.1  # a launch is skipped if less than its start-up and this time per cell is left
MOST_FAILURES = 2  # of launches of as many ranks: then chance is not the cause, and the rest would fail, too


class Driven(NamedTuple):
    """What became of the launches of a run that did not do what was planned."""

    left_out: list[Launch]  # not started: the time or a warning left none for them
    in_vain: list[Launch]  # their time was over before a cell of them was measured
    failed: dict[Launch, str]  # and why, with its name
    given_up: list[Launch]  # since others of as many ranks had failed


def drive(run: SupervisedRun, idle_wait: IdleWait | None = None) -> Driven:
    """Start the pending launches one after the other, also after one that fails, while the time or a warning allows.

    `idle_wait` waits for a quiet machine before each of them; that does not count towards `within_s`. Raises
    LaunchRefused when the ranks of a launch refuse to begin.
    """
    idle_wait = idle_wait or IdleWait(0.0)
    pending = run.folder.pending(run.plan, run.skip_hung, run.launches)
    if pending:
        idle_wait.wait(lambda: run.warning.is_set)
    launches, left_out = _split_by_time(run, pending, _left_s(run, idle_wait))
    driven = Driven(left_out=[], in_vain=[], failed={}, given_up=[])
    number, hopeless = 0, set[int]()  # launches that were started; numbers of ranks
    while launches:
        launch, *launches = launches
        if launch.ranks in hopeless:
            driven.given_up.append(launch)
            continue
        if number:
            idle_wait.wait(lambda: run.warning.is_set)
        left_s = _left_s(run, idle_wait)
        if run.warning.is_set or (left_s is not None and left_s <= 0):
            driven.left_out.extend([launch, *launches])
            break
        number += 1
        deadline = None if left_s is None else time.time() + left_s / (1 + len(launches))
        position = LaunchPosition(number, number + len(launches), run.started, launch.ranks, deadline)
        supervised = SupervisedLaunch(run, launch, position)
        try:
            if not supervised.measure() and deadline is not None:
                driven.in_vain.append(launch)
                launches, too_many = _one_of_each(launches)
                driven.left_out.extend(too_many)
        except LaunchFailed as failure:
            of_launch = f"launch {launch.name}"
            driven.failed[launch] = str(failure) if str(failure).startswith(of_launch) else f"{of_launch}: {failure}"
            if not failure.chance or sum(other.ranks == launch.ranks for other in driven.failed) == MOST_FAILURES:
                hopeless.add(launch.ranks)
            if launches:
                supervised.lines.say(f"failed: {driven.failed[launch]}")
    return driven._replace(left_out=driven.left_out + left_out)


def _one_of_each(launches: list[Launch]) -> tuple[list[Launch], list[Launch]]:
    """The first launch of every rank count, for which all time that is left is shared, and the others."""
    first: dict[int, Launch] = {}
    for launch in launches:
        first.setdefault(launch.ranks, launch)
    return list(first.values()), [launch for launch in launches if first[launch.ranks] != launch]


def _left_s(run: SupervisedRun, idle_wait: IdleWait) -> float | None:
    """The rest of `within_s`; None: no limit."""
    return None if run.within_s is None else run.started + idle_wait.waited_s + run.within_s - time.time()


def _split_by_time(
    run: SupervisedRun, launches: list[Launch], left_s: float | None
) -> tuple[list[Launch], list[Launch]]:
    """The launches worth starting, one for every rank count at least, and the others."""
    if left_s is None or not launches:
        return launches, []
    rank_counts = {launch.ranks for launch in launches}
    allreduces = sum(cell.executor != FLOOR for cell in run.plan.cells(launches[0]))
    round_s = sum(start_s(ranks, run.plan.start) + CELL_S * allreduces for ranks in rank_counts)
    rounds = max(1, int(left_s / round_s))
    return launches[: rounds * len(rank_counts)], launches[rounds * len(rank_counts) :]

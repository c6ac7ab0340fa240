"""The launches of this start: which are worth the time that is left, one after the other, also after one that fails."""

import time
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from ..runs.plan import Launch
from ..watching.progress import LaunchPosition
from .launch import measure_launch
from .layout import start_s
from .this_start import Run, ThisStart
from .watched_launch import LaunchFailed

CELL_S = 0.1  # seconds; a launch is skipped if less than its start-up and this time per cell is left
MOST_FAILURES = 2  # failed launches of a rank count until the rest are given up: then it is no chance


class Turn(NamedTuple):
    """A launch of one of the runs whose launches alternate."""

    run: Run
    launch: Launch

    @property
    def cells(self) -> int:
        """Return the cells of the launch, reference times not counted; at least 1."""
        return max(1, sum(not cell.competitor.is_reference for cell in self.run.plan.cells(self.launch)))


def measure_launches(start: ThisStart) -> None:
    """Measure the pending launches one after the other, even after a failure, while the time or a warning allows.

    Each run knows afterwards what did not complete. A quiet machine is waited for before each launch. Raises
    LaunchRefused if the ranks of a launch refuse to begin.
    """
    turns, left_out = alternate(start), list[Turn]()
    if turns:
        start.idle_wait.wait(lambda: start.warning.is_set)
        turns, left_out = split_by_time(turns, start.left_s)
    begun: list[Turn] = []
    while turns:
        turn, *turns = turns
        if turn.run.gives_up(turn.launch):
            turn.run.given_up.append(turn.launch)
            continue
        if begun:
            start.idle_wait.wait(lambda: start.warning.is_set)
        left_s = start.left_s
        if start.warning.is_set or (left_s is not None and left_s <= 0):
            left_out = [turn, *turns, *left_out]
            break
        position = _position(start, begun, turn, turns, left_s)
        begun.append(turn)
        if _is_in_vain(start, turn, position) and left_s is not None:
            turn.run.in_vain.append(turn.launch)
            turns, too_many = one_of_each(turns)
            left_out = [*too_many, *left_out]
    for run, launch in left_out:
        run.left_out.append(launch)


def alternate(start: ThisStart) -> list[Turn]:
    """Return the pending launches of each run in turns.

    Runs a, b, c take turns in this order, in every second round in the order c, b, a, so that what slows the machine
    down meets all of them.
    """
    pending = [run.folder.pending(run.plan, start.control.skip_hung, start.launches) for run in start.runs]
    pairs = list(zip(start.runs, pending))
    return [
        Turn(run, launch)
        for launch in start.launches
        for run, of_run in (pairs if launch.number % 2 else pairs[::-1])
        if launch in of_run
    ]


def split_by_time(turns: list[Turn], left_s: float | None) -> tuple[list[Turn], list[Turn]]:
    """Return the launches worth starting, at least one for every run and rank count, and the others.

    All runs and rank counts of one number and one forced launch, or none.
    """
    if left_s is None:
        return turns, []
    rounds = [list(alike) for _, alike in groupby(turns, lambda turn: (turn.launch.number, turn.launch.forced))]
    begun, spent_s = 0, 0.0
    for alike in rounds:
        spent_s += sum(start_s(turn.launch.ranks, turn.run.plan.start) + CELL_S * turn.cells for turn in alike)
        if begun and spent_s > left_s:
            break
        begun += len(alike)
    return turns[:begun], turns[begun:]


def one_of_each(turns: list[Turn]) -> tuple[list[Turn], list[Turn]]:
    """Return the first launch of every run and rank count, which share the time left, and the others; untouched ones
    first.
    """
    first: dict[tuple[Run, int], Turn] = {}
    for turn in sorted(turns, key=lambda turn: turn.launch.forced != ""):
        first.setdefault((turn.run, turn.launch.ranks), turn)
    return list(first.values()), [turn for turn in turns if turn not in first.values()]


def _position(
    start: ThisStart, begun: Sequence[Turn], turn: Turn, later: Sequence[Turn], left_s: float | None
) -> LaunchPosition:
    """Return the place of a launch among all, with its share of the time left."""
    own, cells_later = turn.cells, sum(each.cells for each in later)
    return LaunchPosition(
        len(begun) + 1,
        len(begun) + 1 + len(later),
        start.started,
        turn.launch.ranks,
        None if left_s is None else time.time() + left_s * own / (own + cells_later),
        cells_later / own,
    )


def _is_in_vain(start: ThisStart, turn: Turn, position: LaunchPosition) -> bool:
    """Measure a launch; return whether it ended well, but without any cell measured."""
    (run, launch), lines, is_last = turn, start.show(position), position.number == position.planned
    try:
        is_measured = measure_launch(start, run, launch, position, lines)
    except LaunchFailed as failure:
        of_launch = f"launch {launch.name}"
        run.failed[launch] = str(failure) if str(failure).startswith(of_launch) else f"{of_launch}: {failure}"
        kind = launch.ranks, launch.forced
        alike = [other for other in run.failed if (other.ranks, other.forced) == kind]
        if not failure.chance or len(alike) == MOST_FAILURES:
            run.hopeless.add(kind)
        if not is_last:
            of_run = f"{run.folder.path.name}: " if len(start.runs) > 1 else ""
            lines.say(f"failed: {of_run}{run.failed[launch]}")
        return False
    if is_measured and start.after_first and not is_last:
        start.after_first(run.folder)
        start.after_first = None
    return not is_measured

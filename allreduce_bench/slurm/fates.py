"""Which planned cells have no time, and why: what the ranks said of them, else what became of their job. Pure."""

from collections.abc import Iterable, Sequence

from ..evaluation.missing import AGAIN, FAILED, MISSING, MissingCell
from ..runs.folder import CellKey, key_of
from ..runs.plan import Launch, Plan
from ..runs.rows import Row
from .endings import ending
from .job_states import JobStates
from .tasks import JobTask


def missing(plan: Plan, marks: Iterable[Row], tasks: Sequence[JobTask], told: JobStates) -> list[MissingCell]:
    """The cells that are not done, in the order of the launches; not those that were skipped on purpose.

    `marks` and `tasks` are those of the run.
    """
    outcomes, found = _outcomes(marks), []
    for launch in plan.planned_launches():
        fate, active = _fate(launch, tasks, told)
        for cell in plan.cells(launch):
            state, reason = outcomes.get((launch.name, cell.key), (MISSING, fate))
            if state in AGAIN and active:
                state, reason = MISSING, fate
            if state in (MISSING, *FAILED, *AGAIN):
                found.append(MissingCell(launch, cell, state, reason))
    return found


def _outcomes(marks: Iterable[Row]) -> dict[tuple[str, CellKey], tuple[str, str]]:
    """(launch, cell) -> state and reason: of the attempt that ended it, else of the last one."""
    found: dict[tuple[str, CellKey], tuple[str, str]] = {}
    for mark in sorted(marks, key=lambda mark: int(mark["attempt"])):
        cell = mark["launch"], key_of(mark)
        if cell not in found or found[cell][0] in AGAIN:
            reason = mark["reason"] or (f"{mark['wrong']} wrong elements" if mark["wrong"] else "")
            found[cell] = mark["state"], reason
    return found


def _fate(launch: Launch, tasks: Sequence[JobTask], told: JobStates) -> tuple[str, bool]:
    """Why a launch did not measure a cell, and whether it still may."""
    if not tasks:
        return "its launch was never finished", False
    endings = [(task, ending(task, told)) for task in tasks if task.covers(launch)]
    if not endings:
        return "no job was to measure it", False
    task, fate = next((one for one in reversed(endings) if one[1].active), endings[-1])
    return f"job {task.id} {fate.reason}", fate.active

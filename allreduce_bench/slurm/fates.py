"""The planned cells without a time, and the reason: from the ranks, else from the outcome of their job. Pure."""

from collections.abc import Iterable, Sequence

from ..evaluation.missing import AGAIN, FAILED, MISSING, MissingCell
from ..runs.folder import CellKey, key_of
from ..runs.plan import Launch, Plan
from ..runs.rows import Row
from .endings import ending
from .job_states import JobStates
from .tasks import JobTask


def missing(plan: Plan, marks: Iterable[Row], tasks: Sequence[JobTask], states: JobStates) -> list[MissingCell]:
    """The cells that are not done, in the order of the launches; not those that were skipped on purpose.

    `marks` and `tasks` are those of the run.
    """
    outcome_of, missing_cells = _outcomes(marks), []
    for launch in plan.planned_launches():
        fate_reason, active = _fate(launch, tasks, states)
        for cell in plan.cells(launch):
            state, reason = outcome_of.get((launch.name, cell.key), (MISSING, fate_reason))
            if state in AGAIN and active:
                state, reason = MISSING, fate_reason
            if state in (MISSING, *FAILED, *AGAIN):
                missing_cells.append(MissingCell(launch, cell, state, reason))
    return missing_cells


def _outcomes(marks: Iterable[Row]) -> dict[tuple[str, CellKey], tuple[str, str]]:
    """(launch, cell) -> state and reason: of the attempt that ended it, else of the last one."""
    outcome_of: dict[tuple[str, CellKey], tuple[str, str]] = {}
    for mark in sorted(marks, key=lambda mark: int(mark["attempt"])):
        cell = mark["launch"], key_of(mark)
        if cell not in outcome_of or outcome_of[cell][0] in AGAIN:
            reason = mark["reason"] or (f"{mark['wrong']} wrong elements" if mark["wrong"] else "")
            outcome_of[cell] = mark["state"], reason
    return outcome_of


def _fate(launch: Launch, tasks: Sequence[JobTask], states: JobStates) -> tuple[str, bool]:
    """Why a launch did not measure a cell, and whether it still may."""
    if not tasks:
        return "the launch was not finished", False
    task_endings = [(task, ending(task, states)) for task in tasks if task.covers(launch)]
    if not task_endings:
        return "not assigned to any job", False
    task, fate = next((pair for pair in reversed(task_endings) if pair[1].active), task_endings[-1])
    return f"job {task.id} {fate.reason}", fate.active

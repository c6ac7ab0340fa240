"""Damaged and missing parts of a run, with advice: sentences and warnings, from the run's files."""

from collections.abc import Mapping
from typing import NamedTuple

from ..runs.attempt import Damage
from ..runs.folder import RunFolder
from ..runs.plan import ImportedPlan, Launch
from ..runs.rows import Row
from ..units import few, format_size, shell_word
from .caveats import Caveat

MOST_DAMAGES = 8  # listed individually


class DamageReport(NamedTuple):
    """The damages of one run."""

    damages: list[str]  # a sentence each; the last may count those not listed
    missing: str  # a sentence about planned launches with cells that no attempt ended; empty: there are none


def damage_report(folder: RunFolder) -> DamageReport:
    """Return the damages in the files of the run; empty if the run cannot be read at all, which other code reports."""
    try:
        damages = folder.damages()
        missing = _count_missing_cells(folder)
        named = [f"{_damage_text(one)}; {_advice_text(folder, one, missing)}" for one in damages[:MOST_DAMAGES]]
    except (OSError, ValueError):
        return DamageReport([], "")
    if len(damages) > MOST_DAMAGES:
        more = len(damages) - MOST_DAMAGES
        named.append(f"{folder.path}: and {more} more damage{'s' if more > 1 else ''}")
    return DamageReport(named, _missing_sentence(folder, missing))


def damage_caveats(report: DamageReport) -> list[Caveat]:
    """Return the same as warnings of the page."""
    effect = "the affected cells count as missing" if report.missing else ""
    return [Caveat("bad", "DAMAGED FILES", tuple(report.damages), effect)] if report.damages else []


def _count_missing_cells(folder: RunFolder) -> dict[Launch, int]:
    """Return the number of cells of each launch that no attempt has ended; imported logs have none. Raises RunError."""
    plan = folder.plan()
    if isinstance(plan, ImportedPlan):
        return {}
    missing = {launch: folder.cells_left(plan, launch) for launch in plan.planned_launches()}
    return {launch: number for launch, number in missing.items() if number}


def _is_begun(folder: RunFolder, missing: Mapping[Launch, int]) -> bool:
    """Return whether any planned cell has ended; other code refuses a run without one."""
    plan = folder.plan()
    return any(missing.get(launch, 0) < len(plan.cells(launch)) for launch in plan.planned_launches())


def _missing_sentence(folder: RunFolder, missing: Mapping[Launch, int]) -> str:
    if not missing or not _is_begun(folder, missing):
        return ""
    planned, names = len(folder.plan().planned_launches()), few((launch.name for launch in missing), MOST_DAMAGES)
    complete, way = planned - len(missing), _resume_command(folder)
    return f"{folder.path}: {complete} of {planned} launches are complete; left: {names}; to continue: {way}"


def _damage_text(damage: Damage) -> str:
    """Return `results/a/launches/2r-1.1.csv: ring 1 KiB: the rows of this cell were changed`."""
    cell = f"{_cell_text(damage.cell)}: " if damage.cell else ""
    return f"{damage.path}: damaged: {cell}{damage.found}"


def _cell_text(mark: Row) -> str:
    return f"{mark['competitor']} {format_size(int(mark['size_bytes']))}"


def _advice_text(folder: RunFolder, damage: Damage, missing: Mapping[Launch, int]) -> str:
    """Return how to replace the cells that the damage lost, or the sentence that none is missing."""
    if folder.imported():
        return "import the logs again"
    if damage.launch not in missing:
        return f"launch {damage.launch.name} is complete without it"
    return f"measure it again: {_resume_command(folder)}"


def _resume_command(folder: RunFolder) -> str:
    return f"allreduce-bench run --resume -o {shell_word(folder.resumed_path)}"

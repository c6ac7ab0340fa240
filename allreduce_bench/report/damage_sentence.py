"""Damaged and missing parts of a run, with advice: sentences and warnings. Reads the run's files."""

import os
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from ..evaluation.summary_row import qualifiers
from ..runs.cell import competitor_name
from ..runs.folder import RunFolder
from ..runs.kept import Damage
from ..runs.plan import ImportedPlan, Launch
from ..runs.rows import Row
from ..units import format_size
from .caveats import Caveat, Note

MOST_NAMED = 8  # damages, one by one
UNCHECKED = "written by layout 3, which holds no checksums: changes cannot be detected"


class DamageReport(NamedTuple):
    """Of one run."""

    damages: list[str]  # a sentence each; the last may count those that are not named
    unchecked: str  # a sentence; empty: all its files hold checksums
    missing: str  # a sentence about planned cells that no attempt ended; empty: there are none


def damage_report(folder: RunFolder) -> DamageReport:
    """The damages in the files of the run; empty if the run cannot be read at all, which other code reports."""
    try:
        damages, launches = folder.damages(), folder.unchecked()
        missing = _missing_cells(folder)
        named = [f"{_found(damage)}; {_advice(folder, damage, missing)}" for damage in damages[:MOST_NAMED]]
    except (OSError, ValueError):
        return DamageReport([], "", "")
    if len(damages) > MOST_NAMED:
        more = len(damages) - MOST_NAMED
        named.append(f"{folder.path}: and {more} more damage{'s' if more > 1 else ''}")
    are = "1 launch was" if len(launches) == 1 else f"{len(launches)} launches were"
    unchecked = f"{folder.path}: {are} {UNCHECKED}" if launches else ""
    return DamageReport(named, unchecked, _missing_sentence(folder, missing))


def damage_caveats(report: DamageReport) -> list[Caveat]:
    """The same as warnings of the page."""
    caveats = []
    if report.damages:
        effect = "the affected cells count as missing" if report.missing else ""
        caveats.append(Caveat("bad", "DAMAGED FILES", tuple(Note(text, effect) for text in report.damages)))
    if report.unchecked:
        caveats.append(Caveat("info", "files without checksums", (Note(report.unchecked),)))
    return caveats


def _missing_cells(folder: RunFolder) -> dict[Launch, int]:
    """The number of cells of each launch that no attempt has ended; imported logs have none. Raises RunError."""
    plan = folder.plan()
    if isinstance(plan, ImportedPlan):
        return {}
    missing = {launch: folder.missing(plan, launch) for launch in plan.planned_launches()}
    return {launch: number for launch, number in missing.items() if number}


def _is_begun(folder: RunFolder, missing: Mapping[Launch, int]) -> bool:
    """Whether any planned cell has ended; other code refuses a run without one."""
    plan = folder.plan()
    return any(missing.get(launch, 0) < len(plan.cells(launch)) for launch in plan.planned_launches())


def _missing_sentence(folder: RunFolder, missing: Mapping[Launch, int]) -> str:
    if not missing or not _is_begun(folder, missing):
        return ""
    names = [launch.name for launch in missing]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    cells = "1 cell is" if sum(missing.values()) == 1 else f"{sum(missing.values())} cells are"
    launches = f"launch{'es' if len(names) > 1 else ''} {', '.join(names[:MOST_NAMED])}{more}"
    return f"{folder.path}: {cells} not measured in {launches}; to continue: {_resume(folder)}"


def _found(damage: Damage) -> str:
    """`results/a/launches/2r-1.1.csv: ring 1 KiB: the rows of this cell were changed`."""
    cell = f"{_cell_text(damage.cell)}: " if damage.cell else ""
    return f"{damage.path}: damaged: {cell}{damage.found}"


def _cell_text(mark: Row) -> str:
    name = competitor_name(mark["algorithm"], mark["executor"])
    words = (
        name,
        format_size(int(mark["nbytes"])),
        *qualifiers(mark["cache"], "", mark["arrival"], mark["placement"]),
    )
    return " ".join(filter(None, (*words, mark["groups"])))


def _advice(folder: RunFolder, damage: Damage, missing: Mapping[Launch, int]) -> str:
    """How to replace the cells that the damage lost, or the sentence that none is missing."""
    if folder.imported():
        return "import the logs again"
    if damage.launch not in missing:
        return f"launch {damage.launch.name} was measured again since and is complete"
    return f"measure it again: {_resume(folder)}"


def _resume(folder: RunFolder) -> str:
    return f"allreduce-bench run --resume -o {shlex.quote(os.fspath(folder.path))}"

"""Read and check the runs of a comparison."""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..evaluation.cell_times import valid_calls
from ..evaluation.summary import summarise
from ..evaluation.summary_row import SummaryRow
from ..runs.cell import Executor
from ..runs.folder import RunFolder
from ..runs.plan import Plan
from ..runs.rows import RunError

NOTHING_KEPT: Mapping[Path, Path] = MappingProxyType({})


class ComparedRun(NamedTuple):
    """One run folder."""

    name: str  # the path as it was given, of a run or a log
    plan: Plan
    rows: Sequence[SummaryRow]  # of `summarise`
    attempts: Sequence[dict[str, Any]]  # the facts of its launches
    unfinished: Sequence[str]  # names of launches that have cells left
    unread: Sequence[str] = ()  # of an imported folder of logs: why files of it could not be read

    @property
    def tick_s(self) -> float:
        """The coarsest step of its clocks, seconds; 0 where it does not say."""
        timers = [machine.get("timer") or {} for fact in self.attempts for machine in fact.get("machines", ())]
        return max((timer.get("step_s") or timer.get("resolution_s") or 0.0 for timer in timers), default=0.0)


def read_sides(
    baseline: Sequence[Path], new: Sequence[Path], kept: Mapping[Path, Path] = NOTHING_KEPT
) -> tuple[list[ComparedRun], list[ComparedRun]]:
    """The runs of both sides; `kept`: of logs of other tools the run folders of their times.

    Raises RunError: unreadable, named twice, or with invalid times.
    """
    given_as: dict[Path, Path] = {}
    for path in (*baseline, *new):
        if (place := path.resolve()) in given_as:
            raise RunError(f"{path}: named twice; a run cannot be compared with itself, name another run")
        given_as[place] = path
    before, after = ([_read_run(path, kept.get(path, path)) for path in side] for side in (baseline, new))
    return before, after


def _read_run(path: Path, kept_in: Path) -> ComparedRun:
    folder = RunFolder(kept_in)
    plan = folder.plan()
    _refuse_bad_times(folder)
    unfinished = [launch.name for launch in folder.pending(plan)]
    unread = [str(file["reason"]) for file in (folder.imported() or {}).get("unread", ())]
    return ComparedRun(str(path), plan, summarise(folder), folder.attempts(), unfinished, unread)


def _refuse_bad_times(folder: RunFolder) -> None:
    """Raise RunError where a time that counts is not above 0."""
    for block in folder.blocks():
        if Executor(block["executor"][0]).is_reference:  # may be shorter than the clock can resolve
            continue
        calls = enumerate(zip(valid_calls(block), block["time_s"]))
        if (bad_index := next((i for i, (valid, text) in calls if valid and not _is_time(text)), None)) is not None:
            row = {name: values[bad_index] for name, values in block.items()}
            cell = f"{row['algorithm']} {row['nbytes']} B, launch {row['launch']}, repetition {row['repetition']}"
            problem = f"time_s is '{row['time_s']}', expected seconds above 0"
            raise RunError(f"{folder.path}: damaged: {cell}: {problem}; measure again")


def _is_time(text: str) -> bool:
    try:
        return isfinite(float(text)) and float(text) > 0
    except ValueError:
        return False

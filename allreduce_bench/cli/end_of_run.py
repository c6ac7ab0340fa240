"""The end of a run: write and print its summary, and check the limits of the user."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import click

from ..evaluation.acceptance import judge
from ..evaluation.agreement import broken_promise
from ..evaluation.summary import record_summary
from ..evaluation.summary_row import SummaryRow
from ..runs.control import Control
from ..runs.folder import RunFolder
from ..runs.launch_choice import chosen_launches
from ..runs.plan import Plan
from ..runs.recorder import kind_of
from ..runs.rows import RunError
from ..units import shell_word
from ..watching.lifeline import WarningFlag
from ..wings import load_offers
from .terminal import echo_result, echo_wrapped
from .types import talk

NOTHING_MEASURED = "nothing was measured"


def finish(control: Control, folder: RunFolder, plan: Plan) -> str:
    """Write the summary, print it as --format says, check it against the limits; return what failed, empty: nothing.

    With --only, cells of other jobs are written, too, but neither printed nor judged. Raises RunError if no cell was
    finished.
    """
    rows = record_summary(folder)
    chosen_ranks = {launch.ranks for launch in chosen_launches(plan, control.only)}
    plan = replace(plan, ranks=tuple(ranks for ranks in plan.ranks if ranks in chosen_ranks))
    rows = [row for row in rows if row["ranks"] in chosen_ranks]
    echo_result(folder, rows, control.format, plan)
    if control.format == "table" and plan.compute_s:
        for sentences in load_offers("end_of_run"):
            echo_wrapped(sentences(folder))
    if control.format == "table" and (again := _warnings_again(folder)):
        repeated = ", ".join(f"{code} {number}" for code, number in again.items())
        talk(f"warnings of several launches: {repeated} (launches each); the report has all of them")
    judgements = judge(control.limits, plan, rows)
    for judgement in judgements:
        click.echo(judgement.sentence, err=control.format != "table")
    talk(f"{folder.path}      next: allreduce-bench report {shell_word(folder.path)}")
    return _failures(rows, [judgement.cell for judgement in judgements if not judgement.met], control.skip_hung)


def _warnings_again(folder: RunFolder) -> dict[str, int]:
    """Return code -> number of launches, for each warning of several launches; only its first was printed."""
    of_launches = {(one["launch"], kind) for one in folder.attempts() for kind in map(kind_of, one["findings"])}
    kinds = [kind for _, kind in of_launches]
    return {code: number for (code, level), number in sorted(Counter(kinds).items()) if level != "info" and number > 1}


def _failures(rows: Sequence[SummaryRow], unmet_cells: list[str], skip_hung: bool) -> str:
    """Return the failures, joined by `; `; with `skip_hung` a hung cell is not a failure."""
    failed_states = {"wrong", "refused"} if skip_hung else {"wrong", "refused", "hung"}
    failures = ["a check failed, see the table"] if any(row["state"] in failed_states for row in rows) else []
    if not failures and not any(row["state"] == "done" for row in rows):
        failures.append(NOTHING_MEASURED)
    if broken := sorted({row["competitor"] for row in rows if broken_promise(row)}):
        failures.append(f"bits differ although the schedule determines them: {', '.join(broken)}")
    if unmet_cells:
        failures.append(f"not accepted: {'; '.join(unmet_cells)}")
    return "; ".join(failures)


def end_of_run(control: Control, warning: WarningFlag, folder: RunFolder, plan: Plan) -> str:
    """Run `finish`; return "" if a warning came before any cell was finished. Raises as `finish`."""
    try:
        return finish(control, folder, plan)
    except RunError:
        if warning.is_set:
            return ""
        raise

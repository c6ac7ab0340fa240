"""The end of a run: write and print its summary, check the limits of the user, and say what is left and why."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import click

from ..evaluation.acceptance import judge
from ..evaluation.agreement import broken_promise
from ..evaluation.summary import record_summary
from ..evaluation.summary_row import SummaryRow
from ..launching.this_start import Run, ThisStart
from ..launching.watched_launch import LaunchRefused
from ..machine.node import cores
from ..runs.command_of_plan import to_continue
from ..runs.control import Control
from ..runs.folder import RunFolder
from ..runs.launch_choice import chosen_launches
from ..runs.plan import Launch, Plan
from ..runs.recorder import discard_run
from ..runs.rows import RunError
from ..units import shell_word
from ..watching.lifeline import WarningFlag
from ..wings import load_offers
from .against import next_commands
from .in_job import InJob
from .terminal import echo_result, echo_wrapped
from .types import INTERRUPTED, OneLineError, talk

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
    judgements = judge(control.limits, plan, rows)
    for judgement in judgements:
        click.echo(judgement.sentence, err=control.format != "table")
    talk(f"{folder.path}      next: allreduce-bench report {shell_word(folder.path)}")
    return _failures(rows, [judgement.cell for judgement in judgements if not judgement.met], control.skip_hung)


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


def end_runs(start: ThisStart, job: InJob, ended_by: LaunchRefused | KeyboardInterrupt | None) -> OneLineError | None:
    """Print the tables, and record how the runs ended; return the error, if any.

    `ended_by` is what ended the launches before their end.
    """
    runs, warning, only = start.runs, start.warning, start.control.only
    if isinstance(ended_by, LaunchRefused):
        return _make_error(start, job, str(ended_by), 2, "refused")
    if ended_by is not None:
        return _make_error(start, job, "interrupted", INTERRUPTED)
    place = runs[0].folder.resumed_path
    left_out = "" if warning.is_set else _join_sentences(runs, _describe_left_out)
    if left_out:
        talk(f"{left_out}; {to_continue(runs[0].folder, only)}")
    if any(run.failed for run in runs):
        return _make_error(start, job, _join_sentences(runs, _describe_failed), 1)
    failures = _join_sentences(runs, partial(_print_table, start))
    for command in next_commands([run.folder for run in runs]):
        talk(f"{place}      next: {command}")
    left = job.end_warned() if warning.is_set else ""
    if left:
        return OneLineError("; ".join(filter(None, [left, failures])), exit_code=1)
    job.record_end("done", failures or left_out or None)
    return OneLineError(f"{failures}; results in {place}", exit_code=1) if failures else None


def _join_sentences(runs: Sequence[Run], sentence_of: Callable[[Run], str]) -> str:
    """Join what is said of each run; of several each with the name of its run."""
    sentences = [(run.folder.path.name, sentence_of(run)) for run in runs]
    if len(runs) == 1:
        return sentences[0][1]
    return "; ".join(f"{name}: {sentence}" for name, sentence in sentences if sentence)


def _print_table(start: ThisStart, run: Run) -> str:
    """Print the table of a run; return what failed, empty: nothing."""
    if start.warning.is_set or any(run.folder.launches.glob("*.cells.csv")):
        return end_of_run(start.control, start.warning, run.folder, run.plan)
    return NOTHING_MEASURED


def _describe_left_out(run: Run) -> str:
    """Return the launches for which --within left no time, or too little, with advice; empty: none."""
    if not (run.left_out or run.in_vain):
        return ""
    words = f"not measured: launches {_join_names([*run.in_vain, *run.left_out])}: time ran out (--within)"
    if run.in_vain:
        ranks = max(launch.ranks for launch in run.in_vain)
        start = f"{ranks} ranks on {cores()} cores of this node took too long to start in {_join_names(run.in_vain)}"
        words = f"{words}; {start}: use fewer ranks or a longer --within"
    return words


def _describe_failed(run: Run) -> str:
    """Return why launches failed, and which launches were not started because others had failed; empty: none failed."""
    if not run.failed:
        return ""
    number, reasons = len(run.failed), "; ".join(run.failed.values())
    words = f"{number} launches failed: {reasons}" if number > 1 else reasons
    return f"{words}; not started after that: {_join_names(run.given_up)}" if run.given_up else words


def _join_names(launches: Sequence[Launch]) -> str:
    return ", ".join(launch.name for launch in launches)


def _make_error(start: ThisStart, job: InJob, reason: str, status: int, end: str = "stopped") -> OneLineError:
    """Return the error of runs that were refused, failed or were interrupted; print the table of finished cells."""
    first, control = start.runs[0].folder, start.control
    job.record_end(end, reason)
    if not control.resume and not any(any(run.folder.launches.glob("*")) for run in start.runs):
        discard_run(RunFolder(first.resumed_path))  # no rank wrote anything: nothing to resume
        return OneLineError(reason, exit_code=status)
    for run in start.runs:
        with suppress(OSError, RunError):  # a full disk has no space for the summary either
            finish(control, run.folder, run.plan)
    if end == "refused":
        return OneLineError(reason, exit_code=status)
    return OneLineError(f"{reason}; finished cells are kept; {to_continue(first, control.only)}", exit_code=status)

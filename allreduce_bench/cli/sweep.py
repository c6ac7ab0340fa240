"""`status` and `collect`: the state of the jobs of a sweep; its summary and report, or several runs merged into one."""

from pathlib import Path

import click

from ..evaluation.agreement import broken_promise
from ..evaluation.missing import MissingCell, explain_rows
from ..runs.files import refuse_special
from ..runs.recorder import is_taken
from ..runs.rows import RunError
from ..slurm.job_files import runs_of
from ..slurm.job_states import keep_states
from ..slurm.sweep import (
    Overview,
    SweepRun,
    account_lines,
    keep_end_of_collecting,
    next_step,
    read_sweep,
    status_lines,
    status_text,
)
from ..units import shell_word
from .kept_runs import RESULTS
from .sections import examples
from .terminal import echo_wrapped, screen
from .types import PATH, OneLineError, errors_in_one_line, kept_command, progress, talk, tell_damages


@click.command(
    epilog=examples("collect results/sweep", "collect results/allreduce-1 results/allreduce-2 -o results/all")
)
@click.argument("runs", nargs=-1, required=True, metavar="SWEEP | RUN RUN...", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Report file [default: report.html in SWEEP]; with several runs: folder of the new run.",
)
@errors_in_one_line
def collect(runs: tuple[Path, ...], output: Path | None) -> None:
    """Write summary and report of SWEEP, and list each missing cell with the reason and the command that measures it.

    Several RUNs with equal plans are merged into one run. Exit status 1 if cells are missing or a check failed.
    """
    if len(runs) > 1:
        _merge(runs, output)
    else:
        _collect(runs[0], output)


def _merge(runs: tuple[Path, ...], output: Path | None) -> None:
    from ..importers.merge import merge  # late: it loads pandas

    if output is None:
        raise OneLineError("collect merges several runs into a new one: name its folder with -o")
    if is_taken(output):
        raise RunError(f"{output}: already exists; choose another folder with -o")
    sources = [folder for path in runs for folder in runs_of(path)]
    folder = merge(sources, output, kept_command())
    tell_damages(sources)
    click.echo(folder.path)
    talk(f"next: allreduce-bench report {shell_word(output)}")


def _collect(path: Path, output: Path | None) -> None:
    told = progress()
    refuse_special(output or path / "report.html")
    overview = read_sweep(path)
    tell_damages((run.folder for run in overview.runs), missing=False)
    if overview.states.silence:
        talk(f"{overview.states.silence}; job states are taken from the files of the jobs")
    if overview.tasks:
        keep_states(overview.states, overview.sweep)
    missing = [overview.missing_cells(run) for run in overview.runs]
    broken = [name for run, cells in zip(overview.runs, missing) for name in _summarise(run, cells)]
    for line in account_lines(overview, missing):
        click.echo(line)
    if measured := [(run.folder, cells) for run, cells in zip(overview.runs, missing) if run.marks]:
        from ..report.page import write_report  # late: it loads much

        folders, missing_of = map(list, zip(*measured))
        missing_of = missing_of if overview.tasks else [[]] * len(folders)  # whoever stopped a run by hand knows
        page = write_report(folders, output or path / "report.html", missing=missing_of, progress=told)
        click.echo(f"report: {page}")
    else:
        talk("no report: no cell is finished")
    keep_end_of_collecting(overview, not broken and not any(missing))
    if broken:
        raise OneLineError(
            f"bits differ although the schedule determines them: {', '.join(dict.fromkeys(broken))}", exit_code=1
        )
    if any(missing):
        raise click.exceptions.Exit(1)


def _summarise(run: SweepRun, missing: list[MissingCell]) -> list[str]:
    """Write the summary of a run; return the algorithms whose results contradict their schedules."""
    if not run.marks:
        return []
    from ..evaluation.summary import record_summary  # late: it loads pandas

    rows = record_summary(run.folder, lambda rows: explain_rows(rows, missing))
    return [row["competitor"] for row in rows if broken_promise(row)]


# `status`: show the state of the jobs of a sweep


@click.command(epilog=examples("status", "status results/sweep"))
@click.argument("sweep", required=False, type=click.Path(path_type=Path))
@errors_in_one_line
def status(sweep: Path | None) -> None:
    """Show the state and the progress of the jobs of SWEEP, why jobs failed, and the next step.

    SWEEP is the newest one in results/ by default. If Slurm does not answer, the states are as the jobs wrote
    them down.
    """
    overview = read_sweep(sweep or _newest_sweep())
    tell_damages((run.folder for run in overview.runs), missing=False)
    if not overview.tasks:
        raise OneLineError(f"{overview.sweep}: not a sweep: no job was submitted for it or wrote into it")
    if overview.states.silence:
        talk(f"{overview.states.silence}; job states are taken from the files of the jobs")
    click.echo(status_text(status_lines(overview), screen()), nl=False)
    echo_wrapped([next_step(overview, _is_collected(overview))])


def _is_collected(overview: Overview) -> bool:
    """Return whether there is a report newer than all measurements."""
    report = overview.sweep / "report.html"
    marks = [path.stat().st_mtime for run in overview.runs for path in run.folder.launches.glob("*.cells.csv")]
    return report.is_file() and report.stat().st_mtime >= max(marks, default=0.0)


def _newest_sweep() -> Path:
    """Return the sweep in RESULTS whose jobs were submitted, or began, last."""
    jobs_folders = [path for path in RESULTS.glob("*/jobs") if path.is_dir()]
    if not jobs_folders:
        raise OneLineError(f"no sweep in {RESULTS}/; name the folder of a sweep")
    return max(jobs_folders, key=lambda path: path.stat().st_mtime).parent

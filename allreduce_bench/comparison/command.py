"""`compare`: find the cells of new runs that are slower or faster than those of baseline runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..cli.import_ import given_option, is_log, log_options, runs_of_logs
from ..cli.sections import Sectioned, examples
from ..cli.terminal import screen
from ..cli.types import (
    NAMES,
    SHARE,
    SIZES,
    OneLineError,
    errors_in_one_line,
    parsed,
    talk,
    tell_damages,
)
from ..cli.work_limit import refuse_absent
from ..runs.files import refuse_given, write_atomically
from ..runs.folder import RunFolder
from .conditions import ComparedRun, parse_despite, read_sides

SEPARATOR = "\0--"  # represents `--`, which click would drop; no path has this name


class _CommandOfSides(Sectioned):
    """A command that keeps the position of `--` among its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [SEPARATOR if word == "--" else word for word in args])


@click.command(
    cls=_CommandOfSides,
    first="threshold algorithms sizes despite undecided format_ output ranks",
    epilog=examples(
        "compare results/monday results/today",
        "compare results/monday results/tuesday -- results/today",
        "compare results/before results/after --threshold 10% --format markdown",
        "compare old.log new.log -n 64",
    ),
)
@click.argument("runs", nargs=-1, metavar="BASELINE... [--] NEW...")
@click.option("--threshold", type=SHARE, default="5%", show_default=True, help="Smaller differences count as equal.")
@click.option("-a", "--algorithms", type=NAMES, help="Compare only these algorithms [default: all].")
@click.option("--sizes", type=SIZES, help="Compare only these sizes in bytes, e.g. 8,64K [default: all].")
@click.option(
    "--despite",
    type=parsed("words", parse_despite),
    default=frozenset(),
    metavar="WORDS",
    help="Compare runs that differ in two things or more: library, machine, layout, conditions such as cache, time "
    "(the timing method), or all.",
)
@click.option(
    "--undecided",
    type=click.Choice(("warn", "pass", "fail")),
    default="warn",
    show_default=True,
    help="Exit status for undecided cells: fail 1; warn 1 if no cell was decided; pass 0.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "markdown", "junit", "json")),
    default="table",
    show_default=True,
    help="Format of the result; junit: JUnit XML.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the result to this file, and the table to stdout."
)
@log_options
@errors_in_one_line
def compare(runs, threshold, algorithms, sizes, despite, undecided, format_, output, **of_logs) -> None:
    """Compare NEW runs with BASELINE runs, cell by cell; exit status 1 if a cell is slower or failed.

    A run may be a folder of this program, a log that import reads, or a folder of such logs, each one a launch. Give
    two runs, or any number on both sides of --, as in: compare results/nightly-* -- results/today.

    A cell is slower if in nine of ten pairs of an old and a new launch the new one is slower, and the medians are apart
    by the threshold, with four launches a side on the same hosts. On other hosts a job counts as a launch; with one job
    a side there are ratios and no verdict. Runs of one run --against are judged by rounds. All rules: docs/compare.md.
    """
    from .formats import FORMATS, table  # late, as the next: the help needs none of them
    from .judgement import compare as judge

    if output:
        refuse_given(output, map(Path, runs))
    baselines, new_runs = _sides(runs)
    sides = _read(baselines, new_runs, of_logs)
    comparison = judge(*sides, threshold, despite, algorithms or (), sizes or (), undecided)
    if output:
        write_atomically(output, FORMATS[format_](comparison))
        format_ = "table"
    click.echo(table(comparison, screen()) if format_ == "table" else FORMATS[format_](comparison), nl=False)
    if format_ in ("junit", "json"):
        talk(comparison.sentence)
        if comparison.warning:
            talk(comparison.warning)
    if comparison.failure:
        raise OneLineError(comparison.failure, exit_code=1)


def _read(
    baselines: Sequence[Path], new_runs: Sequence[Path], of_logs: Mapping[str, Any]
) -> tuple[list[ComparedRun], list[ComparedRun]]:
    """Read the runs and logs of both sides. Raises OneLineError, and ValueError for what cannot be read."""
    named = (*baselines, *new_runs)
    refuse_absent(named)
    logs = [path for path in dict.fromkeys(named) if is_log(path)]
    if not logs and (given := given_option(of_logs)):
        raise OneLineError(f"{given} is about logs, but only runs are compared; leave it out")
    tell_damages(RunFolder(path) for path in named if path not in logs)
    with runs_of_logs(logs, of_logs) as kept:
        return read_sides(baselines, new_runs, kept)


def _sides(runs: tuple[str, ...]) -> tuple[list[Path], list[Path]]:
    """Return the folders of the baseline and the new ones."""
    arguments = list(runs)
    if arguments.count(SEPARATOR) > 1:
        raise OneLineError("use '--' only once, between the baseline and the new runs")
    if SEPARATOR not in arguments:
        if len(arguments) != 2:
            raise OneLineError(
                f"compare takes two runs, BASELINE NEW, found {len(arguments)}; type '--' between baseline and new ones"
            )
        arguments.insert(1, SEPARATOR)
    separator = arguments.index(SEPARATOR)
    baselines, new_runs = arguments[:separator], arguments[separator + 1 :]
    if not baselines or not new_runs:
        either = "before" if not baselines else "after"
        raise OneLineError(f"no run {either} '--': expected BASELINE... -- NEW...")
    return [Path(path) for path in baselines], [Path(path) for path in new_runs]

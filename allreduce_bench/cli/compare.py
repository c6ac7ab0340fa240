"""`compare`: the gate that lets no regression through."""

from pathlib import Path

import click

from .newest import newest_two
from .sections import examples
from .terminal import screen
from .types import (
    DESPITE,
    NAMES,
    SHARE,
    SIZES,
    OneLineError,
    color_option,
    errors_in_one_line,
    no_limit,
    talk,
    tell_damages,
)

SEPARATOR = "\0--"  # stands for `--`, which click would drop; no path is called so


class _CommandOfSides(click.Command):
    """A command that is told where `--` stood among its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [SEPARATOR if word == "--" else word for word in args])


@click.command(
    cls=_CommandOfSides,
    epilog=examples(
        "compare results/monday results/today",
        "compare results/monday results/tuesday -- results/today",
        "compare results/before results/after --threshold 10% --format markdown",
    ),
)
@click.argument("runs", nargs=-1, metavar="[BASELINE... [--] NEW...]")
@click.option("--threshold", type=SHARE, default="5%", show_default=True, help="A difference that is smaller is none.")
@click.option("-a", "--algorithms", type=NAMES, help="Compare these only [default: all].")
@click.option("--sizes", type=SIZES, help="Compare these sizes in bytes only, e.g. 8,64K [default: all].")
@click.option(
    "--despite",
    type=DESPITE,
    default=frozenset(),
    metavar="WORDS",
    help="Compare runs that differ in: time, library, thread-level, transport, machine, layout, binding, "
    "oversubscribed, interface, groups; or all. library implies what each has of its own: thread-level, transport, "
    "binding.",
)
@click.option(
    "--undecided",
    type=click.Choice(("warn", "pass", "fail")),
    default="warn",
    show_default=True,
    help="What undecided cells do: fail ends with 1; warn says how many they are, and ends with 1 only where no cell "
    "was decided; pass lets them pass in silence.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "markdown", "junit", "json")),
    default="table",
    show_default=True,
    help="Of the result; junit: JUnit XML, what fails the gate is a failure, other undecided cells are skipped.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the result there, and the table to stdout."
)
@no_limit
@color_option
@errors_in_one_line
def compare(runs, threshold, algorithms, sizes, despite, undecided, format_, output, no_limit) -> None:
    """Hold NEW runs against BASELINE runs, cell by cell; exit status 1 where one is slower or failed.

    Two runs, or any number on both sides of --, as in: compare results/nightly-* -- results/today. Without any: the
    newest run in results/ is NEW, and BASELINE the newest before it with the same type, operation, cache and groups
    that shares an algorithm, a size and a number of ranks. A cell is the same
    when the interval of new / baseline lies between 1 / (1 + threshold) and 1 + threshold, slower when above, faster
    when below and that is sure for all cells at once, else undecided; how many more launches would decide is said. Of
    cells that differ by more at most 5 % are called the same; a cell that differs by less is called slower or faster
    in at most 5 % of comparisons. Intervals are over launches, and borrow the spread of launches from all cells; where
    a side has several runs, over runs, so that the spread from day to day is in them. A cell that is wrong, refused or
    hung on the new side alone has failed.
    """
    from ..evaluation.comparison import FORMATS, read_sides, text
    from ..evaluation.comparison import compare as judge
    from ..runs.atomic_write import refuse_given, write_given
    from ..runs.folder import RunFolder
    from .work_limit import refuse_many_runs

    if output:
        refuse_given(output)
    baselines, new_runs = _sides(runs or tuple(map(str, newest_two())))
    tell_damages(map(RunFolder, (*baselines, *new_runs)))
    refuse_many_runs("compare", len(baselines) + len(new_runs), no_limit)
    sides = read_sides(baselines, new_runs)
    comparison = judge(*sides, threshold, despite, algorithms or (), sizes or (), undecided)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_given(output, FORMATS[format_](comparison))
        format_ = "table"
    click.echo(text.table(comparison, screen()) if format_ == "table" else FORMATS[format_](comparison), nl=False)
    if format_ in ("junit", "json"):
        talk(comparison.sentence)
        if comparison.warning:
            talk(comparison.warning)
    if comparison.failure:
        raise OneLineError(comparison.failure, 1)


def _sides(runs: tuple[str, ...]) -> tuple[list[Path], list[Path]]:
    """The folders of the baseline and the new ones."""
    arguments = list(runs)
    if arguments.count(SEPARATOR) > 1:
        raise OneLineError("'--' stands once, between the baseline and the new runs")
    if SEPARATOR not in arguments:
        if len(arguments) != 2:
            raise OneLineError(
                f"compare takes two runs, found {len(arguments)}; for more put '--' between baseline and new ones"
            )
        arguments.insert(1, SEPARATOR)
    separator = arguments.index(SEPARATOR)
    baselines, new_runs = arguments[:separator], arguments[separator + 1 :]
    if not baselines or not new_runs:
        raise OneLineError(f"no run {'before' if not baselines else 'behind'} '--': expected BASELINE... -- NEW...")
    return [Path(path) for path in baselines], [Path(path) for path in new_runs]

"""`health`: find slow nodes and slow links by measuring nodes in pairs, or from a table of pairs."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..cli.options import launch_options
from ..cli.request import refuse_short_timeout
from ..cli.sections import Sectioned, examples
from ..cli.terminal import echo_wrapped, screen
from ..cli.types import DURATION, HOSTS, OneLineError, errors_in_one_line, given_options, parsed, talk
from ..runs.control import Control
from ..runs.hosts import compress
from ..runs.start import Start
from ..units import parse_share
from .check import judge_folder, measure_health
from .judgement import judge_tables
from .output import health_lines, health_sentences, json_text
from .pair_folder import FIGURE, PairFolder

if TYPE_CHECKING:
    from .judgement import Health

OF_TABLES = ("failed", "value", "value_is")  # options that need --from
MOST_THRESHOLD = 100.0  # 100 times its peers' time is no threshold
OF_MEASURING = ("hosts", "repetitions", "timeout", "launcher", "launcher_args", "remote_shell", "interface")


@click.command(
    cls=Sectioned,
    first="hosts output threshold timeout table print_exclude format_",
    epilog=examples(
        "health --hosts n[1-8]",
        "health --from pairs.csv --failed failures.txt",
        "health --from results/health --threshold 10% --format json",
        "health --print-exclude",
    ),
)
@click.option("--hosts", type=HOSTS, help="Nodes to check, e.g. n[1-4] [default: the nodes of the Slurm job].")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder of the check [default: results/DATE_health]."
)
@click.option(
    "--threshold",
    type=parsed("share", lambda text: parse_share(text, MOST_THRESHOLD)),
    default="20%",
    show_default=True,
    help="A node or link is slow if it takes longer than its peers by more than this, and than noise explains.",
)
@click.option(
    "--repetitions", type=click.IntRange(5, 10_000), default=5, show_default=True, help="Of each large message."
)
@click.option(
    "--timeout",
    type=DURATION,
    default=f"{Control.timeout_s:g}s",
    show_default=True,
    help="A pair whose message takes longer than this has failed.",
)
@click.option(
    "--from", "table", type=click.Path(path_type=Path), help="Judge a CSV of pairs, or the folder of a check again."
)
@click.option("--failed", type=click.Path(path_type=Path), help="With --from: a list of the pairs that failed.")
@click.option("--value", default="", metavar="COLUMN", help="With --from: the column to judge [default: each].")
@click.option("--value-is", type=click.Choice(("rate", "time")), help="With --from: what that column holds.")
@click.option("--print-exclude", is_flag=True, help="Print the bad nodes only, for sbatch --exclude.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="Format of the result.",
)
@launch_options
@click.pass_context
@errors_in_one_line
def health(context, table, failed, value, value_is, threshold, output, print_exclude, format_, **asked) -> None:
    """Find slow nodes and slow links among the nodes of a job.

    One launch with a rank per node measures all pairs of nodes in rounds of disjoint pairs: 8 bytes to and fro for the
    latency, 4 MiB in each direction for the bandwidth. Above 64 nodes there are two rounds, and suspects are measured
    again, alone. A node is slow if its pairs are, a link if its pair is slower than both of its nodes are with others
    (median polish); all is relative to the other nodes, of the same rack where racks are seen. A pair that fails or
    hangs is noted, and the others go on. Exit status 1 if a node or link is slow, or a pair failed. -o keeps times and
    figure; the same -o continues an interrupted check. --from reads tables of pairs that others measured, with the
    columns source and dest, or nodes.
    """
    _refuse_mixed(given_options(context), table, print_exclude and format_ == "json")
    if table:
        _refuse_other_folder(output, table)
        found = _judge_csv(table, failed, value, value_is or "", threshold)
    else:
        output = output or Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_health"
        found = _measure(output, threshold, **asked)
    _write_figure(found, output)
    _print_findings(found, print_exclude, format_)
    if output is not None:
        talk(f"times and figure: {output}")
    if not found.is_sound:
        raise click.exceptions.Exit(1)


def _refuse_mixed(given: set[str], table: Path | None, has_two_results: bool) -> None:
    """Raise OneLineError for options of measuring beside options of tables, and for two results on stdout."""
    if has_two_results:
        raise OneLineError("--print-exclude prints names only; leave it or --format json out")
    names = OF_MEASURING if table else OF_TABLES
    if wrong := [name for name in names if name in given]:
        option = f"--{wrong[0].replace('_', '-')}"
        raise OneLineError(
            f"{option}: --from measures nothing; leave it out" if table else f"{option}: only with --from"
        )


def _refuse_other_folder(output: Path | None, table: Path) -> None:
    """Raise OneLineError if the figure of the judged table would stand beside the files of something else."""
    if output is None or not output.exists() or (table.is_dir() and output.samefile(table)):
        return
    if not output.is_dir() or {path.name for path in output.iterdir()} - {FIGURE}:
        raise OneLineError(f"{output}: holds something else than the figure of {table}; choose another folder with -o")


def _measure(output: Path, threshold: float, *, hosts, repetitions, timeout, **start) -> "Health":
    refuse_short_timeout(timeout)
    return measure_health(hosts, output, threshold, repetitions, timeout, Start(ranks_per_node=1, **start))


def _judge_csv(path: Path, failed: Path | None, value: str, kind: str, threshold: float) -> "Health":
    if path.is_dir():
        if failed or value or kind:
            raise OneLineError(f"{path}: is the folder of a check; leave --failed, --value and --value-is out")
        return judge_folder(PairFolder(path), threshold)
    from .pair_tables import read_failed_pairs, read_pair_tables

    found = read_pair_tables(path, value, kind)
    listed = read_failed_pairs(failed, found.tried) if failed else {}
    failures = {**listed, **found.failed}  # the table knows in which test
    return judge_tables(found.tables, found.tried | failures.keys(), failures, threshold)


def _write_figure(found: "Health", output: Path | None) -> None:
    """Write the figure into the folder, if there is one."""
    if output is None:
        return
    from .map import write_health_figure  # late: it loads matplotlib

    output.mkdir(parents=True, exist_ok=True)
    if found.results:
        write_health_figure(found, output)


def _print_findings(found: "Health", print_exclude: bool, format_: str) -> None:
    """Print the findings, on stderr if stdout is for the list of nodes alone."""
    if format_ == "json":
        click.echo(json_text(found), nl=False)
    elif print_exclude:
        for sentence in health_sentences(found):
            talk(sentence)
        if found.bad_nodes:
            click.echo(compress(found.bad_nodes))
    else:
        click.echo("\n".join([*health_lines(found, screen()), ""]))
        echo_wrapped(health_sentences(found))

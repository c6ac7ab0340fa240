"""`health`: find slow nodes and slow links by measuring nodes in pairs, or from a table of pairs."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..runs.start import Start
from .health_check import measured_health
from .plan_of_options import refuse_short_timeout
from .request import Control
from .sections import examples
from .terminal import echo_wrapped, screen
from .types import DURATION, HOSTS, SHARE, OneLineError, errors_in_one_line, given_options, talk

if TYPE_CHECKING:
    from ..evaluation.node_health import Health

OF_TABLES = ("failed", "value", "value_is")  # options that need --from
OF_MEASURING = ("hosts", "repetitions", "timeout", "launcher", "launcher_args", "remote_shell", "interface")


@click.command(
    epilog=examples(
        "health --hosts n1,n2,n3,n4,n5,n6,n7,n8",
        "health --threshold 10% -o results/health",
        "health --from pairs.csv --failed failures.txt",
        "health --print-exclude",
    )
)
@click.option("--hosts", type=HOSTS, help="Nodes to check, e.g. n1,n2,n3,n4 [default: those of the Slurm job].")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Folder of the check [default: results/DATE_health]."
)
@click.option(
    "--threshold",
    type=SHARE,
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
@click.option("--from", "table", type=click.Path(path_type=Path), help="Judge a CSV of pairs; measure nothing.")
@click.option("--failed", type=click.Path(path_type=Path), help="With --from: a list of the pairs that failed.")
@click.option("--value", default="", metavar="COLUMN", help="With --from: the column of rates or times.")
@click.option("--value-is", type=click.Choice(("rate", "time")), help="With --from: what that column holds.")
@click.option("--print-exclude", is_flag=True, help="Print the bad nodes only, for sbatch --exclude.")
@click.option("--all", "every_link", is_flag=True, help="Name every slow and failed link, not the worst ten only.")
@click.option("--launcher", default=Start.launcher, metavar="NAME", show_default=True, help="As of run.")
@click.option("--launcher-args", default=Start.launcher_args, metavar="WORDS", help="As of run.")
@click.option("--remote-shell", default=Start.remote_shell, metavar="PROGRAM", show_default=True, help="As of run.")
@click.option("--interface", default=Start.interface, metavar="IF", help="As of run.")
@click.pass_context
@errors_in_one_line
def health(
    context,
    hosts,
    output,
    threshold,
    repetitions,
    timeout,
    table,
    failed,
    value,
    value_is,
    print_exclude,
    every_link,
    **start,
) -> None:
    """Find slow nodes and slow links among the nodes of a job.

    One launch with a rank per node measures all pairs of nodes in rounds of disjoint pairs: 8 bytes to and fro for the
    latency, 4 MiB in each direction for the bandwidth. Above 64 nodes there are two rounds, and suspects are measured
    again, alone. A node is slow if its pairs are, a link if its pair is slower than both of its nodes are with others
    (median polish); all is relative to the other nodes. A pair that fails or hangs is noted, and the others go on. Exit
    status 1 if a node or link is slow, or a pair failed. -o keeps times and figure; the same -o continues an
    interrupted check. --from reads tables of pairs that others measured, with the columns source and dest, or nodes.
    """
    given = given_options(context)
    _refuse_mixed(given, table)
    if table:
        found = _health_of_table(table, failed, value, value_is or "", threshold)
    else:
        refuse_short_timeout(timeout)
        output = output or Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_health"
        found = measured_health(hosts, output, threshold, repetitions, timeout, Start(ranks_per_node=1, **start))
    _show(found, output, print_exclude, every_link)
    if not found.is_sound:
        raise click.exceptions.Exit(1)


def _refuse_mixed(given: set[str], table: Path | None) -> None:
    """Raises OneLineError for options of measuring beside those of tables."""
    names = OF_MEASURING if table else OF_TABLES
    if wrong := [name for name in names if name in given]:
        option = f"--{wrong[0].replace('_', '-')}"
        raise OneLineError(
            f"{option}: --from measures nothing; leave it out" if table else f"{option}: only with --from"
        )


def _health_of_table(path: Path, failed: Path | None, value: str, kind: str, threshold: float) -> "Health":
    from ..evaluation.node_health import health_of
    from ..importers.pair_tables import read_failed_pairs, read_pair_tables

    found = read_pair_tables(path, value, kind)
    listed = read_failed_pairs(failed, found.tried) if failed else {}
    failures = {**listed, **found.failed}  # the table knows in which test
    return health_of(found.tables, found.tried | failures.keys(), failures, threshold)


def _show(found: "Health", output: Path | None, print_exclude: bool, every_link: bool) -> None:
    """Print what was found, on stderr where stdout is for the list of nodes alone; write the figure into the folder."""
    from ..report.health_map import write_health_figure
    from ..report.health_table import health_lines
    from ..report.health_text import health_sentences
    from ..runs.nodelist import compress

    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        if found.results:
            write_health_figure(found, output)
    if print_exclude:
        for sentence in health_sentences(found, every_link):
            talk(sentence)
        if found.bad_nodes:
            click.echo(compress(found.bad_nodes))
    else:
        click.echo("\n".join([*health_lines(found, screen()), ""]))
        echo_wrapped(health_sentences(found, every_link))
    if output is not None:
        talk(f"times and figure: {output}")

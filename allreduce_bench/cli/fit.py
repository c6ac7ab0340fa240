"""`fit`: fit a model to each series of measured times, and write a machine file that `predict` reads."""

from pathlib import Path

import click

from ..runs.files import refuse_given
from ..units import MAX_RANKS
from .sections import examples
from .show import opened_runs, or_newest
from .terminal import screen
from .types import NAMES, errors_in_one_line, no_limit, own_files, talk
from .work_limit import refuse_absent, refuse_long_logs

FORMATS = ("table", "csv", "json")


@click.command(epilog=examples("fit results/today", "fit results/today -a ring,native -o machine.json"))
@click.argument("runs", nargs=-1, metavar="[RUN|LOG]...", type=click.Path(path_type=Path), callback=or_newest)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the machine file for 'predict' to this file."
)
@click.option("-a", "--algorithms", type=NAMES, help="Fit only these names; * matches anything [default: all].")
@click.option(
    "--as",
    "priced_as",
    multiple=True,
    metavar="NAME=ALGORITHM",
    help="NAME in a log is ALGORITHM of 'list'; may be repeated.",
)
@own_files
@click.option(
    "--ranks-per-node", type=click.IntRange(1, MAX_RANKS), metavar="N", help="For logs without a number of nodes."
)
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@no_limit
@errors_in_one_line
def fit(runs, output, algorithms, priced_as, own, ranks_per_node, format_, no_limit) -> None:
    """Fit a latency/bandwidth model to each algorithm of RUNs, or of other tools' LOGs; by default of the newest run.

    Prints the parameters with 95 % intervals, and how far the model is off: in sample; at each number of ranks when it
    is left out; at the largest when it is left out. In the last two the model is chosen and fitted without them. Next
    to it stands the plain alpha-beta fit. Series are never pooled over runs, executors, caches and types.
    """
    if output:
        refuse_given(output)
    opened_runs([path for path in runs if (path / "run.json").exists()])
    logs = [path for path in runs if not (path / "run.json").exists()]
    refuse_long_logs("fit", logs, no_limit)
    refuse_absent(logs)
    from .fit_times import fit_times, lab_sentences, write_machine_file  # late: it loads pandas and scipy

    listing, points = fit_times(runs, algorithms, priced_as, own, ranks_per_node)
    if output:
        for sentence in write_machine_file(output, points, listing):
            talk(f"{output}: {sentence}")
    click.echo(listing.table(screen()) if format_ == "table" else getattr(listing, format_)(), nl=False)
    for sentence in lab_sentences(runs, listing.fitted):
        talk(sentence)

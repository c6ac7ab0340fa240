"""`fit`: fit a model to each series of measured times, and write a machine file that `predict` reads."""

from collections.abc import Sequence
from pathlib import Path

import click

from ..runs.files import refuse_given
from ..units import MAX_RANKS, counted
from .kept_runs import open_runs, take_newest
from .predict import MACHINE_FILE
from .sections import examples
from .terminal import screen
from .types import NAMES, PATH, errors_in_one_line, talk
from .work_limit import refuse_absent


@click.command(epilog=examples("fit results/today", "fit results/today -a ring,native -o machine.json"))
@click.argument("runs", nargs=-1, metavar="[RUN|LOG]...", type=click.Path(path_type=Path), callback=take_newest)
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Write the machine file for 'predict' to this file [default: machine.json in RUN, if it is one run].",
)
@click.option("-a", "--algorithms", type=NAMES, help="Fit only these names; * matches anything [default: all].")
@click.option(
    "--as",
    "priced_as",
    multiple=True,
    metavar="NAME=ALGORITHM",
    help="NAME in a log is ALGORITHM of 'list'; may be repeated.",
)
@click.option(
    "--ranks-per-node", type=click.IntRange(1, MAX_RANKS), metavar="N", help="For logs without a number of nodes."
)
@errors_in_one_line
def fit(runs, output, algorithms, priced_as, ranks_per_node) -> None:
    """Fit what a message (alpha) and a byte (beta) cost, for each competitor of RUNs, or of other tools' LOGs.

    By default of the newest run. Prints alpha and beta with 95 % intervals, and how far off predictions are at the
    largest number of ranks when they are made without it. Series of different runs and types are never pooled.
    """
    if output:
        refuse_given(output, runs)
    open_runs([path for path in runs if (path / "run.json").exists()])
    logs = [path for path in runs if not (path / "run.json").exists()]
    refuse_absent(logs)
    from .fit_times import fit_times, lab_sentences, write_machine_file  # late: it loads pandas and scipy

    listing, points = fit_times(runs, algorithms, priced_as, ranks_per_node)
    if path := output or _default_file(runs):
        try:
            write_machine_file(path, points, listing)
            talk(f"{path}: {counted(len(listing.models), 'model')}")
        except OSError as error:  # a run that others keep can be fitted, too
            if output:
                raise
            talk(f"{path}: {error.strerror}; no machine file was written, name one with -o")
    click.echo(listing.table(screen()), nl=False)
    for sentence in lab_sentences(runs, listing.models):
        talk(sentence)


def _default_file(runs: Sequence[Path]) -> Path | None:
    """Return the machine file of a run; None: these are several, or logs."""
    is_run = len(runs) == 1 and (runs[0] / "run.json").exists()
    return runs[0] / MACHINE_FILE if is_run else None

"""`among`: say where a run stands among logs of like systems."""

from pathlib import Path

import click

from ..cli.sections import examples
from ..cli.terminal import screen
from ..cli.types import NAMES, SIZES, OneLineError, color_option, errors_in_one_line, parsed, told_warnings
from ..units import MAX_RANKS, parse_share
from .among import Chosen, Missing, standing, systems_of
from .among_table import FORMATS, failure

LARGEST_SHARE = 10.0  # of a median
NUMBER = click.IntRange(1, MAX_RANKS)


def _share_of_median(text: str) -> float:
    return parse_share(text, most=LARGEST_SHARE)


@click.command(
    epilog=examples(
        "among results/today alps.log frontier.log",
        "among all_reduce_perf.log references/ --min-of-median 90%",
        "among osu.txt references/ -n 64 --nodes 4",
    ),
)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("references", nargs=-1, required=True, metavar="REFERENCE...", type=click.Path(path_type=Path))
@click.option("-n", "--ranks", type=NUMBER, help="Number of ranks of the logs that do not state it.")
@click.option("--nodes", type=NUMBER, help="Number of nodes of the logs that do not state it.")
@click.option("-a", "--algorithms", type=NAMES, help="Take only these algorithms of RUN [default: the fastest].")
@click.option("--sizes", type=SIZES, help="Take only these sizes in bytes, e.g. 8M,1G [default: all].")
@click.option(
    "--min-of-median",
    type=parsed("--min-of-median", _share_of_median),
    metavar="SHARE",
    help="Least bus bandwidth of RUN, as a share of the median of like systems, e.g. 90%; exit status 1 below it.",
)
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
@color_option
@errors_in_one_line
def among(run, references, ranks, nodes, algorithms, sizes, min_of_median, format_) -> None:
    """Say where the bus bandwidth of RUN stands among that of like systems, from their logs and runs.

    RUN and each REFERENCE is a run, or a log that import reads; of a folder of logs each file is a system. Like are
    systems with as many ranks, and as many nodes where both are known, at equal sizes, by the same definition of times:
    RUN has its times as nccl-tests, OSU and IMB define them, too. What is not like RUN is left out and counted.
    """
    chosen = Chosen(tuple(algorithms or ()), tuple(sizes or ()))
    with told_warnings():
        found = standing(systems_of(run, references, Missing(ranks, nodes), chosen), min_of_median)
    click.echo(FORMATS[format_](found, screen()), nl=False)
    if words := failure(found):
        raise OneLineError("as_said", words=words, exit_code=1)

"""`explain`: algorithms round by round, as text, a page, a picture or a moving picture."""

from collections.abc import Sequence
from pathlib import Path

import click

from ..algorithms import find, is_of_library
from ..cli.schedules import refuse_too_many
from ..cli.sections import examples
from ..cli.types import RANKS, OneLineError, errors_in_one_line, no_limit
from ..runs.atomic_write import is_stream, refuse_given, write_atomically, write_given
from ..schedule.rendezvous import Refusal
from .endings import ENDINGS, Asked
from .explain_all import explain_all, required_beside_all
from .names import STYLES


@click.command(
    epilog=examples(
        "explain ring -n 4",
        "explain two_tree -n 16 -o two_tree.html",
        "explain --compare ring two_tree -n 16 -o compare.html",
        "explain --all -o site",
    )
)
@click.argument("algorithms", metavar="ALGORITHM", nargs=-1)
@click.option("-n", "--ranks", type=RANKS, callback=required_beside_all, help="Number of ranks, e.g. 4.")
@click.option(
    "--count", type=click.IntRange(0), help="Elements of the vector [default: text: one per rank; else: equal blocks]."
)
@click.option("--segment", type=click.IntRange(1), help="Elements of a pipelining segment [default: the whole vector].")
@click.option(
    "--ranks-per-node",
    type=click.IntRange(1),
    help="Lay the ranks out on nodes of so many [default: one node; in pictures: several where they matter].",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    is_eager=True,
    help="Write pages about all algorithms to a new folder, -o site.",
)
@click.option("--compare", is_flag=True, help="Show two algorithms in step on one page: --compare ring two_tree.")
@click.option(
    "--names", type=click.Choice(STYLES), default=STYLES[0], show_default=True, help="What pages call the ranks."
)
@no_limit
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file instead of stdout. A name that ends in .html makes a page with moving messages, in .gif a "
    "moving picture, in .png a picture of all rounds.",
)
@errors_in_one_line
def explain(algorithms, ranks, compare, every, output, **others) -> None:
    """Show ALGORITHM round by round: who sends what to whom, and what each rank then holds.

    ALGORITHM is a name (see 'allreduce-bench list') or the path of your own file. Ranks are the letters a, b, c, … and
    the parts of the vector are numbers: a1+b1 is the sum of what ranks 0 and 1 had in part 1.
    """
    if every:
        click.echo(explain_all(click.get_current_context()))
        return
    if len(ranks) != 1:
        raise OneLineError(f"explain takes a single rank count, found {','.join(map(str, ranks))}")
    (size,) = ranks
    refuse_too_many(ranks)
    _refuse_other_number(algorithms, compare)
    ending = ".txt" if output is None or is_stream(output) else output.suffix
    if ending not in ENDINGS:
        raise OneLineError(f"-o {output}: expected a name that ends in {', '.join(ENDINGS)}")
    if compare and ending != ".html":
        raise OneLineError("--compare makes a page; add -o and a name that ends in .html")
    if output:
        refuse_given(output)
    if library := next(filter(is_of_library, algorithms), None):
        words = "the steps of a library are not known; 'report' says which algorithm it resembles"
        raise OneLineError(f"{library}: {words}")
    try:
        made = ENDINGS[ending](Asked(algorithms, size, **others))
    except Refusal as refusal:
        raise OneLineError(f"{', '.join(find(list(algorithms)))}, {size} ranks: {refusal}", 1) from refusal
    if output is None:
        click.echo(made, nl=False)
    elif isinstance(made, bytes):
        write_atomically(output, made)
    else:
        write_given(output, made)


def _refuse_other_number(algorithms: Sequence[str], compare: bool) -> None:
    """Raises OneLineError unless two algorithms are named to be compared, or a single one to be shown."""
    if compare and len(algorithms) != 2:
        raise OneLineError(f"--compare takes two algorithms, such as ring two_tree; found {len(algorithms)}")
    if not compare and len(algorithms) != 1:
        found = " ".join(algorithms) or "none"
        raise OneLineError(f"explain takes one algorithm, or two with --compare; found {found}")

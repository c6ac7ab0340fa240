"""`list`, `explain` and `verify`: what works where no MPI is installed."""

from collections.abc import Sequence
from pathlib import Path

import click

from ..algorithms import builtin, find, is_of_library
from ..pages.endings import ENDINGS, Asked
from ..pages.explain_all import explain_all, required_beside_all
from ..pages.names import STYLES
from ..runs.atomic_write import is_stream, refuse_given, write_atomically, write_given
from ..runs.cell import EXECUTORS, MOCKUPS
from ..runs.schema import FLOORS
from ..schedule.rendezvous import Refusal
from .sections import examples
from .terminal import echo_wrapped, screen
from .types import RANKS, OneLineError, errors_in_one_line, no_limit, talk

VERIFIED = "verified by symbolic execution for these ranks, counts, segments and layouts; rendezvous sends assumed"
MAX_ENUMERATED = 4096  # ranks: beyond, the steps of all ranks need more memory than a laptop has


@click.command("list", epilog=examples("list", "explain ring -n 4"))
def list_() -> None:
    """List the algorithms, their cost, and what others call them."""
    for name, algorithm in builtin().items():
        kind = "exact" if algorithm.exact else "bound"
        lines = [name, f"    {algorithm.summary}", f"    cost ({kind}): {algorithm.formula}"]
        if algorithm.needs:
            lines.append(f"    needs: {', '.join(sorted(algorithm.needs))}")
        if algorithm.known_as:
            lines.append(f"    elsewhere: {algorithm.known_as}")
        echo_wrapped(lines)
    echo_wrapped(["native", "    The MPI library's own MPI_Allreduce, measured beside them"])
    made = "    What the library's other operations make of it; -a guidelines measures native and all of them"
    echo_wrapped([", ".join(MOCKUPS), made])
    floors = "    Reference times, measured with every run: an empty call, a local copy, a local reduction"
    echo_wrapped([", ".join(FLOORS), floors])
    echo_wrapped(
        [f"run --executor {','.join(EXECUTORS)}", "    How the steps of an algorithm are run; sendrecv is the default"]
    )


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
    _refuse_too_many(ranks)
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


@click.command(epilog=examples("verify", "verify ring two_tree -n 1-64", "verify ./mine.py -n 2,4,8"))
@click.argument("algorithms", nargs=-1)
@click.option(
    "-n", "--ranks", type=RANKS, default="1-16", show_default=True, help="Numbers of ranks, e.g. 8, 2,4,8 or 1-64."
)
@click.option(
    "--count", "counts", type=click.IntRange(0), multiple=True, help="Elements; may be repeated [default: several]."
)
@click.option(
    "--segment",
    type=click.IntRange(1),
    multiple=True,
    help="Elements of a segment; may be repeated [default: several].",
)
@click.option("--ranks-per-node", type=click.IntRange(1), help="Verify this node layout only [default: several].")
@no_limit
@errors_in_one_line
def verify(algorithms, ranks, counts, segment, ranks_per_node, no_limit) -> None:
    """Verify that ALGORITHMS (names or paths of your own files; default: all) are all-reduces, by symbolic execution.

    No data and no MPI is needed. What is shown holds for any data, but for these numbers of ranks, counts, segments and
    layouts only: each element ends as the reduction of all inputs, each counted once, and no rank waits for ever where
    sends wait for their receives (rendezvous). The MPI library and the executors are not covered.

    Exit status 1 when a schedule is refused; the message names the round, the rank and the block.
    """
    from ..schedule.verify_all import NAME_WIDTH, prove_all
    from .work_limit import refuse_many_proofs

    _refuse_too_many(ranks)
    proved = find(list(algorithms)) if algorithms else builtin()
    refuse_many_proofs(proved, ranks, counts, segment, ranks_per_node, no_limit)
    refused = 0
    target, header_length = screen(), 0
    for line in prove_all(proved, ranks, tuple(counts), tuple(segment), ranks_per_node):
        header_length = header_length or len(line.text)
        is_narrow = target.width is not None and target.width < header_length
        name, numbers = line.text[:NAME_WIDTH].rstrip(), f"  {line.text[NAME_WIDTH:]}"
        is_whole = line.text[:NAME_WIDTH] != name  # a longer one runs into the numbers
        echo_wrapped([name, numbers] if is_narrow and is_whole else [line.text])
        refused += line.refused
    if refused:
        raise click.exceptions.Exit(1)
    talk(VERIFIED)


def _refuse_too_many(ranks: Sequence[int]) -> None:
    if max(ranks) > MAX_ENUMERATED:
        raise OneLineError(f"-n {max(ranks)}: expected at most {MAX_ENUMERATED} ranks")

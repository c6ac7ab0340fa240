"""`list` and `verify`: list and verify algorithms, also where no MPI is installed."""

from collections.abc import Sequence

import click

from ..algorithms import Algorithm, builtin, find
from ..machine.forks import in_forks
from ..runs.competitor import FLOOR_PREFIX, FORCED_ALL, FORCED_PREFIX, GLOO, MOCKUPS, WAYS, competitor
from ..runs.library_algorithms import VALUES
from ..runs.schema import FLOORS
from ..schedule.algorithm import Topology
from ..schedule.distance import distance
from ..schedule.price import border
from ..schedule.proofs import prove_all, same_at_any_length
from .sections import examples
from .terminal import echo_wrapped, screen
from .types import RANKS, OneLineError, errors_in_one_line, talk
from .work_limit import generators_that_end

VERIFIED = "verified by symbolic execution for these ranks, counts, segments and layouts; rendezvous sends assumed"
TWO_NODES, TORUS = Topology.filled(8, 4), (2, 4)  # layouts of the facts of `list`
COUNT = 8 * 7 * 3  # elements there, in equal blocks
WITH_PARAMETERS = {
    "hierarchical:INNER+OUTER": (
        "half of INNER inside the nodes, OUTER between them, the half backwards: any two algorithms, any nodes"
    ),
    "torus:2x3x4": "torus with these dimensions, one or more, whose product is the number of ranks",
    "rabenseifner_radix:8": "rabenseifner_radix with this radix",
}
MAX_ENUMERATED = 4096  # ranks: above, the steps of all ranks exceed the memory of a laptop


OTHERS = {  # what is measured beside the algorithms
    "  native": "The MPI library's own MPI_Allreduce.",
    "+ native:all": "Each algorithm that the library can be told to use.",
    "+ guidelines": "An all-reduce by the library's other operations.",
    "+ ./mine.py": "An algorithm of your own: docs/own-algorithm.md",
}


@click.command("list", epilog=examples("list", "list -v", "explain ring -n 4"))
@click.option("-v", "--verbose", is_flag=True, help="Also costs, needs, other names, and all that -a takes.")
@errors_in_one_line
def list_(verbose: bool) -> None:
    """List the algorithms."""
    if verbose:
        _list_all()
        return
    algorithms = sorted(builtin().items(), key=lambda item: item[1].on_request)
    lines = {f"{'+' if algorithm.on_request else ' '} {name}": algorithm.summary for name, algorithm in algorithms}
    for name, meaning in {**lines, **OTHERS}.items():
        click.echo(f"{name:<27}{meaning}")
    talk("+ is measured where -a names it; costs and other names: allreduce-bench list -v")


def _list_all() -> None:
    """Print of each algorithm its cost and what others call it, and what else can be measured."""
    for name, algorithm in builtin().items():
        kind = "exact" if algorithm.exact else "bound"
        lines = [name, f"    {algorithm.summary}", f"    cost ({kind}): {algorithm.formula}"]
        if algorithm.needs:
            lines.append(f"    needs: {', '.join(sorted(algorithm.needs))}")
        if algorithm.known_as:
            lines.append(f"    elsewhere: {algorithm.known_as}")
        lines += _facts_of_nodes(algorithm)
        if algorithm.on_request:
            lines.append("    run: only where it is named")
        echo_wrapped(lines)
    for example, meaning in WITH_PARAMETERS.items():
        echo_wrapped([example, f"    {meaning}"])
    echo_wrapped(["native", "    The MPI library's own MPI_Allreduce, measured beside them"])
    made = "    An all-reduce by the library's other operations; -a guidelines measures native and all of them"
    echo_wrapped([", ".join(MOCKUPS), made])
    for library, values in VALUES.items():
        names = ", ".join(FORCED_PREFIX + name for name in values)
        echo_wrapped([names, f"    {library}'s own all-reduce by the algorithm that it is told to use"])
    echo_wrapped([FORCED_ALL, "    All of these that the library has which ranks load"])
    echo_wrapped([GLOO, "    Gloo's all-reduce, of torch.distributed on CPUs: a peer outside MPI; needs torch"])
    floors = "    Reference times, measured with every run: an empty call, a local copy, a local reduction"
    echo_wrapped([", ".join(FLOOR_PREFIX + name for name in FLOORS), floors])
    ways = "    How the steps of an algorithm are run; ring alone is by MPI_Sendrecv"
    echo_wrapped([", ".join(competitor("ring", way) for way in WAYS[1:]), ways])


def _facts_of_nodes(algorithm: Algorithm) -> list[str]:
    """Return what follows from schedules: bytes between two nodes and on a torus, and whether the length matters."""
    ranks, topology = len(TWO_NODES.node_of), TWO_NODES
    if algorithm.unmet(ranks, topology):
        return []
    schedules = algorithm.schedules(ranks, topology, COUNT, COUNT)
    crossing = border(schedules, topology.node_of).crossing / COUNT
    passed, busiest = (value / COUNT for value in distance(schedules, TORUS))
    same = all(
        same_at_any_length(algorithm, size, Topology.one_node(size), (size, COUNT)) for size in (ranks - 2, ranks)
    )
    at_any = (
        "order of additions: the same at any length"
        if same
        else "order of additions: depends on the length of the vector"
    )
    facts = (
        f"between 2 nodes of 4 ranks: {crossing:.2f} n in all",
        f"on a torus of 2x4 ranks: {passed:.2f} n times links in all, {busiest:.2f} n over the busiest link",
    )
    return [f"    {fact}" for fact in (*facts, at_any)]


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
@click.option(
    "--lengths",
    is_flag=True,
    help="Also say whether elements are added up in the same order at any length of the vector.",
)
@errors_in_one_line
def verify(algorithms, ranks, counts, segment, ranks_per_node, lengths) -> None:
    """Verify that ALGORITHMS (names or paths of your own files; default: all) are all-reduces, by symbolic execution.

    No data and no MPI is needed. What is shown holds for any data, but for these numbers of ranks, counts, segments and
    layouts only: each element ends as the reduction of all inputs, each counted once, and no rank waits for ever where
    sends wait for their receives (rendezvous). The MPI library and the ways to run the steps are not covered.

    Exit status 1 when a schedule is refused; the message names the round, the rank and the block.
    """
    refuse_too_many(ranks)
    proved = find(list(algorithms)) if algorithms else builtin()
    refused = proofs = 0
    target, header_length = screen(), 0
    with generators_that_end(proved.values()):
        # the time of a user's generator is limited in this process only
        over = map if any(algorithm.file for algorithm in proved.values()) else in_forks
        for line in prove_all(proved, ranks, tuple(counts), tuple(segment), ranks_per_node, lengths, over):
            header_length = header_length or len(line.text)
            is_narrow = target.width is not None and target.width < header_length
            echo_wrapped([line.name.rstrip(), f"  {line.rest}"] if is_narrow else [line.text])
            refused += line.refused
            proofs += line.proofs
    if refused:
        raise click.exceptions.Exit(1)
    if not proofs:
        raise OneLineError(
            "nothing was verified: the table says what each algorithm needs; choose other ranks or layouts", exit_code=1
        )
    talk(VERIFIED)


def refuse_too_many(ranks: Sequence[int]) -> None:
    """Raise OneLineError for numbers of ranks whose steps need too much memory."""
    if max(ranks) > MAX_ENUMERATED:
        raise OneLineError(f"-n {max(ranks)}: expected at most {MAX_ENUMERATED} ranks")

"""`explain`: algorithms round by round, as text, a page or a picture; `--all` writes pages about all of them."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from ..algorithms import find, is_of_library
from ..algorithms.torus import Dimensions, dimensions_of
from ..cli.schedules import refuse_too_many
from ..cli.sections import examples
from ..cli.types import RANKS as RANK_COUNTS
from ..cli.types import OneLineError, errors_in_one_line, given_options, parsed, progress, tell_damages
from ..cli.work_limit import generators_that_end
from ..runs.files import read_given_text, refuse_given, write_atomically
from ..runs.folder import RunFolder
from ..schedule import Schedule
from ..schedule.algorithm import Topology
from ..schedule.distance import distance
from ..schedule.draw import messages_of_rounds, rounds
from ..schedule.price import border
from ..schedule.proofs import Case, proof_of, same_at_any_length
from ..schedule.verify import Refusal
from ..tables import columns_of, fitted
from ..units import counted
from .drawing import drawing

if TYPE_CHECKING:
    from .teaching import Measured

LONGEST_MAP = 2**20  # bytes

# Options of `explain --all`
BESIDE_ALL = {"every", "output", "ranks"}  # options allowed beside it
RANKS, RANKS_OF_SITE = 4, 8  # unless -n or a run says otherwise
MOST_RANKS_OF_LENGTHS = 64  # whose sums are compared over lengths: of more it takes long


@dataclass(frozen=True)
class Asked:
    """Request to `explain`."""

    algorithms: tuple[str, ...]  # names or paths; one, or two to compare
    ranks: int
    count: int | None  # elements; None: the default of the kind of output
    segment: int | None  # elements
    ranks_per_node: int | None
    map: Path | None  # file of hosts and switches
    torus: Dimensions | None
    measured: "Measured | None"


def _as_text(asked: Asked) -> str:
    """Return every round as text. Raises OneLineError, Refusal."""
    size = asked.ranks
    switches = [*read_map(asked.map).values()] if asked.map else []
    per_node = asked.ranks_per_node or (-(-size // len(switches)) if switches else size)
    topology = Topology.filled(size, per_node)
    if switches and len(switches) < len(topology.nodes):
        raise OneLineError(
            f"--map {asked.map}: names {counted(len(switches), 'host')}, but {size} ranks are on "
            f"{len(topology.nodes)} nodes; use another -n or --ranks-per-node"
        )
    count = size if asked.count is None else asked.count
    segment = asked.segment or max(count, 1)
    pages = []
    for chosen in find(list(asked.algorithms)).values():
        if reason := chosen.unmet(size, topology):
            raise OneLineError(reason)
        schedules = chosen.schedules(size, topology, count, segment)
        proof = proof_of(chosen, Case(size, topology, count, segment), schedules)
        cost = f"{chosen.formula} ({'exact' if chosen.exact else 'bound'})"
        lines = [rounds(chosen.name, schedules, count, cost), *_border_lines(schedules, topology, switches, count)]
        if asked.torus:
            lines.append(_torus_line(schedules, asked.torus, count))
        if size <= MOST_RANKS_OF_LENGTHS:
            same = same_at_any_length(chosen, size, topology)
            order = "the same at any length" if same else "depends on the length of the vector"
            lines.append(f"order of additions of an element: {order}")
        rounds_text = counted(len(messages_of_rounds(schedules)), "round")
        lines += wrap(f"why {rounds_text}: {chosen.why}", 79) if chosen.why else []
        bits, order = ("yes" if kept else "no" for kept in (proof.same_bits, proof.rank_ordered))
        depth = f"roundings of an input: at most {proof.depth}"
        pages.append("\n".join([*lines, f"same bits on all ranks: {bits}, rank order: {order}, {depth}\n"]))
    if asked.measured:
        table = fitted(columns_of(asked.measured.table, left=[0]))
        pages.append("\n".join([asked.measured.title, *(f"    {line}" for line in table), ""]))
    return "\n".join(pages)


def _border_lines(
    schedules: Sequence[Schedule], topology: Topology, switches: Sequence[tuple[str, ...]], count: int
) -> list[str]:
    """Return what crosses the borders between nodes and between switches of each level, in shares of the vector."""
    groups: dict[str, Sequence[Hashable]] = {"nodes": topology.node_of} if len(topology.nodes) > 1 else {}
    for level in range(len(switches[0]) if switches else 0):
        name = "switches" if len(switches[0]) == 1 else f"switches of level {level + 1}"
        groups[name] = tuple(switches[node][level:] for node in topology.node_of)
    lines = []
    for name, group_of in groups.items():
        found = border(schedules, group_of)
        crossing, out, into = (number / max(1, count) for number in (found.crossing, found.out, found.into))
        lines.append(
            f"between {found.groups} {name}: {found.crossing} elements ({crossing:.3f} n) in all, at most {out:.3f} n "
            f"out of one and {into:.3f} n into one"
        )
    return lines


def _torus_line(schedules: Sequence[Schedule], dimensions: Dimensions, count: int) -> str:
    """Return what passes the links of a torus, in all and over the busiest one, in shares of the vector."""
    found = distance(schedules, dimensions)
    passed, busiest = (value / max(1, count) for value in found)
    name = "x".join(map(str, dimensions))
    return (
        f"on a torus of {name} ranks: {found.passed} elements times links ({passed:.3f} n) in all, {busiest:.3f} n "
        "over the busiest link"
    )


def read_map(path: Path) -> dict[str, tuple[str, ...]]:
    """Return of each host, a line of the file, the names of the switches above it, the nearest first.

    Raises OneLineError.
    """
    try:
        lines = read_given_text(path, LONGEST_MAP).splitlines()
    except OSError as error:
        raise OneLineError(f"--map {path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise OneLineError(f"--map {path}: is no text; expected lines of a host and its switches") from None
    named: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, start=1):
        host, *switches = line.partition("#")[0].split() or [""]
        if not host:
            continue
        if host in named:
            raise OneLineError(f"--map {path}:{number}: names host {host} a second time; expected each once")
        if not switches or named and len(switches) != len(next(iter(named.values()))):
            expected = len(next(iter(named.values()))) if named else 1
            raise OneLineError(f"--map {path}:{number}: names {len(switches)} switches of a host; expected {expected}")
        named[host] = tuple(switches)
    if not named:
        raise OneLineError(f"--map {path}: names no host; expected a host and its switch in each line")
    return named


def _as_page(asked: Asked) -> str:
    """Return one page of HTML. Raises AlgorithmError, Refusal."""
    from .page import page

    return page(asked.algorithms, asked.ranks, asked.count, asked.segment, asked.ranks_per_node, asked.measured)


def _as_picture(asked: Asked) -> str:
    """Return an SVG of all rounds. Raises AlgorithmError, Refusal."""
    from .layout import layout_of
    from .pictures import Scene, svg

    (algorithm,) = asked.algorithms
    drawn = drawing(algorithm, asked.ranks, asked.count, asked.segment, asked.ranks_per_node)
    return svg(Scene(drawn, layout_of(drawn)))


ENDINGS: dict[str, Callable[[Asked], str]] = {".txt": _as_text, ".html": _as_page, ".svg": _as_picture}  # of -o


def explain_all(context: click.Context, ranks: int) -> Path:
    """Write the pages that the options of `explain --all` ask for; return the first.

    Raises OneLineError for options not allowed with --all, and as `write_site`.
    """
    from .site import write_site

    chosen = context.params
    others = [name for name in context.params if name in given_options(context) - BESIDE_ALL]
    if others:
        words = {parameter.name: parameter.opts[0] for parameter in context.command.params}
        named = " ".join(chosen["algorithms"]) if others[0] == "algorithms" else words[others[0]]
        raise OneLineError(f"--all shows every algorithm in the same way; leave out {named}")
    if chosen["output"] is None:
        raise OneLineError("--all writes a folder of pages; add -o and the name of a new folder, such as -o site")
    return write_site(chosen["output"], ranks, progress())


@click.command(
    epilog=examples(
        "explain ring",
        "explain two_tree -n 8 -o two_tree.html",
        "explain ring two_tree -n 16 -o compare.html",
        "explain ring --run results/today -o ring.html",
        "explain --all -o site",
    )
)
@click.argument("algorithms", metavar="ALGORITHM", nargs=-1)
@click.option(
    "-n", "--ranks", type=RANK_COUNTS, help="Number of ranks [default: 4, or the most of --run; with --all 8]."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file instead of stdout: .html, a page to step through; .svg, a moving picture of all rounds.",
)
@click.option("--run", "run", type=click.Path(path_type=Path), help="Show what this run measured, too.")
@click.option("--all", "every", is_flag=True, help="Write pages about all algorithms to a new folder, -o site.")
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
    "--map",
    type=click.Path(path_type=Path),
    help="Text: say what crosses the borders between switches: a file of hosts in the order of ranks, one a line, with "
    "the switches above it, the nearest first: n1 leaf1 spine1.",
)
@click.option(
    "--torus",
    type=parsed("dimensions", dimensions_of),
    help="Text: say how far bytes go on a torus of ranks, e.g. 4x4, and what its busiest link carries.",
)
@errors_in_one_line
def explain(algorithms, ranks, output, run, every, **others) -> None:
    """Show ALGORITHM round by round: who sends what to whom, and what each rank then holds; or two, in step.

    ALGORITHM is a name (see 'allreduce-bench list') or the path of your own file. Ranks are the letters a, b, c, … and
    the parts of the vector are numbers: a1+b1 is the sum of what ranks 0 and 1 had in part 1.
    """
    named, asked_ranks = _split_words(algorithms, ranks)
    if every:
        click.echo(explain_all(click.get_current_context(), asked_ranks or RANKS_OF_SITE))
        return
    if not 1 <= len(named) <= 2:
        raise OneLineError(
            f"explain takes one algorithm, or two to compare, found {len(named)}; type 'allreduce-bench explain ring', "
            "or 'allreduce-bench explain --all -o site' for pages about all"
        )
    ending = ".txt" if output is None else output.suffix
    if ending not in ENDINGS:
        raise OneLineError(f"-o {output}: expected a name that ends in {', '.join(ENDINGS)}")
    if ending == ".svg" and (len(named) > 1 or run):
        raise OneLineError(f"-o {output}: a picture shows one algorithm and no times; name an .html file for more")
    if library := next(filter(is_of_library, named), None):
        raise OneLineError(f"{library}: the steps of a library are not known; 'which' says which algorithm it runs")
    found = find([*named])
    measured = None
    if run:
        from .teaching import read_measured

        tell_damages([RunFolder(run)], missing=False)
        measured = read_measured(run, [*found], asked_ranks)
    size = measured.ranks if measured else asked_ranks or RANKS
    refuse_too_many([size])
    _refuse_networks(size, ending, others["map"], others["torus"])
    if output:
        refuse_given(output)
    try:
        with generators_that_end(found.values()):
            made = ENDINGS[ending](Asked(named, size, measured=measured, **others))
    except Refusal as refusal:
        raise OneLineError(f"{', '.join(found)}, {size} ranks: {refusal}", exit_code=1) from refusal
    if output is None:
        click.echo(made, nl=False)
    else:
        write_atomically(output, made)


def _split_words(words: Sequence[str], ranks: Sequence[int] | None) -> tuple[tuple[str, ...], int | None]:
    """Return the names among the words, and the number of ranks: `ring 4` is `ring -n 4`. Raises OneLineError."""
    numbers = [*map(int, filter(str.isdecimal, words)), *(ranks or ())]
    if len(numbers) > 1 or 0 in numbers:
        raise OneLineError(f"explain takes a single rank count, found {','.join(map(str, numbers))}")
    return tuple(word for word in words if not word.isdecimal()), next(iter(numbers), None)


def _refuse_networks(size: int, ending: str, map: Path | None, torus: Dimensions | None) -> None:
    """Raise OneLineError for a map or a torus that is not for the text, and for a torus of other ranks."""
    for option, value in (("--map", map), ("--torus", torus)):
        if value and ending != ".txt":
            raise OneLineError(f"{option} belongs to the text; leave out -o, or name a .txt file")
    if torus and prod(torus) != size:
        raise OneLineError(f"--torus: its dimensions make {prod(torus)} ranks; expected {size}, as -n says")

"""`order`: find an order of ranks from measured pairs of hosts; write it for a launcher."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from ..algorithms import find, is_of_library
from ..cli.sections import examples
from ..cli.terminal import echo_wrapped, screen
from ..cli.types import SIZE, OneLineError, errors_in_one_line
from ..cli.work_limit import generators_that_end
from ..runs.files import refuse_given, write_atomically
from ..runs.plan import DEFAULT_SEGMENT_NBYTES
from ..runs.rank_order import BLOCK, CYCLIC
from ..schedule.algorithm import PROVED_UP_TO, Algorithm, Topology
from ..schedule.verify import Refusal
from ..tables import columns_of, fitted
from ..units import few, format_size, format_time, shell_word
from .lockstep import (
    RING,
    Lockstep,
    MessageCosts,
    best_order,
    broken_pairs,
    measured_costs,
    rounds_of,
)

ITEMSIZE = 4  # bytes of an element
GIVEN, FITTED = "as given", "fitted"
MOST_NAMED = 6  # pairs in one sentence


class PredictedOrder(NamedTuple):
    """An order of ranks, and its time in lockstep."""

    name: str
    hosts: tuple[str, ...]  # of each rank
    time: float  # in seconds, or in the unit of the costs
    broken: list[tuple[str, str]]  # pairs that cannot talk, and that it uses


def predict_orders(
    algorithm: Algorithm, costs: MessageCosts, size_bytes: int, ranks_per_node: int
) -> list[PredictedOrder]:
    """Return the orders of ranks with their times: as the hosts are given, cyclic if that differs, and fitted.

    Raises OneLineError, AlgorithmError, Refusal.
    """
    hosts, ranks = len(costs.hosts), len(costs.hosts) * ranks_per_node
    if algorithm.name != RING and ranks > PROVED_UP_TO:
        raise OneLineError(
            f"{algorithm.name} on {ranks} ranks: schedules of up to {PROVED_UP_TO} ranks are verified; ring takes more"
        )
    in_blocks, in_turn = np.arange(ranks) // ranks_per_node, np.arange(ranks) % hosts
    found = []

    def predict(name: str, place_of_rank: np.ndarray, lockstep: Lockstep, host_of_place: np.ndarray) -> None:
        host_of_rank = host_of_place[place_of_rank]
        time, _ = lockstep.time(host_of_rank)
        broken = broken_pairs(lockstep.rounds, host_of_rank, costs)
        found.append(PredictedOrder(name, tuple(costs.hosts[host] for host in host_of_rank), time, broken))

    block = _lockstep(algorithm, in_blocks, costs, size_bytes)
    predict(BLOCK if ranks_per_node > 1 else GIVEN, in_blocks, block, np.arange(hosts))
    if ranks_per_node > 1:
        predict(CYCLIC, in_turn, _lockstep(algorithm, in_turn, costs, size_bytes), np.arange(hosts))
    fitted_hosts = best_order(block, costs, in_blocks, algorithm.name == RING)
    predict(FITTED, in_blocks, block, fitted_hosts)
    return found


def _lockstep(algorithm: Algorithm, place_of_rank: np.ndarray, costs: MessageCosts, size_bytes: int) -> Lockstep:
    topology = Topology.from_labels(place_of_rank.tolist())
    if reason := algorithm.unmet(len(place_of_rank), topology):
        raise OneLineError(reason)
    segment = max(1, DEFAULT_SEGMENT_NBYTES // ITEMSIZE)
    return Lockstep(rounds_of(algorithm, topology, size_bytes, ITEMSIZE, segment), costs)


# Files of an order, for `run` and for launchers: the line of a rank, and how the file is used. In a rank file of Open
# MPI ranks of one host take its slots in turn; MPICH and Intel MPI fill the lines of a machine file in turn; a host
# file of srun has a host for each task
FORMATS: Mapping[str, tuple[str, str]] = {
    "order": ("{host}", "allreduce-bench run --order {path} -n {ranks}"),
    "openmpi": ("rank {rank}={host} slot={slot}", "mpirun --map-by rankfile:file={path} -n {ranks} PROGRAM"),
    "mpich": ("{host}:1", "mpirun -f {path} -n {ranks} PROGRAM"),
    "srun": ("{host}", "SLURM_HOSTFILE={path} srun -n {ranks} --distribution=arbitrary PROGRAM"),
}


def order_text(hosts: Sequence[str], format_: str) -> str:
    """Return the lines of a file of this format: a line a rank."""
    slots = Counter[str]()
    lines = []
    for rank, host in enumerate(hosts):
        lines.append(FORMATS[format_][0].format(rank=rank, host=host, slot=slots[host]) + "\n")
        slots[host] += 1
    return "".join(lines)


@click.command(
    epilog=examples(
        "order results/health -o order.txt",
        "order pairs.csv -a two_tree --size 1M -o order.txt",
        "order results/health --ranks-per-node 4 --format srun -o hosts.txt",
    )
)
@click.argument("source", type=click.Path(path_type=Path), metavar="CHECK|CSV")
@click.option(
    "-a", "--algorithm", default=RING, show_default=True, metavar="NAME", help="Algorithm to order ranks for."
)
@click.option("--size", type=SIZE, default="8M", show_default=True, help="Bytes of the vector, e.g. 64K.")
@click.option(
    "--ranks-per-node",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Ranks on each host; they stay consecutive.",
)
@click.option("--value", default="", metavar="COLUMN", help="As of health: the column of another tool's table.")
@click.option("--value-is", type=click.Choice(("rate", "time")), help="As of health: what that column holds.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the order to this file.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(tuple(FORMATS)),
    default="order",
    show_default=True,
    help="order: for run --order; or a rank file of Open MPI, a machine file of MPICH, a host file of srun.",
)
@errors_in_one_line
def order(source, algorithm, size, ranks_per_node, value, value_is, output, format_) -> None:
    """Find an order of ranks that suits the links between their hosts.

    CHECK is the folder of health, or its pairs.csv; CSV a table of pairs that another tool measured. The order found
    has a short predicted time in lockstep: of a ring the slowest message first, then the sum of all. Pairs of hosts
    that cannot talk exchange no message if there is an order without. run --order FILE measures in that order.
    """
    if format_ != "order" and output is None:
        raise OneLineError(f"--format {format_} makes a file for a launcher; name it with -o")
    if output is not None:
        refuse_given(output, [source])
    costs = measured_costs(source, value, value_is or "")
    if is_of_library(algorithm):
        raise OneLineError(
            f"{algorithm} is the library's own; an order is found for an algorithm of which the steps are known"
        )
    (chosen,) = find([algorithm]).values()
    try:
        with generators_that_end([chosen]):
            found = predict_orders(chosen, costs, size, ranks_per_node)
    except Refusal as refusal:
        raise OneLineError(str(refusal), exit_code=1) from refusal
    title = (
        f"made from {costs.of}: {chosen.name}, {format_size(size)}, {len(found[-1].hosts)} ranks on "
        f"{len(costs.hosts)} hosts"
    )
    click.echo("\n".join([title, *_table(found, costs), ""]))
    echo_wrapped(_sentences(found[-1], costs))
    _write(found, output, format_, title)


def _table(found: Sequence[PredictedOrder], costs: MessageCosts) -> list[str]:
    """Return a line for each order: its time if it is known, and its ratio to the first order."""
    head = ["order of ranks", *(["predicted"] if costs.in_seconds else []), f"over {found[0].name}"]
    rows = []
    for each in found:
        time = "waits for ever" if each.broken else format_time(each.time)
        ratio = "-" if each.broken or found[0].broken else f"{_ratio(each, found[0]):.3f}"
        rows.append([each.name, *([time] if costs.in_seconds else []), ratio])
    return fitted(columns_of([head, *rows], left=[0]), screen())


def _ratio(order: PredictedOrder, first: PredictedOrder) -> float:
    """Return the time of an order over the time of the first; 1 where no order takes time, as of 0 bytes."""
    return order.time / first.time if first.time else 1.0


def _sentences(chosen: PredictedOrder, costs: MessageCosts) -> list[str]:
    """Return what the costs lack, and which hosts cannot talk."""
    said = []
    if not costs.in_seconds:
        said.append(f"The unit of {costs.of} is not known: times are compared only.")
    if costs.left_out:
        names, are = few(costs.left_out, MOST_NAMED), "is" if len(costs.left_out) == 1 else "are"
        said.append(f"{names} {are} left out: no pair of theirs was measured; continue the check with health -o.")
    if costs.estimated:
        said.append(f"{costs.estimated} pairs were not measured: each is taken to be as slow as its slower host.")
    if chosen.broken:
        pairs = few((f"{one} and {other}" for one, other in chosen.broken), MOST_NAMED, comma="; ")
        said.append(f"In this order hosts that cannot talk exchange messages: {pairs}. No order without was found.")
    elif costs.broken.any():
        broken = int(np.count_nonzero(costs.broken)) // 2
        said.append(f"No message goes between hosts that cannot talk (pairs: {broken}).")
    return said


def _write(found: Sequence[PredictedOrder], output: Path | None, format_: str, title: str) -> None:
    """Write the last order to a file and say how that is used; without a file print its hosts."""
    first, hosts = found[0], found[-1].hosts
    if output is None:
        click.echo(",".join(hosts))
        return
    comments = ["order of ranks for allreduce-bench run --order: the host of rank 0, of rank 1, ...", title]
    if not first.broken and not found[-1].broken:
        comments.append(
            f"predicted in lockstep: {_ratio(found[-1], first):.3f} of the time of the hosts as they are given"
        )
    head = "".join(f"# {comment}\n" for comment in comments) if format_ == "order" else ""
    write_atomically(output, head + order_text(hosts, format_))
    click.echo(FORMATS[format_][1].format(path=shell_word(output), ranks=len(hosts)))

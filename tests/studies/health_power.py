"""How often does `health` find a slow node or link, and name one that is not slow? Made tables of known truth.

The times of pairs are log-normal: every link differs from others (LINK_SPREAD), every repetition by the noise; a pair
has the median of REPETITIONS in each of its directions, as `health` measures them, or in one alone (--directions 1). A
table is clean, has a node whose pairs all take 1.3 times as long, alone or beside one that takes 3 times as long, or a
link that takes 1.5 or 3 times as long. Then the same in 64 nodes of three racks (RACKS), pairs between which take FAR
times as long. Found: named, and as what it is. False: anything else is named; where nothing is, the 95 % upper limit.
Exit status 1 where a promise is not kept (PROMISED).
"""

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from allreduce_bench.health.judgement import PairTable, judge_table

LINK_SPREAD = 0.03
REPETITIONS = 5  # of a large message, in each direction
THRESHOLD = 0.2
BAD, BESIDE = (1, 2), 3  # nodes
NOISES, NODES = (0.05, 0.15), (4, 8, 16, 32)
MOST_FALSE = 0.05  # of clean tables, and of those with a fault


class Fault(NamedTuple):
    """What is slow in a made table."""

    name: str
    node: float = 1.0  # times as long as the others'
    link: float = 1.0
    beside: float = 1.0  # of another node
    racks: tuple[int, ...] = ()  # nodes of each; none: one


FAULTS = (
    Fault("clean"),
    Fault("node 1.3x", node=1.3),
    Fault("beside 3x", node=1.3, beside=3.0),
    Fault("link 1.5x", link=1.5),
    Fault("link 3x", link=3.0),
)
RACKS, FAR = ((50, 10, 4), (30, 30, 4), (40, 16, 8)), 1.4
PROMISED = {  # (noise, from so many nodes on, fault): at least so often found
    (0.05, 8, "node 1.3x"): 0.99,
    (0.05, 8, "beside 3x"): 0.99,
    (0.05, 8, "link 1.5x"): 0.99,
    (0.15, 8, "node 1.3x"): 0.88,
    (0.15, 8, "beside 3x"): 0.8,
    (0.15, 8, "link 1.5x"): 0.65,
    (0.15, 8, "link 3x"): 0.99,
}


class Rates(NamedTuple):
    """Shares of tables."""

    found: float
    false: float


def made_table(nodes: int, noise: float, fault: Fault, directions: int, random: np.random.Generator) -> PairTable:
    """A table in which the node at `BAD[0]` and that at BESIDE, or the link of the nodes at BAD, have the fault."""
    links = np.triu(random.normal(0, LINK_SPREAD, (nodes, nodes)), 1)
    links[BAD] += np.log(fault.link)
    links = links + links.T
    for node, times in ((BAD[0], fault.node), (BESIDE, fault.beside)):
        links[node] += np.log(times)
        links[:, node] += np.log(times)
    if fault.racks:
        rack = np.repeat(np.arange(len(fault.racks)), fault.racks)
        links += np.log(FAR) * (rack != rack[:, None])
    log_time = links + np.median(random.normal(0, noise, (REPETITIONS, nodes, nodes)), axis=0)
    if directions == 1:
        log_time[np.tril_indices(nodes)] = np.nan
    np.fill_diagonal(log_time, np.nan)
    return PairTable("made", tuple(f"n{number}" for number in range(nodes)), log_time, "s", False)


def rates(nodes: int, noise: float, fault: Fault, directions: int, tables: int, seed: int = 1) -> Rates:
    """How often the fault is found, and something else named."""
    random, found, false = np.random.default_rng(seed), 0, 0
    slow_nodes = {node for node, times in ((BAD[0], fault.node), (BESIDE, fault.beside)) if times > 1}
    slow_links = {BAD} if fault.link > 1 else set()
    for _ in range(tables):
        result = judge_table(made_table(nodes, noise, fault, directions, random), THRESHOLD)
        named_nodes, named_links = set(result.slow_nodes), set(result.slow_links)
        found += slow_nodes <= named_nodes and slow_links <= named_links and fault.name != "clean"
        false += bool(named_nodes - slow_nodes or named_links - slow_links)
    return Rates(found / tables, false / tables)


def rows(tables: int, directions: int) -> list[list]:
    """[noise, nodes, racks, fault, found, false] of all that is asked; printed as it comes."""
    print(f"share of {tables} tables, {directions} x {REPETITIONS} repetitions; per fault: found, false (<: of none)")
    print(f"{'noise':>5} {'nodes':>5} {'racks':>8}  " + "  ".join(f"{fault.name:>13}" for fault in FAULTS))
    found = []
    for noise in NOISES:
        for nodes, racks in [*((nodes, ()) for nodes in NODES), *((sum(racks), racks) for racks in RACKS)]:
            line = [rates(nodes, noise, fault._replace(racks=racks), directions, tables) for fault in FAULTS]
            words = "+".join(map(str, racks)) or "one"
            found += [[noise, nodes, words, fault.name, *rate] for fault, rate in zip(FAULTS, line)]
            shown = "  ".join(f"{rate.found:6.1%} {share_text(rate.false, tables)}" for rate in line)
            print(f"{noise:5.0%} {nodes:5d} {words:>8}  {shown}", flush=True)
    return found


def share_text(share: float, tables: int) -> str:
    """`  2.0%`; of none its 95 % upper limit, ` <1.5%`."""
    return f"{share:6.1%}" if share else f"{f'<{1 - 0.05 ** (1 / tables):.1%}':>6}"


def broken_promises(found: Sequence[Sequence]) -> list[str]:
    """A line for each rate that is worse than promised."""
    broken = []
    for noise, nodes, racks, fault, hits, false in found:
        least = PROMISED.get((noise, 8, fault), 0.0) if nodes >= 8 else 0.0
        where = f"noise {noise:.0%}, {nodes} nodes, racks {racks}, {fault}"
        if hits < least:
            broken.append(f"{where}: found {hits:.1%}, promised {least:.0%}")
        if false > MOST_FALSE:
            broken.append(f"{where}: false {false:.1%}, at most {MOST_FALSE:.0%}")
    return broken


def main() -> None:
    """Print the table, write it as CSV if asked; exit status 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200, help="of each rate [200]")
    parser.add_argument("--directions", type=int, choices=(1, 2), default=2, help="in which a pair is timed [2]")
    parser.add_argument("-o", "--output", type=Path, help="CSV of the table")
    options = parser.parse_args()
    found = rows(options.tables, options.directions)
    if options.output:
        with options.output.open("w", newline="") as file:
            csv.writer(file).writerows([["noise", "nodes", "racks", "fault", "found", "false"], *found])
    broken = broken_promises(found) if options.directions == 2 else []
    print("\n".join(broken), file=sys.stderr)
    if broken:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

"""What does the order of ranks gain where links are unequal? Predicted and measured, on virtual hosts.

`hosts`: 8 hosts, of which two have half the rate: ring with two ranks a host, in blocks, cyclic and as `order` fits
them; a tree with one rank a host, as given and fitted. `pair`: five equal hosts, of which two have a slow link between
them: the ring that goes around it. `racks`: two racks of two hosts behind one link of half the rate: a ring whose
neighbours are in different racks against the order that `order` fits; and pipelined algorithms, by the bytes that they
send over that link and predicted by a replay of their messages (`replayed.py`). `wire`: circulant and bidirectional
ring on four equal hosts, as shares of the wire's limit.

Every order is a run of one launch, in turns, so that a drift of the machine affects all alike; a ratio is that of two
runs of the same turn, its interval that of the mean logarithm (Student's t). Frames are of 1500 bytes, so that what a
link lets through at once after a pause is at most 8 KiB, and it is said.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import exp, log
from os import environ
from pathlib import Path
from statistics import mean, median, stdev

import numpy as np
from ratio_lab import medians_of
from replayed import Links, replayed_s
from scipy.stats import t as student

from allreduce_bench.algorithms import find
from allreduce_bench.lab.lab import Room, room, variables_in, why_no_lab
from allreduce_bench.machine.virtual_hosts import bucket_nbytes
from allreduce_bench.order.command import predict_orders
from allreduce_bench.order.lockstep import MessageCosts, measured_costs
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.cut import cut
from allreduce_bench.schedule.price import border

MTU = 1500
MBIT = 1e6 / 8  # bytes/s
ITEMSIZE = 4
SLOW = (1, 4)  # numbers of the hosts with half the rate
TREE = "tree"
RACKS = (0, 0, 1, 1)
ACROSS, ACROSS_NBYTES = "ring,circulant,rabenseifner,recursive_doubling,dual_root,two_tree", 4 << 20
PIECE_NBYTES, WINDOW = 16 << 10, 32  # so that steps overlap
PIPELINED = ("--executor", "compiled-pipelined", "--segment", str(PIECE_NBYTES), "--window", str(WINDOW))
ON_WIRE = 1448 / 1514  # share of a frame that is data
BETWEEN_RACKS = r"""
set -e
ip link add bridge1 type bridge
ip link set bridge1 mtu 1500 up
ip link set port3 master bridge1
ip link set port4 master bridge1
ip link add up0 mtu 1500 type veth peer name up1 mtu 1500
ip link set up0 master bridge0 up
ip link set up1 master bridge1 up
for end in up0 up1; do tc qdisc add dev $end root tbf rate ${RATE}bit burst $BURST latency 400ms; done
"""


TO_ONE_HOST = r"""
set -e
tc qdisc replace dev e0 root handle 1: htb default 10
tc class add dev e0 parent 1: classid 1:10 htb rate 100mbit burst $BURST cburst $BURST
tc class add dev e0 parent 1: classid 1:20 htb rate 10mbit burst $BURST cburst $BURST
tc filter add dev e0 parent 1: protocol ip u32 match ip dst $DEST/32 flowid 1:20
"""


def in_room(made: Room, *words: object) -> str:
    """Run this program on the first host; return its stdout. Raises RuntimeError where it fails."""
    command = made.command(0, [sys.executable, "-m", "allreduce_bench", *words])
    result = subprocess.run(command, env=variables_in(made, environ), capture_output=True, text=True, check=False)
    if result.returncode and words[0] != "health":  # which has found the slow hosts
        raise RuntimeError(f"{' '.join(map(str, words))}: {result.stderr}")
    return result.stdout


def in_turns(made: Room, words: Mapping[str, Sequence[object]], turns: int, folder: Path) -> list[dict[str, float]]:
    """Of each turn: name -> the median time of a run with these words, seconds."""
    found = []
    for turn in range(turns):
        times = {}
        names = [*words][turn % len(words) :] + [*words][: turn % len(words)]
        for name in names:
            place = folder / f"{turn}_{name.replace(' ', '_')}"
            common = ["--launches", 1, "--warmups", 1, "--no-reference-times", "--identify", "never", "-o", place]
            in_room(made, "run", *words[name], *common)
            for algorithm, time_s in medians_of(place)[0].items():
                times[name if len(medians_of(place)[0]) == 1 else algorithm] = time_s
        found.append(times)
    return found


def ratio(turns: Sequence[Mapping[str, float]], name: str, to: str) -> str:
    """The time of `name` over that of `to`, of pairs of the same turn, with its 95 % interval."""
    logs = [log(times[name] / times[to]) for times in turns]
    half = student.ppf(0.975, len(logs) - 1) * stdev(logs) / len(logs) ** 0.5 if len(logs) > 1 else float("inf")
    return f"{exp(mean(logs)):.3f} [{exp(mean(logs) - half):.3f}, {exp(mean(logs) + half):.3f}]"


def say_burst(rates: Sequence[float]) -> None:
    """Say what a link lets through at once."""
    bursts = sorted({round(bucket_nbytes(rate, MTU)) for rate in rates})
    print(f"burst of a link: {' and '.join(map(str, bursts))} bytes", flush=True)


def measured_orders(
    made: Room,
    costs: MessageCosts,
    algorithm: str,
    size_bytes: int,
    per_node: int,
    turns: int,
    iters: int,
    folder: Path,
) -> None:
    """Print the orders of one algorithm: predicted, measured, and over the first one."""
    (chosen,) = find([algorithm]).values()
    found = {each.name: each for each in predict_orders(chosen, costs, size_bytes, per_node)}
    first = next(iter(found))
    words = {
        name: ["-a", algorithm, "--sizes", size_bytes, "--iters", iters, "--ranks-per-node", per_node]
        + ["--order", ",".join(each.hosts)]
        for name, each in found.items()
    }
    measured = in_turns(made, words, turns, folder)
    ranks = len(found[first].hosts)
    print(
        f"{algorithm}, {size_bytes >> 10} KiB, {ranks} ranks on {len(costs.hosts)} hosts, "
        f"{turns} turns of {iters} calls:"
    )
    for name, each in found.items():
        over = f"{each.time / found[first].time:.3f} predicted, {ratio(measured, name, first)} measured"
        time_s = median(times[name] for times in measured)
        print(f"  {name:9} predicted {each.time:.3f} s, measured {time_s:.3f} s; over {first}: {over}")
        print(f"            {' '.join(each.hosts)}", flush=True)


def unequal_hosts(turns: int, folder: Path) -> None:
    """Eight hosts, of which two have half the rate."""
    rates = [(25 if number in SLOW else 50) * MBIT for number in range(8)]
    print(f"8 hosts of 50 Mbit/s, {' and '.join(f'h{number + 1}' for number in SLOW)} of 25 Mbit/s")
    say_burst(rates)
    with room(rates, MTU) as made:
        in_room(made, "health", "-o", folder / "health")
        costs = measured_costs(folder / "health", "", "")
        measured_orders(made, costs, "ring", 1 << 19, 2, turns, 3, folder / "ring")
        measured_orders(made, costs, TREE, 1 << 19, 1, turns, 3, folder / "tree")


def slow_pair(turns: int, folder: Path) -> None:
    """Five hosts, of which the first two reach each other at a tenth of the rate."""
    rate = 100 * MBIT
    print("5 hosts of 100 Mbit/s, h1 and h2 reach each other at 10 Mbit/s")
    say_burst([rate, rate / 10])
    with room([rate] * 5, MTU) as made:
        for number, other in ((0, 2), (1, 1)):
            words = ["env", f"DEST=10.77.0.{other}", f"BURST={round(bucket_nbytes(rate, MTU))}"]
            inside = made.command(number, [*words, "bash", "-c", TO_ONE_HOST])
            subprocess.run(inside, env=variables_in(made, environ), check=True)
        in_room(made, "health", "-o", folder / "health")
        costs = measured_costs(folder / "health", "", "")
        measured_orders(made, costs, "ring", 1 << 20, 1, turns, 3, folder / "ring")


def two_racks(turns: int, folder: Path) -> None:
    """Two racks of two hosts behind one link of half the rate."""
    rate = 100 * MBIT
    print("two racks of two hosts of 100 Mbit/s, behind one link of 50 Mbit/s")
    say_burst([rate, rate / 2])
    with room([rate] * 4, MTU) as made:
        burst = round(bucket_nbytes(rate / 2, MTU))
        inside = ["nsenter", "-t", str(made.pid), "-n", "bash", "-c", BETWEEN_RACKS]
        variables = {**variables_in(made, environ), "RATE": f"{rate * 4:.0f}", "BURST": str(burst)}
        subprocess.run(inside, env=variables, check=True)
        in_room(made, "health", "-o", folder / "health")
        costs = measured_costs(folder / "health", "", "")
        swapped = [0, 2, 1, 3]
        mixed = MessageCosts(
            tuple(costs.hosts[host] for host in swapped),
            costs.latency_s[np.ix_(swapped, swapped)],
            costs.time_per_byte[np.ix_(swapped, swapped)],
            costs.broken,
            True,
            costs.of,
        )
        measured_orders(made, mixed, "ring", 1 << 20, 1, turns, 3, folder / "ring")
        words = {"all": ["-a", ACROSS, "--sizes", ACROSS_NBYTES, "--iters", 2, *PIPELINED]}
        measured = in_turns(made, words, turns, folder / "across")
    latency_s = float(np.median(costs.latency_s[~np.eye(4, dtype=bool)]))
    say_algorithms(measured, Links(ON_WIRE * rate, ON_WIRE * rate / 2, RACKS, latency_s))


def say_algorithms(measured: Sequence[Mapping[str, float]], links: Links) -> None:
    """Print bytes over the link between racks, predicted and measured times, by predicted time."""
    count, piece, lines = ACROSS_NBYTES // ITEMSIZE, PIECE_NBYTES // ITEMSIZE, []
    for name, algorithm in find(ACROSS.split(",")).items():
        schedules = algorithm.schedules(4, Topology((0, 1, 2, 3)), count, piece)
        crossing = border(schedules, RACKS)
        predicted_s = replayed_s([cut(steps, piece) for steps in schedules], count, WINDOW, ITEMSIZE, links)
        lines.append((predicted_s, max(crossing.out, crossing.into) / count, name))
    best = min(lines)[-1]
    print(f"pipelined, {ACROSS_NBYTES >> 10} KiB in pieces of {PIECE_NBYTES >> 10} KiB; predicted: messages replayed")
    for predicted_s, across, name in sorted(lines):
        time_s = median(times[name] for times in measured)
        print(f"  {name:20} {across:.2f} n over the link each way, predicted {predicted_s:.3f} s, ", end="")
        print(f"measured {time_s:.3f} s; over {best}: {ratio(measured, name, best)}", flush=True)


def wire(turns: int, folder: Path) -> None:
    """Circulant and bidirectional ring on four equal hosts, pipelined."""
    place = folder / "wire"
    words = ["--virtual-hosts", "4", "--link-rate", "100mbit", "-a", "ring,circulant,bidirectional_ring"]
    words += ["--executor", "pipelined", "--sizes", "8M", "--launches", str(max(3, turns)), "--iters", "5"]
    words += ["--warmups", "1", "--no-reference-times", "--identify", "never", "-o", str(place)]
    subprocess.run([sys.executable, "-m", "allreduce_bench", "run", *words], check=True, capture_output=True)
    limit_s = 2 * 3 / 4 * (8 << 20) / (100 * MBIT)
    print("4 hosts of 100 Mbit/s, 8 MiB, pipelined: share of the limit 2 (p-1)/p n / rate, in each launch")
    of_launches = medians_of(place)
    for name in of_launches[0]:
        shares = sorted(limit_s / times[name] for times in of_launches)
        print(f"  {name:20} {median(shares):.3f} ({shares[0]:.3f} to {shares[-1]:.3f})", flush=True)


PARTS = {"hosts": unequal_hosts, "pair": slow_pair, "racks": two_racks, "wire": wire}


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[*PARTS])
    parser.add_argument("--turns", type=int, default=8)
    asked = parser.parse_args()
    if why := why_no_lab():
        print(f"skipped: {why}")
        return 0
    for name in asked.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            PARTS[name](asked.turns, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())

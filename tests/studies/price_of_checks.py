"""What does checking a cell cost? Seconds beside the timed calls at 8 B, 16 MiB and 256 MiB; and in the time of a call.

python tests/studies/price_of_checks.py [--ranks N] [--sizes 8,16777216] [PYTHON…]. A cell's checks are all that it does
but bind, prove, and time calls: inputs and results are made and compared, and calls are made that are not timed. Each
figure is the median over some cells of native and of ring, float32 sums; beside it the seconds of the timed calls. Two
states of the package are compared by PYTHONPATH.

The second table says by what factor the median of calls grows since each has its number in the input: batches with and
without numbers take turns. Its interval is that of the median over pairs of batches (95 %). Exit status 1
where a factor is shown to be above 1.01.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from rank_programs import mpirun

CELLS = 3
MOST = 1.01  # factor by which numbers may lengthen the median of calls
CELL_TIME_S = 0.5


def measure(sizes: list[int]) -> None:
    """The part of the ranks: whole cells as in a run; rank 0 prints a line of JSON for each size and algorithm."""
    from mpi4py import MPI

    from allreduce_bench.algorithms import builtin
    from allreduce_bench.measuring import calls, cell
    from allreduce_bench.measuring.clock import Clock
    from allreduce_bench.measuring.context import Context, Party
    from allreduce_bench.measuring.sync import Barrier
    from allreduce_bench.runs.plan import Cell, Launch, Plan
    from allreduce_bench.schedule.algorithm import Topology

    spent = {"timed": 0.0, "bound": 0.0}

    def clocked(function, name: str):
        def run(*arguments):
            begun = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent[name] += time.perf_counter() - begun

        return run

    calls.Timing.batch, cell._bind = clocked(calls.Timing.batch, "timed"), clocked(cell._bind, "bound")
    cell.proved_steps = clocked(cell.proved_steps, "bound")
    comm = MPI.COMM_WORLD.Dup()
    node = Topology.one_node(comm.size)
    plan = Plan(("ring",), (), (comm.size,), 1, seed=1, cell_time_s=CELL_TIME_S)
    common = (comm, plan, Launch(comm.size, 1), node, node, builtin())
    one_party = Party(comm, node, node), ((range(comm.size), node),)
    context = Context(*common, Clock(comm, shared=True), Barrier(comm), *one_party)
    for size_bytes in sizes:
        for algorithm in ("native", "ring"):
            found = []
            for _ in range(CELLS):
                spent.update(timed=0.0, bound=0.0)
                comm.Barrier()
                begun = time.perf_counter()
                facts = cell.outcome_of(context, Cell(algorithm, size_bytes, None), 1).facts
                whole = time.perf_counter() - begun
                found.append((whole - sum(spent.values()), spent["timed"], facts.get("checks")))
            if comm.rank == 0:
                checks_s, timed_s, checked = (median(one[i] or 0 for one in found) for i in range(3))
                print(
                    json.dumps({"size_bytes": size_bytes, "algorithm": algorithm, "s": [checks_s, timed_s, checked]}),
                    flush=True,
                )


def measure_numbers(sizes: list[int], pairs: int) -> None:
    """The part of the ranks for the second table: rank 0 prints a line of JSON for each size and way to call."""
    from mpi4py import MPI

    from allreduce_bench.algorithms import builtin
    from allreduce_bench.executing import EXECUTORS, NATIVES, Place
    from allreduce_bench.executing.memory import PAGES
    from allreduce_bench.measuring.calls import Timing
    from allreduce_bench.measuring.repeat import Checks
    from allreduce_bench.measuring.schedules import compile_in_turns
    from allreduce_bench.measuring.sync import Barrier
    from allreduce_bench.schedule.algorithm import Topology

    comm = MPI.COMM_WORLD.Dup()
    node, sync = Topology.one_node(comm.size), Barrier(comm)
    compile_in_turns(comm, node, "float32")
    for size_bytes in sizes:
        count = size_bytes // 4
        steps = builtin()["ring"].schedule(comm.rank, comm.size, node, count, count)
        for name, bind in {
            "native from Python": lambda *bound: NATIVES["native"](*bound),
            "native@compiled": lambda *bound: NATIVES["native@compiled"](*bound),
            "ring from Python": lambda *bound, steps=steps: EXECUTORS["sendrecv"](steps, *bound),
            "ring@compiled": lambda *bound, steps=steps: EXECUTORS["compiled"](steps, *bound),
        }.items():
            sendbuf, recvbuf = PAGES.sendbuf(count, "float32"), PAGES.recvbuf(count, "float32")
            call = bind(sendbuf, recvbuf, comm, "sum")
            wait = comm.Barrier if comm.size > (os.cpu_count() or 1) else None  # as in a run
            checks = Checks(comm, "sum", 1, Place(call, sendbuf, recvbuf), wait)
            checks.renew()
            checks.start_numbers()
            plain = Timing(lambda call=call: call.run, loop=call.timed_calls)
            numbering, ratios = plain._replace(numbers=checks.numbers), []
            calls = max(4, min(200, (16 << 20) // size_bytes))
            for pair in range(-1, pairs):  # the first one is not counted
                medians_s = {}
                for timing in (plain, numbering) if pair % 2 else (numbering, plain):
                    entry, exit, _ = timing.batch(sync, calls)
                    slowest_s = np.empty(calls)
                    comm.Allreduce(exit - entry, slowest_s, MPI.MAX)
                    medians_s[timing.numbers is None] = float(np.median(slowest_s))
                ratios += [medians_s[False] / medians_s[True]] if pair >= 0 else []
            if comm.rank == 0:
                ordered, reach = sorted(ratios), 0.98 * len(ratios) ** 0.5
                low, high = (ordered[round(len(ratios) / 2 + sign * reach - 0.5)] for sign in (-1, 1))
                found = {
                    "size_bytes": size_bytes,
                    "way": name,
                    "factor": [median(ratios), low, high],
                    "s": medians_s[True],
                }
                print(json.dumps(found), flush=True)
            call.close()


def main() -> None:
    """Under mpirun the part of the ranks; else start them with every interpreter, or with this one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", default="8,16777216,268435456", help="bytes, of the first table")
    parser.add_argument("--numbered", default="8,1024,65536,1048576,16777216", help="bytes, of the second table")
    parser.add_argument("--pairs", type=int, default=100, help="of batches of the second table")
    parser.add_argument("--ranks-part", choices=["cells", "numbers"])
    options = parser.parse_args()
    sizes, numbered = ([int(size) for size in words.split(",") if size] for words in (options.sizes, options.numbered))
    if options.ranks_part == "cells":
        measure(sizes)
    elif options.ranks_part == "numbers":
        measure_numbers(numbered, options.pairs)
    else:
        passed = [table(Path(python), options, sizes, numbered) for python in options.interpreters or [sys.executable]]
        sys.exit(0 if all(passed) else 1)


def table(python: Path, options: argparse.Namespace, sizes: list[int], numbered: list[int]) -> bool:
    """Print both tables of an interpreter; whether no factor is shown to be above MOST."""
    where, passed = f"{python}, {options.ranks} ranks", True
    print(f"{where}, a cell of {CELL_TIME_S:g} s: seconds")
    for line in lines(python, options, "cells") if sizes else ():
        checks_s, timed_s, calls = line["s"]
        beside = f"beside {timed_s:8.4f} of timed calls"
        print(
            f"  {line['size_bytes']:>10} B {line['algorithm']:>8}: checks {checks_s:8.4f} {beside}, {calls:g} checked"
        )
    print(f"{where}: the median of calls with numbers over that of others [95 %]")
    for line in lines(python, options, "numbers") if numbered else ():
        factor, low, high = line["factor"]
        passed &= low <= MOST
        interval, of = f"[{low:.3f}, {high:.3f}]", f"{line['s'] * 1e6:.4g} us"
        print(f"  {line['size_bytes']:>10} B {line['way']:18}: {factor:.3f} {interval} of {of}", flush=True)
    return passed


def lines(python: Path, options: argparse.Namespace, part: str) -> Iterator[dict]:
    """What rank 0 printed of a part; ends the study where it failed."""
    program = [os.path.abspath(__file__), "--ranks-part", part, "--pairs", str(options.pairs)]
    program += ["--sizes", options.sizes, "--numbered", options.numbered]
    status, words = mpirun(python, options.ranks, *program, timeout_s=1800)
    if status:
        sys.exit(f"{python}: {words}")
    yield from map(json.loads, filter(lambda line: line.startswith("{"), words.splitlines()))


if __name__ == "__main__":
    main()

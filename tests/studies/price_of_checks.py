"""What does checking a cell cost? Seconds beside the timed calls at 8 B, 16 MiB and 256 MiB.

python tests/studies/price_of_checks.py [--ranks N] [--sizes 8,16777216] [PYTHON…]. A cell's checks are all that it does
but bind, prove, and time calls: inputs and results are made and compared, and calls are made that are not timed. Each
figure is the median over some cells of native and of ring, float32 sums; beside it the seconds of the timed calls. Two
states of the package are compared by PYTHONPATH.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from statistics import median

CELLS = 3
CELL_TIME_S = 0.5


def measure(sizes: list[int]) -> None:
    """The part of the ranks: whole cells as in a run; rank 0 prints a line of JSON for each size and algorithm."""
    from mpi4py import MPI

    from allreduce_bench.algorithms import builtin
    from allreduce_bench.measuring import cell, repeat
    from allreduce_bench.measuring.clock import Clock
    from allreduce_bench.measuring.context import Context
    from allreduce_bench.measuring.sync import Barrier
    from allreduce_bench.runs.plan import Cell, Launch, Plan
    from allreduce_bench.schedule.topology import Topology

    spent = {"timed": 0.0, "bound": 0.0}

    def clocked(function, name: str):
        def run(*arguments):
            begun = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent[name] += time.perf_counter() - begun

        return run

    repeat._timed, cell._bind = clocked(repeat._timed, "timed"), clocked(cell._bind, "bound")
    cell.proved_steps = clocked(cell.proved_steps, "bound")
    comm = MPI.COMM_WORLD.Dup()
    node = Topology.one_node(comm.size)
    plan = Plan(("ring",), (), (comm.size,), 1, seed=1, cell_time_s=CELL_TIME_S)
    common = (comm, plan, Launch(comm.size, 1), node, node, builtin(), None, None, lambda: None, {})
    context = Context(*common, Clock(comm, shared=True), Barrier(comm))
    for nbytes in sizes:
        for algorithm, executor in (("native", "native"), ("ring", "sendrecv")):
            found = []
            for _ in range(CELLS):
                spent.update(timed=0.0, bound=0.0)
                comm.Barrier()
                begun = time.perf_counter()
                facts = cell.outcome_of(context, Cell(algorithm, executor, nbytes // 4, None), 1).facts
                whole = time.perf_counter() - begun
                found.append((whole - sum(spent.values()), spent["timed"], facts.get("checks")))
            if comm.rank == 0:
                checks_s, timed_s, calls = (median(one[i] or 0 for one in found) for i in range(3))
                print(
                    json.dumps({"nbytes": nbytes, "algorithm": algorithm, "s": [checks_s, timed_s, calls]}), flush=True
                )


def main() -> None:
    """Under mpirun the part of the ranks; else start them with every interpreter, or with this one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", default="8,16777216,268435456", help="bytes")
    parser.add_argument("--ranks-part", action="store_true")
    options = parser.parse_args()
    if options.ranks_part:
        measure([int(size) for size in options.sizes.split(",")])
        return
    from rank_programs import mpirun

    for interpreter in options.interpreters or [sys.executable]:
        print(f"{interpreter}, {options.ranks} ranks, a cell of {CELL_TIME_S:g} s: seconds")
        program = [os.path.abspath(__file__), "--ranks-part", "--sizes", options.sizes]
        status, words = mpirun(Path(interpreter), options.ranks, *program, timeout_s=1800)
        for line in map(json.loads, filter(lambda line: line.startswith("{"), words.splitlines())):
            checks_s, timed_s, calls = line["s"]
            beside = f"beside {timed_s:8.4f} of timed calls"
            print(
                f"  {line['nbytes']:>10} B {line['algorithm']:>8}: checks {checks_s:8.4f} {beside}, {calls:g} checked"
            )
        if status:
            sys.exit(f"{interpreter}: {words}")


if __name__ == "__main__":
    main()

"""What everything costs that is not the network: figures that only make sense side by side, one line each.

Under mpirun (with `--ranks-part`) it measures; otherwise it starts mpirun with every interpreter named, at every thread
level. All figures of one line come from one launch, in turns. Nothing is asserted: machines differ.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import filecalls

ENOUGH_S = 1.0
DEFINED = {"4 B": 1, "4 KiB": 1 << 10, "64 KiB": 1 << 14, "1 MiB": 1 << 18, "16 MiB": 1 << 22}  # float32 elements
BLOCKS, BLOCK_S = 20, 0.05  # of the suite's calls, and as many of a plain loop between them
COUNTS = {"4 B": (1, 2000), "16 MiB": (1 << 22, 11)}  # float32 elements, calls
COLD_SIZES = "8,4K,64K,256K,1M,16M"
COLD_COLUMNS = {"native": "time_s", "copy": "copy_floor_s", "reduction": "reduce_floor_s", "no call": "call_floor_s"}
ASK = (
    "import sys; from allreduce_bench.launching.find import find_launcher, mpirun_command; "
    "from allreduce_bench.runs.start import Start; launcher = find_launcher(); "
    "print(launcher.library, *mpirun_command(launcher, int(sys.argv[1]), Start(), sys.argv[2:]), sep='\\0')"
)
BARE = "from mpi4py import MPI; import numpy as n; a = n.ones(1); MPI.COMM_WORLD.Allreduce(a, a.copy())"


def measure_ratios() -> None:
    """Time native, the schedule's ring and the plain ring in turns on the ranks that were started."""
    import numpy as np
    from mpi4py import MPI
    from plain_ring import plain_ring

    from allreduce_bench.algorithms import builtin
    from allreduce_bench.executing.native import native
    from allreduce_bench.executing.sendrecv import sendrecv
    from allreduce_bench.schedule.algorithm import Topology
    from allreduce_bench.watching.lifeline import MONITOR_VARIABLE
    from allreduce_bench.watching.watch import Watch

    watched = os.environ.get(MONITOR_VARIABLE)
    watch = Watch(watched, MPI.COMM_WORLD.rank) if watched else None
    comm = MPI.COMM_WORLD.Dup()
    levels = ("single", "funneled", "serialized", "multiple")
    for label, (count, calls) in COUNTS.items():
        send, recv = np.ones(count, "f"), np.empty(count, "f")
        steps = list(builtin()["ring"].steps(comm.rank, comm.size, Topology.one_node(comm.size), count, count))
        rivals = {
            "native": native(send, recv, comm, "sum").run,
            "ring": sendrecv(steps, send, recv, comm, "sum").run,
            "plain ring": lambda send=send: plain_ring(send, comm),
        }
        times: dict[str, list[float]] = {name: [] for name in rivals}
        for turn in range(calls + 3):
            if turn > 8 and sum(map(sum, times.values())) > ENOUGH_S:  # the same on all ranks
                break
            for name, run in rivals.items():
                comm.Barrier()
                entry = time.perf_counter()
                run()
                times[name].append(comm.allreduce(time.perf_counter() - entry, MPI.MAX))
        if comm.rank == 0:
            middle = {name: median(values[3:]) * 1e6 for name, values in times.items()}
            level = levels[MPI.Query_thread()] + (", watched" if watched else "")
            print(level, label, *(f"{name}={value:.2f}" for name, value in middle.items()), sep="\t")
    if watch:
        watch.close()


def measure_definition() -> None:
    """The suite's native all-reduce against a plain mpi4py loop of the same definition, blocks of both in turns."""
    import numpy as np
    from mpi4py import MPI

    from allreduce_bench.executing.native import native
    from allreduce_bench.measuring.budget import Budget
    from allreduce_bench.measuring.clock import Clock
    from allreduce_bench.measuring.repeat import repeat
    from allreduce_bench.measuring.sync import Barrier

    comm = MPI.COMM_WORLD.Dup()
    clock, sync = Clock(comm), Barrier(comm)
    for label, count in DEFINED.items():
        send, recv = np.ones(count, "f"), np.empty(count, "f")
        run = native(send, recv, comm, "sum").run
        messages = [[MPI.buffer(array), count, MPI.FLOAT] for array in (send, recv)]
        plain: list[float] = []
        arrays: list[float] = []
        suite: list[float] = []
        call_s = comm.bcast(median(plain_loop(comm, *messages, 5)))
        calls = max(3, min(1000, int(BLOCK_S / call_s)))
        for _ in range(BLOCKS):
            suite += repeat(lambda run=run: run, comm, Budget(1, calls, BLOCK_S), sync, clock).valid_s()
            plain += plain_loop(comm, *messages, calls + 1)[1:]
            arrays += plain_loop(comm, send, recv, calls + 1)[1:]
        if comm.rank == 0:
            suite_us, plain_us, arrays_us = (median(times) * 1e6 for times in (suite, plain, arrays))
            figures = f"suite {suite_us:9.2f}   plain loop {plain_us:9.2f}   ratio {suite_us / plain_us:.3f}"
            print(f"{label:>8}  {figures}   (plain loop of bare arrays {arrays_us:9.2f})")


def plain_loop(comm, send, recv, calls: int) -> list[float]:
    """What anybody would write: a barrier, the clock, the call, the clock; the maximum over ranks, in seconds."""
    import numpy as np
    from mpi4py import MPI

    times = np.empty(calls)
    for call in range(calls):
        comm.Barrier()
        entry = time.perf_counter()
        comm.Allreduce(send, recv)
        times[call] = time.perf_counter() - entry
    comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    return times.tolist()


def start_everything(interpreters: list[str]) -> None:
    """Start the ranks with every interpreter at every thread level; print the tables."""
    for interpreter in interpreters:
        for ranks in (2, 4):
            library, command = mpirun_of(interpreter, ranks, [interpreter, __file__, "--ranks-part"])
            with watched_by(ranks) as variables:
                texts = [output(command, "single"), output(command, "single", variables), output(command, "multiple")]
            lines = [line for text in texts for line in text.splitlines()]
            print_ratios(f"{library}, {ranks} ranks", lines)
        warm_and_cold(interpreter)
        library, command = mpirun_of(interpreter, 2, [interpreter, __file__, "--definition-part"])
        print(
            f"\n{library}, 2 ranks: native as the suite times it and as a plain mpi4py loop does, in turns, median, us"
        )
        print(output(command, "single"), end="")
        start_of_ranks(interpreter)
        if shutil.which("strace"):
            filecalls.main([interpreter])
        else:
            print("file-system calls of a rank's start: not counted, strace is not installed")


def print_ratios(title: str, lines: list[str]) -> None:
    """One table: all figures over native's best at that size."""
    rows = []
    for line in lines:
        level, label, *fields = line.split("\t")
        rows.append((label, level, {name: float(value) for name, value in (field.split("=") for field in fields)}))
    print(f"\n{title}: maximum over ranks, median, us; in brackets the ratio to native at its best thread level")
    for label, level, figures in sorted(rows, key=lambda row: (list(COUNTS).index(row[0]), row[1])):
        best = min(other["native"] for size, _, other in rows if size == label)
        cells = [f"{name} {value:9.2f} ({value / best:5.2f})" for name, value in figures.items()]
        print(f"  {label:>7}  thread {level:<15} " + "   ".join(cells))


def mpirun_of(interpreter: str, ranks: int, program: list[str]) -> tuple[str, list[str]]:
    """The MPI library of `interpreter`, and the command that starts `program` with it."""
    answer = subprocess.run([interpreter, "-c", ASK, str(ranks), *program], capture_output=True, text=True, check=True)
    library, *command = answer.stdout.rstrip("\n").split("\0")
    return library, command


@contextmanager
def watched_by(ranks: int):
    """The variable that tells ranks where a monitor listens, as in every run: to be seen in no time."""
    from allreduce_bench.launching.supervisor import Supervisor
    from allreduce_bench.watching.lifeline import MONITOR_VARIABLE

    monitor = Supervisor(ranks, 60.0, local=True)
    yield {MONITOR_VARIABLE: monitor.address([])}
    monitor.close()


def output(command: list[str], level: str, variables: dict[str, str] | None = None) -> str:
    """What `command` prints when its ranks ask for this thread level, with further variables."""
    environ = {**os.environ, **(variables or {}), "MPI4PY_RC_THREAD_LEVEL": level}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=600).stdout


def warm_and_cold(interpreter: str) -> None:
    """Native and the floors on two ranks with a warm and with a cold cache, in launches that alternate."""
    words = ["-n", "2", "--sizes", COLD_SIZES, "-a", "native", "--iters", "50", "--launches", "3"]
    words += ["--against", "--cache cold"]
    with tempfile.TemporaryDirectory() as folder:
        command = [interpreter, "-m", "allreduce_bench", "run", *words, "-o", f"{folder}/P"]
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        texts = [Path(folder, "P", name, "summary.csv").read_text() for name in "ab"]
    both = [{row["size_bytes"]: row for row in csv.DictReader(text.splitlines())} for text in texts]
    print("\nnative and the floors, 2 ranks, us: warm, cold, ratio")
    for size_bytes in both[0]:
        pairs = []
        for name, column in COLD_COLUMNS.items():
            warm, cold = (float(rows[size_bytes][column]) * 1e6 for rows in both)
            pairs.append(f"{name} {warm:8.2f} {cold:8.2f} ({cold / warm:5.2f})")
        print(f"  {int(size_bytes):>8} B  " + "   ".join(pairs))


def start_of_ranks(interpreter: str) -> None:
    """Eight ranks, one tiny cell: the suite against a bare program, in turns."""
    library, bare = mpirun_of(interpreter, 8, [interpreter, "-c", BARE])
    cell = [interpreter, "-m", "allreduce_bench", "run", "--sizes", "8", "-a", "ring", "-o"]
    times: dict[str, list[float]] = {"bare": [], "suite": []}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(8):
            suite = mpirun_of(interpreter, 8, [*cell, f"{folder}/{turn}"])[1]
            for name, command in (("bare", bare), ("suite", suite)):
                start = time.perf_counter()
                output(command, "multiple")
                times[name].append(time.perf_counter() - start)
    middle = {name: median(values[1:]) for name, values in times.items()}
    ratio = median(a / b for a, b in zip(times["suite"][1:], times["bare"][1:]))
    print(f"\n{library}, 8 ranks, start to end, s: bare {middle['bare']:.2f}, cell {middle['suite']:.2f} ({ratio:.2f})")


def main() -> None:
    """Under mpirun the part of the ranks; else start them with every interpreter, or with this one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath)
    parser.add_argument("--ranks-part", action="store_true")
    parser.add_argument("--definition-part", action="store_true")
    arguments = parser.parse_args()
    if arguments.ranks_part:
        measure_ratios()
    elif arguments.definition_part:
        measure_definition()
    else:
        start_everything(arguments.interpreters or [sys.executable])


if __name__ == "__main__":
    main()

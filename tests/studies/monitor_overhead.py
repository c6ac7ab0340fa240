"""What does StepMonitor cost? Steps of 10 ms on two ranks, with and without it in turns, in the same processes.

Under mpirun (with `--ranks-part`) it measures; otherwise it starts mpirun with every interpreter named. A step sleeps,
as if another device worked, then comes an all-reduce; the monitor writes its log. Printed are the time of a
step with it over the time without (the median of pairs of blocks, and their quartiles), and the processor time of its
two calls and of its threads. The promise is that both together take at most 1 % of a step of 10 ms on the rank where
they take most, as if the threads had no core of their own. Other processes stretch that time; a quiet machine tells.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter, process_time, sleep, thread_time

import numpy as np

STEP_S, PROMISE = 0.010, 0.01
PAIRS, STEPS = 20, 300
ASK = (
    "import sys; from allreduce_bench.launching.find import find_launcher, mpirun_command; "
    "from allreduce_bench.runs.start import Start; launcher = find_launcher(); "
    "print(launcher.library, *mpirun_command(launcher, int(sys.argv[1]), Start(), sys.argv[2:]), sep='\\0')"
)


def measure(pairs: int) -> None:
    """Blocks of steps in turns on the ranks that were started; rank 0 prints a line."""
    from mpi4py import MPI

    from allreduce_bench import StepMonitor

    comm = MPI.COMM_WORLD
    send, receive = np.ones(1000), np.empty(1000)

    def block(step: StepMonitor | None) -> tuple[float, float, float]:
        """Seconds a step: of all; of processor time in the monitor's calls, and in other threads."""
        inside_s = 0.0
        comm.Barrier()
        begun, others_s = perf_counter(), process_time() - thread_time()
        for _ in range(STEPS):
            sleep(STEP_S)
            called = thread_time()
            if step is not None:
                step.ready()
            inside_s += thread_time() - called
            comm.Allreduce(send, receive)
            called = thread_time()
            if step is not None:
                step()
            inside_s += thread_time() - called
        others_s = process_time() - thread_time() - others_s
        return (perf_counter() - begun) / STEPS, inside_s / STEPS, others_s / STEPS

    found = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "steps.jsonl"
        for pair in range(pairs):
            times = {}
            for is_watched in (True, False) if pair % 2 else (False, True):
                with StepMonitor(comm, log=log) if is_watched else nullcontext() as step:
                    times[is_watched] = block(step)
            found.append((times[True], times[False]))
    with_it, without = np.array(found).transpose(1, 2, 0)  # float64 [figure, pair]
    shares = [float(np.median(extra)) / STEP_S for extra in with_it[1:] - without[1:]]
    costs = comm.gather(tuple(shares))
    if comm.rank == 0:
        low, middle, high = np.quantile(with_it[0] / without[0], (0.25, 0.5, 0.75))
        calls, threads = max(costs, key=sum)
        print(
            f"{comm.size} ranks, steps of {np.median(without[0]) * 1e3:.2f} ms: with StepMonitor {middle:.4f} times as "
            f"long (quartiles {low:.4f} to {high:.4f}); processor time as share of 10 ms: {calls:.2%} in its calls, "
            f"{threads:.2%} in its threads: {'kept' if calls + threads <= PROMISE else 'not kept'}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("interpreters", nargs="*", default=[sys.executable], help="of one MPI each")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"of blocks of {STEPS} steps")
    parser.add_argument("--ranks-part", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ranks_part:
        measure(given.pairs)
        return 0
    kept = True
    print(f"load average {os.getloadavg()[0]:.1f}")
    for python in given.interpreters:
        words = [python, __file__, "--ranks-part", "--pairs", str(given.pairs)]
        question = [python, "-c", ASK, str(given.ranks), *words]
        library, *command = (
            subprocess.run(question, capture_output=True, text=True, check=True).stdout.strip().split("\0")
        )
        answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        print(f"{library}: {answer or 'no answer'}", flush=True)
        kept &= answer.endswith(": kept")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

"""What does StepMonitor cost? Steps of 10 ms on two ranks, with and without it in turns, in the same processes.

Under mpirun (with `--ranks-part`) it measures; otherwise it starts mpirun with every interpreter named. A step is work
of a fixed amount, then an all-reduce; the monitor writes both of its files. Printed are the time of a step with it over
the time without (the median of pairs of blocks, and their quartiles), which holds the noise of the machine, and the
processor time a step of its two calls and of its threads, which does not. The promise is 1 % of a step for both
together on the rank where they take most, as if the threads had no core of their own.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time, thread_time

import numpy as np

STEP_S, PROMISE = 0.010, 0.01
PAIRS, STEPS = 20, 100
ASK = (
    "import sys; from allreduce_bench.launching.find import find_launcher, mpirun_command; "
    "from allreduce_bench.runs.start import Start; launcher = find_launcher(); "
    "print(launcher.library, *mpirun_command(launcher, int(sys.argv[1]), Start(), sys.argv[2:]), sep='\\0')"
)


class Work:
    """An amount of work that takes about STEP_S on the quiet machine."""

    def __init__(self) -> None:
        self.values, self.turns = np.random.default_rng(1).random(10_000), 1
        while (took_s := min(self._timed() for _ in range(3))) < STEP_S:
            self.turns = max(self.turns + 1, int(self.turns * STEP_S / took_s))

    def __call__(self) -> None:
        for _ in range(self.turns):
            np.sin(self.values)

    def _timed(self) -> float:
        begun = perf_counter()
        self()
        return perf_counter() - begun


def measure(pairs: int) -> None:
    """Blocks of steps in turns on the ranks that were started; rank 0 prints a line."""
    from mpi4py import MPI

    from allreduce_bench import StepMonitor

    comm, work = MPI.COMM_WORLD, Work()
    work.turns = comm.bcast(work.turns)
    send, receive = np.ones(1000), np.empty(1000)

    def block(step: StepMonitor | None) -> tuple[float, float, float]:
        """Seconds a step: of all, of processor time in the monitor's calls, and in threads besides this one."""
        inside_s = 0.0
        comm.Barrier()
        begun, others_s = perf_counter(), process_time() - thread_time()
        for _ in range(STEPS):
            work()
            if step is not None:
                called = thread_time()
                step.ready()
                inside_s += thread_time() - called
            comm.Allreduce(send, receive)
            if step is not None:
                called = thread_time()
                step()
                inside_s += thread_time() - called
        ended = perf_counter()
        return (ended - begun) / STEPS, inside_s / STEPS, (process_time() - thread_time() - others_s) / STEPS

    found = []
    with tempfile.TemporaryDirectory() as folder:
        files = {"log": Path(folder) / "steps.jsonl", "textfile": Path(folder) / "allreduce_bench.prom"}
        for pair in range(pairs):
            times: dict[bool, tuple[float, float, float]] = {}
            for is_watched in (True, False) if pair % 2 else (False, True):
                if is_watched:
                    with StepMonitor(comm, every=10, **files) as step:
                        times[True] = block(step)
                else:
                    times[False] = block(None)
            threads_s = max(0.0, times[True][2] - times[False][2])
            found.append((times[True][0] / times[False][0], times[True][1], threads_s, times[False][0]))
    ratios, inside_s, threads_s, step_s = np.array(found).T
    costs = comm.gather((float(np.median(inside_s)), float(np.median(threads_s))))
    if comm.rank == 0:
        low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
        calls_us, threads_us = (1e6 * cost_s for cost_s in max(costs, key=sum))
        share = (calls_us + threads_us) / 1e6 / STEP_S
        print(
            f"{comm.size} ranks, steps of {np.median(step_s) * 1e3:.2f} ms: with StepMonitor {middle:.4f} times as "
            f"long (quartiles {low:.4f} to {high:.4f}); processor time of a step: {calls_us:.0f} us in its calls, "
            f"{threads_us:.0f} us in its threads, {share:.2%} of 10 ms: {'kept' if share <= PROMISE else 'not kept'}"
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

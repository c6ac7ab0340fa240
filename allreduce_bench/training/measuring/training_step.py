"""`python -m allreduce_bench.training.measuring.training_step FILE`: measures steps of a training; JSON from rank 0.

FILE has the JSON of a `Request`; rank 0 reads it. A step computes (calibrated spinning, or sleep), and all-reduces each
bucket in a thread as soon as the computation before it has ended. Alternating with the steps the computation and the
all-reduces are measured alone.
"""

import json
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ...executing import Unsupported
from ...runs.dtypes import DtypeError, teach_numpy
from ...schedule.algorithm import AlgorithmError
from .gradients import Bucket, Stream, make_ready
from .request import BUCKET, SLEEP, Request

# Units of computation, and how long one takes
SPIN_ELEMENTS = 16384  # 64 KiB stay in a cache
CALIBRATION_S, BATCHES = 0.02, 5
SLEEPS, SLEEP_S = 20, 5e-4  # tried for calibration, and how long each


class Work:
    """Computation of so many seconds as it takes alone: the same amount on every rank, however long it then takes.

    A step is cut into many short parts; parts below the granularity are carried over to the next.
    """

    def __init__(self, kind: str, comm: MPI.Comm):
        self.unit = None if kind == SLEEP else _spin_unit()
        self.unit_s = comm.allreduce(_calibrate(self.unit), MPI.MAX) if self.unit else _lateness_s()
        self.owed_s = 0.0

    def do(self, time_s: float) -> None:
        """Compute."""
        self.owed_s += time_s
        if self.unit is None:
            self._sleep()
        else:
            self._spin(self.unit)

    def _sleep(self) -> None:
        """Sleep, shortened by the known overrun of sleeps."""
        if self.owed_s > self.unit_s:
            time_s, self.owed_s = self.owed_s - self.unit_s, 0.0
            sleep(time_s)

    def _spin(self, unit: Callable[[], object]) -> None:
        units = int(self.owed_s / self.unit_s)
        self.owed_s -= units * self.unit_s
        for _ in range(units):
            unit()


class Step(NamedTuple):
    """The events of a step on one rank, seconds from its beginning."""

    step_s: float
    phases: list[tuple[str, float, float]]
    transfers: list[tuple[float, float, float]]  # ready, beginning, end

    @property
    def compute_s(self) -> float:
        """Time of its computation."""
        return sum(end - start for _, start, end in self.phases)


def one_step(actions: Sequence[tuple[str, float]], work: Work, stream: Stream | None = None) -> Step:
    """Run one step of this rank; without a stream its computation alone."""
    begun = perf_counter()
    phases: list[tuple[str, float, float]] = []
    ready: list[float] = []
    for kind, time_s in actions:
        start = perf_counter() - begun
        if kind == BUCKET:
            ready.append(start)
            if stream:
                stream.post(len(ready) - 1)
        else:
            work.do(time_s)
            phases.append((kind, start, perf_counter() - begun))
    if not stream:
        return Step(perf_counter() - begun, phases, [])
    stream.wait()
    step_s = perf_counter() - begun
    sent = [(ready[one.bucket], one.start - begun, one.end - begun) for one in stream.spans]
    return Step(step_s, phases, sent)


def time_alone(buckets: Iterable[Bucket]) -> list[float]:
    """Return the times of the all-reduces without any computation, one by one."""
    times_s = []
    for bucket in buckets:
        begun = perf_counter()
        bucket.call.run()
        times_s.append(perf_counter() - begun)
    return times_s


def _spin_unit() -> Callable[[], object]:
    """Return a unit of computation: microseconds of arithmetic that releases the GIL in between."""
    values, ones = np.zeros(SPIN_ELEMENTS, np.float32), np.ones(SPIN_ELEMENTS, np.float32)
    return lambda: np.add(values, ones, values)


def _calibrate(unit: Callable[[], object]) -> float:
    """Return the seconds of a unit: the median of batches."""
    times_s = []
    for _ in range(BATCHES):
        begun, units = perf_counter(), 0
        while perf_counter() - begun < CALIBRATION_S:
            unit()
            units += 1
        times_s.append((perf_counter() - begun) / units)
    return median(times_s)


def _lateness_s() -> float:
    """Return the least overrun of a sleep."""
    late_s = []
    for _ in range(SLEEPS):
        end = perf_counter() + SLEEP_S
        sleep(SLEEP_S)
        late_s.append(perf_counter() - end)
    return max(0.0, min(late_s))


def measure_steps(request: Request, comm: MPI.Comm) -> dict[str, Any]:
    """Return the steps: see `main`. Raises Unsupported, for wrong results, too, AlgorithmError, DtypeError."""
    teach_numpy(request.dtype)
    make_ready(request, comm)
    buckets = [Bucket(request, count, comm) for count in request.counts]
    work = Work(request.work, comm)
    kept: dict[str, Any] = {"compute_alone_s": [], "alone_s": [], "steps": []}
    for number in range(1 + request.steps):  # the first one warms up
        computed = _act_together(comm, lambda: one_step(request.actions, work))
        times_s = _act_together(comm, lambda: time_alone(buckets))
        for bucket in buckets:
            bucket.recvbuf.fill(0)
        steps = _act_together(comm, lambda: one_step(request.actions, work, Stream(buckets)))
        if wrong := comm.allreduce(sum(bucket.is_wrong for bucket in buckets)):
            raise Unsupported(f"{wrong} of the vectors of all ranks have wrong results")
        if number and comm.rank == 0:
            kept["compute_alone_s"].append(max(step.step_s for step in computed))
            kept["alone_s"].append([max(times) for times in zip(*times_s)])
            slowest = max(steps, key=lambda step: step.step_s)
            kept["steps"].append({**slowest._asdict(), "compute_s": max(step.compute_s for step in steps)})
    for bucket in buckets:
        bucket.call.close()
    return kept


def _act_together(comm: MPI.Comm, act: Callable[[], Any]) -> list[Any]:
    """Run `act` on all ranks after a barrier, and gather its results on rank 0; elsewhere empty."""
    comm.Barrier()
    return comm.gather(act()) or []


def main() -> None:
    """Print `{"compute_alone_s": [...], "alone_s": [[...]], "steps": [...]}`.

    Else `{"refused": reason}`. Of each turn: the computation alone and each all-reduce alone, as maxima over ranks; the
    step of the rank that took longest, with the maximum of the computation over ranks.
    """
    comm = MPI.COMM_WORLD.Dup()
    try:
        asked = comm.bcast(Path(sys.argv[1]).read_text(encoding="utf-8") if comm.rank == 0 else None)
        kept = measure_steps(Request(**json.loads(asked)), comm)
    except (Unsupported, AlgorithmError, DtypeError) as error:
        kept = {"refused": str(error)}
    except Exception:  # of one rank, for which the others would wait for ever
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
    if comm.rank == 0:
        print(json.dumps(kept), flush=True)


if __name__ == "__main__":
    main()

"""The computation of a training step: calibrated spinning, a matrix product, or sleep."""

from collections.abc import Callable
from statistics import median
from time import perf_counter, sleep

import numpy as np
from mpi4py import MPI

SPIN_ELEMENTS, MATRIX = 16384, 64  # 64 KiB stay in a cache; a product of this size has one thread in every BLAS
CALIBRATION_S, BATCHES = 0.02, 5
SLICE_S = 5e-4  # between two calls of what is done beside it, and of a sleep
SLEEPS = 20  # that are tried


class Work:
    """Computation of so many seconds as it takes alone: the same amount on every rank, however long it then takes.

    A step is cut into many short parts; what is too short to be computed by itself comes with the next part.
    """

    def __init__(self, kind: str, comm: MPI.Comm):
        self.unit = None if kind == "sleep" else _unit(kind)
        self.unit_s = comm.allreduce(_calibrated(self.unit), MPI.MAX) if self.unit else _lateness_s()
        self.owed_s = 0.0

    def do(self, time_s: float, poke: Callable[[], object] | None = None) -> None:
        """Compute; `poke` is called about every SLICE_S."""
        self.owed_s += time_s
        if self.unit is None:
            self._sleep(poke)
        else:
            self._spin(self.unit, poke)

    def _sleep(self, poke: Callable[[], object] | None) -> None:
        """A sleep is ordered as much too short as it is known to end too late."""
        if self.owed_s <= self.unit_s:
            return
        end, self.owed_s = perf_counter() + self.owed_s, 0.0
        while poke and end - perf_counter() > SLICE_S:
            sleep(SLICE_S)
            poke()
        sleep(max(0.0, end - perf_counter() - self.unit_s))

    def _spin(self, unit: Callable[[], object], poke: Callable[[], object] | None) -> None:
        units = int(self.owed_s / self.unit_s)
        self.owed_s -= units * self.unit_s
        stride = max(1, round(SLICE_S / self.unit_s)) if poke else units or 1
        for start in range(0, units, stride):
            for _ in range(min(stride, units - start)):
                unit()
            if poke:
                poke()


def _unit(kind: str) -> Callable[[], object]:
    """A few microseconds of arithmetic, in which other threads of Python may run."""
    if kind == "matmul":
        left, right, out = (np.ones((MATRIX, MATRIX), np.float32) for _ in range(3))
        return lambda: np.matmul(left, right, out)
    values, ones = np.zeros(SPIN_ELEMENTS, np.float32), np.ones(SPIN_ELEMENTS, np.float32)
    return lambda: np.add(values, ones, values)


def _calibrated(unit: Callable[[], object]) -> float:
    """Seconds of a unit: the median of batches."""
    times_s = []
    for _ in range(BATCHES):
        begun, units = perf_counter(), 0
        while perf_counter() - begun < CALIBRATION_S:
            unit()
            units += 1
        times_s.append((perf_counter() - begun) / units)
    return median(times_s)


def _lateness_s() -> float:
    """By how much a sleep ends too late at least."""
    late_s = []
    for _ in range(SLEEPS):
        end = perf_counter() + SLICE_S
        sleep(SLICE_S)
        late_s.append(perf_counter() - end)
    return max(0.0, min(late_s))

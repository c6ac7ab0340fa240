"""A launch whose all-reduces break what their schedules promise of the bits of sums.

Only calls that compare bits are wrong: of a check and of a timed call the result is known.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from unittest.mock import patch

import numpy as np
from measured_launch import measure
from mpi4py import MPI

from allreduce_bench.measuring import same_bits


def on_one_rank(comm: MPI.Comm, path: Path, name: str) -> tuple[int, str]:
    """Measure with other bits on rank 1."""
    return _measure(comm, path, name, lambda call: comm.rank == 1)


def in_one_call(comm: MPI.Comm, path: Path, name: str) -> tuple[int, str]:
    """Measure with other bits in the third call."""
    return _measure(comm, path, name, lambda call: call == 3)


def _measure(comm: MPI.Comm, path: Path, name: str, is_wrong: Callable[[int], bool]) -> tuple[int, str]:
    sound, calls = same_bits._fingerprint_of_call, count(1)

    def fingerprint_of_call(run: Callable[[], object], recvbuf: np.ndarray, op: str) -> str:
        def run_wrong() -> None:
            run()
            if is_wrong(next(calls)):
                recvbuf[0] = np.nextafter(recvbuf[0], np.float32(99))

        return sound(run_wrong, recvbuf, op)

    with patch.object(same_bits, "_fingerprint_of_call", fingerprint_of_call):
        return measure(comm, path, name)

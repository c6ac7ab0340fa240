"""The Python interpreters whose MPI the tests use: this one, and those in ALLREDUCE_BENCH_PYTHONS (colon-separated)."""

import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

FULL = bool(os.environ.get("ALLREDUCE_BENCH_FULL"))  # the whole matrix of cases; else they are sampled
ASK = "from allreduce_bench.launching.find import find_launcher; print(find_launcher().library)"


@lru_cache(maxsize=1)
def interpreters() -> list[Path]:
    """Those that find an MPI. Raises RuntimeError for one that was named but finds none."""
    named = [Path(word) for word in os.environ.get("ALLREDUCE_BENCH_PYTHONS", "").split(os.pathsep) if word]
    for python in named:
        if not _has_mpi(python):
            raise RuntimeError(f"ALLREDUCE_BENCH_PYTHONS: {python} finds no MPI")
    own = Path(sys.executable)
    return ([own] if _has_mpi(own) else []) + named


def _has_mpi(python: Path) -> bool:
    return subprocess.run([str(python), "-c", ASK], capture_output=True, check=False).returncode == 0


def in_turn(number: int, python: Path) -> None:
    """Skip the test unless case `number` is the turn of this interpreter's MPI: the MPIs take turns, but in FULL."""
    if not FULL and number % len(interpreters()) != interpreters().index(python):
        pytest.skip("the turn of another MPI; ALLREDUCE_BENCH_FULL=1 has all")

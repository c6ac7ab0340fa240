"""The Python interpreters whose MPI the tests use: this one, and those in ALLREDUCE_BENCH_PYTHONS (colon-separated).

On the MPI of ALLREDUCE_BENCH_SAMPLED_PYTHON only launching/test_third_mpi.py runs.
"""

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
    named = [Path(path) for path in os.environ.get("ALLREDUCE_BENCH_PYTHONS", "").split(os.pathsep) if path]
    candidates = [Path(sys.executable), *named]
    questions = [_ask(python) for python in candidates]  # at the same time: every collection waits for them
    has_mpi = [question.wait() == 0 for question in questions]
    for python, answer in zip(named, has_mpi[1:]):
        if not answer:
            raise RuntimeError(f"ALLREDUCE_BENCH_PYTHONS: {python} finds no MPI")
    return [python for python, answer in zip(candidates, has_mpi) if answer]


@lru_cache(maxsize=1)
def sampled() -> Path | None:
    """The interpreter whose MPI is sampled only; None: none is named, or it finds no MPI."""
    named = os.environ.get("ALLREDUCE_BENCH_SAMPLED_PYTHON")
    return Path(named) if named and Path(named).exists() and _ask(Path(named)).wait() == 0 else None


def _ask(python: Path) -> subprocess.Popen:
    """The process that ends with status 0 where the interpreter finds an MPI."""
    return subprocess.Popen([str(python), "-c", ASK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def in_turn(number: int, python: Path) -> None:
    """Skip the test unless case `number` is the turn of this interpreter's MPI: the MPIs take turns, but in FULL."""
    if not FULL and number % len(interpreters()) != interpreters().index(python):
        pytest.skip("the turn of another MPI; ALLREDUCE_BENCH_FULL=1 has all")

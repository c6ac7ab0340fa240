"""The Python interpreters whose MPI the tests use: this one, and those in ALLREDUCE_BENCH_PYTHONS (colon-separated).

Intel MPI has the contract tests only.
"""

import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

FULL = bool(os.environ.get("ALLREDUCE_BENCH_FULL"))  # the whole matrix of cases; else they are sampled
ASK = "from allreduce_bench.launching.find import find_launcher; print(find_launcher().library.rpartition(' ')[0])"
MARKS = {"MPICH": pytest.mark.mpich, "Intel MPI": pytest.mark.intel}


@lru_cache(maxsize=1)
def answers() -> dict[Path, str]:
    """Interpreter -> name of its MPI library; empty where it finds none."""
    named = [Path(path) for path in os.environ.get("ALLREDUCE_BENCH_PYTHONS", "").split(os.pathsep) if path]
    candidates = [Path(sys.executable), *filter(Path.exists, named)]
    questions = [_ask(python) for python in candidates]  # at the same time: every collection waits for them
    return {python: question.communicate()[0].strip() for python, question in zip(candidates, questions)} | {
        python: "" for python in named if not python.exists()
    }


def libraries() -> dict[Path, str]:
    """Interpreter -> name of its MPI library, of those that find one."""
    return {python: library for python, library in answers().items() if library}


def interpreters() -> list[Path]:
    """The interpreters of most tests over MPI: all but Intel MPI's, unless it runs the tests."""
    found = libraries()
    return [python for python in found if found[python] != "Intel MPI" or python == Path(sys.executable)]


def _ask(python: Path) -> subprocess.Popen:
    """The process that prints the MPI library of the interpreter, or nothing."""
    return subprocess.Popen([str(python), "-c", ASK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def contract(function):
    """A test of what every MPI library must do, with one case for each interpreter (`python`)."""
    over_all = pytest.mark.parametrize("python", list(libraries()), ids=lambda path: path.parent.parent.name)
    return pytest.mark.contract(over_all(function))


def mark_of(python: Path | None) -> pytest.MarkDecorator | None:
    """The mark of a test over this interpreter's MPI; None for the one that runs the tests, and for no interpreter."""
    return None if python in (None, Path(sys.executable)) else MARKS.get(libraries().get(python, ""))


def in_turn(number: int, python: Path) -> None:
    """Skip the test unless case `number` is the turn of this interpreter's MPI: those that are named take turns."""
    if number % len(interpreters()) != interpreters().index(python):
        pytest.skip("the turn of another MPI")

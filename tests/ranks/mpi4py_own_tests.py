"""Runs mpi4py's own tests, with its communicators as they are or wrapped. Run it with

    mpirun -n 2 python mpi4py_own_tests.py FOLDER plain|wrapped FILE…

FOLDER is `test` of mpi4py's source distribution, FILE the name of a module there. Rank 0 prints JSON: `tests`, the
outcome of each test on each rank, and `reduced`, how many calls of `Allreduce` our algorithms made.
"""

import json
import os
import sys
import unittest

from mpi4py import MPI

from allreduce_bench import wrap
from allreduce_bench.programs.settling import Settling

WORLD = MPI.Intracomm(MPI.COMM_WORLD)
reduced = 0


class Outcomes(unittest.TestResult):
    """The outcome of each test by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        """It passes, unless something else is said of it."""
        super().startTest(test)
        self.found[test.id()] = "passed"

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """Skipped."""
        self.found[test.id()] = "skipped"

    def addError(self, test: unittest.TestCase, error: tuple) -> None:
        """An exception, which is shown."""
        self.found[test.id()] = f"error: {self._exc_info_to_string(error, test).strip().splitlines()[-1]}"

    addFailure = addError

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, error: tuple | None) -> None:
        """A part of a test that failed."""
        if error is not None:
            self.addError(test, error)


def wrapped(comm: MPI.Intracomm) -> MPI.Intracomm:
    """By the algorithms that `auto` tries, with the executor that starts at once."""
    return wrap(comm, executor="sendrecv")


def wrap_all() -> None:
    """The communicators of mpi4py, and those that a test makes for itself before it begins."""
    MPI.COMM_WORLD, MPI.COMM_SELF = wrapped(MPI.COMM_WORLD), wrapped(MPI.COMM_SELF)
    run, call = unittest.TestCase._callTestMethod, Settling.call

    def with_wrapped(self: unittest.TestCase, method) -> None:
        comm = getattr(self, "COMM", MPI.COMM_NULL)
        if type(comm) is MPI.Intracomm:
            self.COMM = wrapped(comm)
        run(self, method)

    def counted(*arguments) -> None:
        global reduced
        reduced += 1
        call(*arguments)

    unittest.TestCase._callTestMethod, Settling.call = with_wrapped, counted


def main() -> None:
    """Run the modules, one after the other."""
    folder, how, *names = sys.argv[1:]
    sys.path.insert(0, folder)
    sys.modules["numba.cuda"] = None  # type: ignore[assignment]  # arrays of a device, which numba has where none is
    if how == "wrapped":
        wrap_all()
    outcomes = Outcomes()
    for name in names:
        unittest.defaultTestLoader.loadTestsFromName(name).run(outcomes)
    found = WORLD.gather(outcomes.found)
    if WORLD.rank == 0:
        tests = {name: [of_rank.get(name, "absent") for of_rank in found] for name in found[0]}
        print(json.dumps({"tests": tests, "reduced": reduced}), flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        import traceback

        traceback.print_exc()
        WORLD.Abort(1)
        os._exit(1)

"""Runs every mock-up of the library's all-reduce over real MPI on vectors whose result is known exactly.

Every operation meets every type of element that the library has, at counts that the ranks divide and do not divide;
each binding is run twice. Prints `N cases, 0 wrong`, as exactness.py does. Run it with `mpirun -n 4 python mockups.py`.
"""

from functools import partial

from exactness import KINDS, LONG, report, wrong_elements
from mpi4py import MPI

from allreduce_bench.executing import native_datatype
from allreduce_bench.executing.mockups import mockup
from allreduce_bench.runs.competitor import MOCKUPS


def _cases(comm: MPI.Comm):
    """(words, wrong elements) of every mock-up."""
    for name in MOCKUPS:
        for count in sorted({0, 1, comm.size - 1, comm.size, comm.size + 1, 1001, LONG, LONG // comm.size * comm.size}):
            for op, dtype in KINDS:
                if native_datatype(dtype) is not None:
                    bind = partial(_bound, name)
                    yield f"{name}, {op}, {count} {dtype}", wrong_elements(None, count, op, dtype, comm, bind)


def _bound(name: str, _steps: None, *vectors_and_more):
    return mockup(name, *vectors_and_more)


if __name__ == "__main__":
    world = MPI.COMM_WORLD.Dup()
    report(world, _cases(world))

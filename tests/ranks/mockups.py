"""Every mock-up of the library's all-reduce over real MPI on vectors whose result is known exactly.

Every operation meets every type of element that the library has, at counts that the ranks divide and do not divide;
each binding is run twice.
"""

from functools import partial

from exactness import KINDS, LONG, summed_up, wrong_elements
from mpi4py import MPI

from allreduce_bench.executing import native_datatype
from allreduce_bench.executing.mockups import mockup
from allreduce_bench.runs.competitor import MOCKUPS
from allreduce_bench.runs.dtypes import teach_numpy


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


def mockups(comm: MPI.Comm) -> tuple[int, list[str]]:
    """Run all cases; return their number, and what was wrong."""
    teach_numpy("bfloat16")
    return summed_up(_cases(comm))

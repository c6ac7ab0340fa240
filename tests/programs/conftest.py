"""What asks MPI for its types when it is imported: MPI starts in the tests' own process where a test needs that."""

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def mpi():
    """MPI of one rank; ended when all tests are done, since it cannot start twice."""
    MPI = pytest.importorskip("mpi4py.MPI", exc_type=ImportError)
    MPI.Init()
    yield MPI
    MPI.Finalize()


@pytest.fixture
def buffers(mpi) -> ModuleType:
    """The module."""
    from allreduce_bench.programs import buffers

    return buffers


@pytest.fixture
def vectors_of(buffers):
    """The function of `buffers`."""
    return buffers.vectors_of


@pytest.fixture
def operation_of(buffers):
    """The function of `buffers`."""
    return buffers.operation_of

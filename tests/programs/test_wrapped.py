"""Communicators with an `Allreduce` of ours, and what is left to mpi4py, over real MPI."""

import pytest
from interpreters import FULL, in_turn, interpreters

import allreduce_bench

RANKS = [1, 2, 3, 4]

every_mpi = pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)


@every_mpi
@pytest.mark.parametrize("ranks", RANKS if FULL else [1, 2, 3])
def test_other_types_and_operations_are_as_mpi4py_has_them(python, on_ranks, ranks):
    in_turn(RANKS.index(ranks), python)
    on_ranks(ranks, "left_to_mpi4py.types")


@every_mpi
@pytest.mark.parametrize("ranks", RANKS if FULL else [2, 3])
def test_a_wrapped_communicator_is_mpi4pys_but_for_its_allreduce(python, on_ranks, ranks):
    in_turn(RANKS.index(ranks), python)
    on_ranks(ranks, "left_to_mpi4py.wrapped")


def test_the_package_offers_it(mpi):
    from allreduce_bench.programs.allreduce import wrap

    assert allreduce_bench.wrap is wrap

"""Communicators with an `Allreduce` of ours, and what is left to mpi4py, over real MPI."""

import re
from functools import cache
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from rank_programs import mpirun

import allreduce_bench

RANKS = [1, 2, 3, 4]


PARTS = {"types": RANKS if FULL else [1, 2, 3], "wrapped": RANKS if FULL else [2, 3]}  # what so many ranks do


@cache
def called(python: Path, ranks: int, parts: tuple[str, ...]) -> tuple[int, str]:
    """Exit status and words of these parts of so many ranks, which are started once."""
    return mpirun(python, ranks, "left_to_mpi4py.py", *parts)


def says_that_all_is_well(python: Path, ranks: int, part: str) -> None:
    of_ranks = tuple(name for name, of in PARTS.items() if ranks in of)
    status, words = called(python, ranks, of_ranks if part in PARTS else (part,))
    number = re.search(rf"^{part}: (\d+) checks, 0 failed$", words, re.MULTILINE)
    assert status == 0 and number and int(number[1]) > 10, words


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("ranks", PARTS["types"])
def test_other_types_and_operations_are_as_mpi4py_has_them(python, ranks):
    in_turn(RANKS.index(ranks), python)
    says_that_all_is_well(python, ranks, "types")


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("ranks", PARTS["wrapped"])
def test_a_wrapped_communicator_is_mpi4pys_but_for_its_allreduce(python, ranks):
    in_turn(RANKS.index(ranks), python)
    says_that_all_is_well(python, ranks, "wrapped")


@pytest.mark.parametrize("ranks", RANKS if FULL else [2])
def test_tensors_of_pytorch_are_reduced_where_they_lie(ranks):
    pytest.importorskip("torch")
    says_that_all_is_well(interpreters()[0], ranks, "tensors")


def test_the_package_offers_it(mpi):
    from allreduce_bench.programs.allreduce import wrap

    assert allreduce_bench.wrap is wrap

"""`Allreduce` as programs call it, over real MPI: exact, settled alike on all ranks, refused in one sentence."""

import re
from functools import cache
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from rank_programs import mpirun

import allreduce_bench

RANKS = [1, 2, 3, 4, 5, 8]


PARTS = {  # what so many ranks do; one rank has nothing to choose
    "exact": RANKS if FULL else [1, 2, 3, 5, 8],
    "choosing": RANKS[1:] if FULL else [3, 4],
    "refusing": RANKS if FULL else [1, 2, 3],
}


@cache
def called(python: Path, ranks: int) -> tuple[int, str]:
    """Exit status and words of all parts of so many ranks, which are started once."""
    return mpirun(python, ranks, "called_allreduce.py", *[part for part, of in PARTS.items() if ranks in of])


def says_that_all_is_well(python: Path, ranks: int, part: str) -> None:
    in_turn(RANKS.index(ranks), python)
    status, words = called(python, ranks)
    number = re.search(rf"^{part}: (\d+) checks, 0 failed$", words, re.MULTILINE)
    assert status == 0 and number and int(number[1]) > 10, words


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("ranks", PARTS["exact"])
def test_results_are_exact(python, ranks):
    says_that_all_is_well(python, ranks, "exact")


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("ranks", PARTS["choosing"])
def test_all_ranks_settle_on_the_fastest_and_leave_it_when_it_is_no_longer(python, ranks):
    says_that_all_is_well(python, ranks, "choosing")


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("ranks", PARTS["refusing"])
def test_what_is_wrong_is_said_in_one_sentence(python, ranks):
    says_that_all_is_well(python, ranks, "refusing")


def test_the_package_offers_it_and_nothing_unknown(mpi):
    from allreduce_bench.programs.allreduce import Allreduce

    assert allreduce_bench.Allreduce is Allreduce
    with pytest.raises(AttributeError, match="no attribute 'Allgather'"):
        allreduce_bench.Allgather  # noqa: B018


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("ranks", RANKS if FULL else [1, 3])
def test_rough_use_leaves_nothing_wrong_behind(python, ranks):
    in_turn(ranks // 2, python)
    status, words = mpirun(python, ranks, "misused_allreduce.py")
    number = re.search(r"^(\d+) checks, 0 failed$", words, re.MULTILINE)
    assert status == 0 and number and int(number[1]) > 2, words

"""`Allreduce` as programs call it, over real MPI: exact, settled alike on all ranks, refused in one sentence."""

import pytest
from interpreters import FULL, in_turn, interpreters

import allreduce_bench

RANKS = [1, 2, 3, 4, 5, 8]

every_mpi = pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)


@every_mpi
@pytest.mark.parametrize("ranks", RANKS if FULL else [1, 2, 3, 5, 8])
def test_results_are_exact(python, on_ranks, ranks):
    in_turn(RANKS.index(ranks), python)
    on_ranks(ranks, "called_allreduce.exact", limit_s=600)


@every_mpi
@pytest.mark.parametrize("ranks", RANKS[1:] if FULL else [3, 4])  # one rank has nothing to choose
def test_all_ranks_settle_on_the_fastest_for_good(python, on_ranks, ranks):
    in_turn(RANKS.index(ranks), python)
    on_ranks(ranks, "called_allreduce.choosing")


@every_mpi
@pytest.mark.parametrize("ranks", RANKS if FULL else [1, 2, 3])
def test_what_is_wrong_is_said_in_one_sentence(python, on_ranks, ranks):
    in_turn(RANKS.index(ranks), python)
    on_ranks(ranks, "called_allreduce.refusing")


def test_the_package_offers_it_and_nothing_unknown(mpi):
    from allreduce_bench.programs.allreduce import Allreduce

    assert allreduce_bench.Allreduce is Allreduce
    with pytest.raises(AttributeError, match="no attribute 'Allgather'"):
        allreduce_bench.Allgather  # noqa: B018


@every_mpi
@pytest.mark.parametrize("ranks", RANKS if FULL else [1, 3])
def test_rough_use_leaves_nothing_wrong_behind(python, on_ranks, ranks):
    in_turn(ranks // 2, python)
    on_ranks(ranks, "misused_allreduce.misuse")


@every_mpi
def test_a_saved_choice_of_an_own_algorithm_is_taken_up_again(python, on_ranks):
    in_turn(0, python)
    on_ranks(2, "own_choices.kept")

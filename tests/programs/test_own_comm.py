"""Our communicator beside one of the program's, over real MPI: one for all its users, freed with the last of them."""

import pytest
from interpreters import in_turn, interpreters

RANKS = [2, 3]


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("ranks", RANKS)
def test_it_is_one_for_all_and_freed_with_the_last(python, on_ranks, ranks):
    in_turn(RANKS.index(ranks), python)
    on_ranks(ranks, "own_comms.lives")

"""Our communicator beside one of the program's, over real MPI: one for all its users, freed with the last of them."""

import re

import pytest
from interpreters import in_turn, interpreters
from rank_programs import mpirun

RANKS = [2, 3]


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("ranks", RANKS)
def test_it_is_one_for_all_and_freed_with_the_last(python, ranks):
    in_turn(RANKS.index(ranks), python)
    status, words = mpirun(python, ranks, "own_comms.py", "lives")
    number = re.search(r"^lives: (\d+) checks, 0 failed$", words, re.MULTILINE)
    assert status == 0 and number and int(number[1]) > 10, words

"""Kills at random moments: a sample of tests/studies/kills.py."""

import os
import random
import subprocess
import time

import pytest
from interpreters import FULL, in_turn, interpreters
from kills import Turn, is_wrong, killed
from striking import MARK, left_behind, processes
from struck import OF_A_RUN, Finished, Outcome, compare_marks

WAYS = [way for way in OF_A_RUN if FULL or way.name in ("starter-kill", "group-int")]  # one for each MPI


@pytest.mark.slow
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_kill_loses_and_doubles_no_cell_and_leaves_no_process(python, way):
    in_turn(WAYS.index(way), python)
    outcome = killed(random.Random(WAYS.index(way)), Turn("run", way, python))
    assert not is_wrong(outcome), outcome


@pytest.mark.slow
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_a_program_that_is_killed_keeps_its_choices_and_its_lines():
    outcome = killed(random.Random(1), Turn("exec", WAYS[0], interpreters()[-1]))
    assert not is_wrong(outcome), outcome


def test_a_process_that_is_left_behind_is_found_and_ended():
    mark = f"left-{os.getpid()}"
    with subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: mark}, start_new_session=True) as process:
        until = time.monotonic() + 240
        while not processes(mark) and time.monotonic() < until:  # a program that is just being loaded has no variables
            time.sleep(0.01)
        assert list(processes(mark)) == [process.pid] and not processes(f"{mark}0")
        assert left_behind(mark, patience_s=0) == 1
        assert process.wait(240) == -9
    assert left_behind(mark, patience_s=0) == 0


def test_lost_doubled_and_repeated_cells_are_counted():
    first, other, again = Finished("2r-1", "1", ("a",)), Finished("2r-1", "1", ("b",)), Finished("2r-1", "2", ("a",))
    well, ill = Outcome(), Outcome()
    compare_marks(well, [first], [first, other])
    compare_marks(ill, [first, other], [first, first, again])
    assert not is_wrong(well)
    assert (ill.lost, ill.doubled, ill.again) == (1, 1, 1) and is_wrong(ill)

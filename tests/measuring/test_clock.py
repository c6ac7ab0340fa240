"""The common clock over a real MPI: its bound holds whatever the ranks' clocks show, or it says that there is none.

No time is asserted but the bound, which must hold on the slowest machine; the figures are printed.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from rank_programs import mpirun

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
RANKS = [1, 2, 3, 5, 8]
WITH_BAD = RANKS if FULL else [2, 5]


@pytest.fixture(params=dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
def python(request):
    return request.param


@cache
def checked_clocks(python: Path, ranks: int) -> tuple[int, str]:
    """Exit status and words of the checks of so many ranks, which are started once."""
    return mpirun(python, ranks, "clock.py", str(trials_of(ranks)), *["--bad"] * (ranks in WITH_BAD))


def trials_of(ranks: int) -> int:
    return 100 if ranks == 2 else 10


@pytest.mark.parametrize("ranks", RANKS)
def test_the_bound_holds_in_every_trial_and_with_clocks_that_differ(python, ranks):
    in_turn(RANKS.index(ranks), python)
    status, words = checked_clocks(python, ranks)
    held = re.search(r"^the bound holds in (\d+) of (\d+) trials; median \S+ us, largest \S+ us$", words, re.MULTILINE)
    assert status == 0 and held and re.search(r"^17 checks, 0 failed$", words, re.MULTILINE), words
    assert int(held[1]) == int(held[2]) == trials_of(ranks)
    print(held[0])


@pytest.mark.parametrize("ranks", WITH_BAD)
def test_clocks_that_run_backwards_or_stand_are_noticed(python, ranks):
    in_turn(RANKS.index(ranks), python)
    status, words = checked_clocks(python, ranks)
    assert status == 0 and re.search(r"^10 checks, 0 failed$", words, re.MULTILINE), words


SHARED = """
from mpi4py import MPI
from time import perf_counter
from allreduce_bench.measuring.sync import METHOD, ONE_CLOCK, Clock

comm = MPI.COMM_WORLD.Dup()
other = lambda: perf_counter() + 60.0 * (comm.rank == comm.size - 1)
for now, method in ((perf_counter, ONE_CLOCK), (other, METHOD)):
    clock = Clock(comm, now, shared=True)
    line, facts = clock.line(now(), now()), clock.facts()
    off = abs(line.common(now()) - perf_counter()) < 1 and clock.error_s() < 1
    assert comm.allreduce(bool(off), MPI.LAND), (comm.rank, line)
    assert facts is None or facts["method"] == method and 0 < facts["round_trip_s"] < 1, facts
"""


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_one_clock_of_a_node_is_believed_until_a_window_says_otherwise(python, ranks, tmp_path):
    in_turn(ranks, python)
    program = tmp_path / "shared.py"
    program.write_text(SHARED)
    status, words = mpirun(python, ranks, str(program))
    assert status == 0, words


def test_the_drift_lies_in_the_middle_of_what_two_windows_allow():
    from allreduce_bench.measuring.sync import Clock, Window  # late: it starts MPI

    clock = Clock.__new__(Clock)
    clock._first, clock._windows = Window(10.0, -1e-6, 1e-6), [Window(12.0, 799e-6, 801e-6)]
    assert clock._drift_ppm() == pytest.approx((400, 1))

"""Exit statuses in words, and as shells hand them on."""

import pytest

from allreduce_bench.launching.own_program import Place, _status
from allreduce_bench.launching.tied_process import how_it_ended, shell_status


@pytest.mark.parametrize(
    ("status", "words", "handed_on"),
    [
        (3, "ended with status 3", 3),
        (-9, "was killed by SIGKILL", 137),
        (139, "was killed by SIGSEGV", 139),
        (143, "was killed by SIGTERM", 143),
        (255, "ended with status 255", 255),
        (-300, "ended with status -300", 428),
    ],
)
def test_signals_are_told_from_statuses(status, words, handed_on):
    assert how_it_ended(status) == words and shell_status(status) == handed_on


@pytest.mark.parametrize(("of_launcher", "lost", "handed_on"), [(0, 1, 137), (1, 1, 137), (-15, 1, 143), (0, 0, 1)])
def test_where_ranks_were_lost_the_status_is_that_of_a_signal(of_launcher, lost, handed_on):
    assert _status(of_launcher, [Place(2, "n3")] * lost) == handed_on

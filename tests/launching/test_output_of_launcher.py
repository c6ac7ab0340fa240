"""What a launch prints of its launcher: the command and lines about daemons only with -v, or where a launch fails."""

from types import SimpleNamespace

import pytest

from allreduce_bench.launching.launch import _MeasuredLaunch
from allreduce_bench.launching.watched_launch import WatchedLaunch
from allreduce_bench.machine.variables import NOT_STORED
from allreduce_bench.runs.control import Control

OF_DAEMONS = [
    "[n1:4711] plm:ssh: final template argv: /usr/bin/ssh <template> prted",
    "prted: setpgid(4712, 4712) failed: Operation not permitted",
]
DEAD_RANK = ["prterun noticed that process rank 3 with PID 9 on node n1 exited on", "signal 9 (Killed)."]
OF_RANKS = ["rank 0: a word", "the ssh key of n1 is gone"]


def launch_with(verbose: bool) -> tuple[_MeasuredLaunch, list[str]]:
    """A launch that is not started, and the list of what it says."""
    said: list[str] = []
    launch = _MeasuredLaunch.__new__(_MeasuredLaunch)
    launch.start = SimpleNamespace(control=Control(verbose=verbose))
    launch.lines = SimpleNamespace(say=said.append)
    launch.patience = SimpleNamespace(refusal="")
    launch.is_muted, launch.held_back = False, []
    return launch, said


@pytest.mark.parametrize("verbose", [False, True])
def test_lines_about_daemons_are_held_back_unless_asked_for(verbose):
    launch, said = launch_with(verbose)
    lines = [OF_RANKS[0], *OF_DAEMONS, OF_RANKS[1]]
    for line in lines:
        launch._read_line(f"{line}\n")
    assert said == (lines if verbose else OF_RANKS)


def test_a_launch_that_fails_says_what_it_held_back():
    launch, said = launch_with(False)
    for line in OF_DAEMONS:
        launch._read_line(f"{line}\n")
    launch._say_held_back()
    assert said == OF_DAEMONS


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([*OF_DAEMONS, "-----", "", "There is no such option:", "", "  Option: --nonsense", "more"], "--nonsense"),
        (["[mpiexec@n1] match_arg (lib/args.c:166): unrecognized argument x", "more"], "unrecognized argument x"),
        (["PMIX ERROR: UNREACH", *DEAD_RANK, "more"], " ".join(DEAD_RANK)),
        (["unknown: TOKEN=hunter2"], f"unknown: TOKEN={NOT_STORED}"),
        ([], ""),
    ],
)
def test_what_explains_a_failed_start_is_its_first_line_with_words(supervise, lines, words):
    watched = WatchedLaunch(supervise(1, 60.0), ["printf", "%s\\n", *lines], {})
    watched.process.wait()
    watched.status("mpich")
    assert watched.first_words.endswith(words) and "more" not in watched.first_words
    assert watched.first_words.startswith(("There is no such option:", words))

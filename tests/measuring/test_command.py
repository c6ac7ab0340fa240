"""The command line of a rank: written by the launcher, typed by nobody."""

import subprocess
import sys
from pathlib import Path

import pytest

from allreduce_bench.measuring.command import RankArguments, parse_arguments


@pytest.mark.parametrize("words", [[], ["--launch", "2r-1", "--", "x"], ["--colour", "1", "--", "x"]])
def test_words_that_no_launcher_writes_are_refused_in_one_line(words):
    command = [sys.executable, "-m", "allreduce_bench", "measure", *words]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr == "error: measure is for the ranks that 'allreduce-bench run' starts; use run\n"


LEAST = RankArguments(Path("run"), "2r-1", 1, 3, 1700000000.0, "single")


def test_what_is_not_said_is_left_out():
    words = "--launch 2r-1 --place 1/3 --started 1700000000 --thread-level single -- run"
    assert LEAST.words() == words.split()


@pytest.mark.parametrize("changed", [{}, {"deadline": 1700000060.5}, {"skip_hung": True}, {"folder": Path("-x/--")}])
def test_a_rank_reads_what_is_written(changed):
    arguments = LEAST._replace(**changed)
    assert parse_arguments(arguments.words()) == arguments

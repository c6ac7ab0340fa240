"""The command line of a rank: written by the launcher, typed by nobody."""

import subprocess
import sys
from pathlib import Path

import pytest

from allreduce_bench.measuring.command import RankArguments, parse_arguments


def test_the_command_line_of_a_rank_is_pairs_of_names_and_values_then_the_folder():
    words = ["--launch", "4r-2", "--place", "3/6", "--started", "1.5", "--thread-level", "single", "--", "run"]
    assert parse_arguments(words) == RankArguments(Path("run"), "4r-2", 3, 6, 1.5, "single")
    with_deadline = parse_arguments(["--deadline", "9.5", *words])
    assert with_deadline == RankArguments(Path("run"), "4r-2", 3, 6, 1.5, "single", deadline=9.5)


@pytest.mark.parametrize("words", [[], ["--launch", "2r-1", "--", "x"], ["--colour", "1", "--", "x"]])
def test_words_that_no_launcher_writes_are_refused_in_one_line(words):
    command = [sys.executable, "-m", "allreduce_bench", "measure", *words]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr == "error: measure is for the ranks that 'allreduce-bench run' starts; use run\n"

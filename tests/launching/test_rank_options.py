"""What is written for a rank is what it reads."""

from pathlib import Path

import pytest

from allreduce_bench.measuring.command import RankArguments, parse_arguments

LEAST = RankArguments(Path("run"), "2r-1", 1, 3, 1700000000.0, "single")


def test_what_is_not_said_is_left_out():
    words = "--launch 2r-1 --place 1/3 --started 1700000000 --thread-level single -- run"
    assert LEAST.words() == words.split()


@pytest.mark.parametrize("changed", [{}, {"deadline": 1700000060.5}, {"skip_hung": True}, {"folder": Path("-x/--")}])
def test_a_rank_reads_what_is_written(changed):
    arguments = LEAST._replace(**changed)
    assert parse_arguments(arguments.words()) == arguments

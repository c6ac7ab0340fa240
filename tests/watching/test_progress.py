"""How far a run is: plain lines in a log."""

import pytest

from allreduce_bench.watching import progress
from allreduce_bench.watching.progress import LaunchPosition, ProgressLines

NOW = 1_800_000_000.0


@pytest.fixture(autouse=True)
def clock_that_stands(monkeypatch):
    monkeypatch.setattr(progress.time, "time", lambda: NOW)


def position(**changed) -> LaunchPosition:
    return LaunchPosition(2, 3, NOW - 72, 4)._replace(**changed)


def test_lines_say_launch_cell_time_elapsed_and_remaining_and_the_result(capsys, monkeypatch):
    monkeypatch.setattr(ProgressLines, "printed", 0.0)
    lines = ProgressLines(position())
    lines.began = NOW - 20
    lines.cell(10, 20, "ring 8 B  1.00 us", False)
    lines.cell(11, 20, "ring 16 B  1.00 us", False)  # soon after the last
    lines.cell(12, 20, "ring 32 B: wrong", True)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "launch 2/3 (4 ranks)  cell 10/20  1:12 elapsed, about 1:00 remaining  ring 8 B  1.00 us"
    assert len(said) == 2 and said[1].endswith("ring 32 B: wrong")


def test_what_is_left_is_at_most_what_within_left():
    lines = ProgressLines(position(number=3, deadline=NOW + 5))
    lines.began = NOW - 100
    assert lines.times(1, 20).endswith("about 0:05 remaining")


def test_later_launches_are_given_no_more_than_this_one():
    lines = ProgressLines(position(number=1, deadline=NOW + 20))
    lines.began = NOW - 10
    assert lines.times(1, 100).endswith("about 1:20 remaining")  # by its cells: 50 minutes

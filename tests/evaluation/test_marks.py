"""What launches said of a cell at its end, summed up."""

from allreduce_bench.evaluation.marks import outcome, statistics
from allreduce_bench.runs.schema import CELLS, names


def mark(**values) -> dict[str, str]:
    return dict.fromkeys(names(CELLS), "") | {"launch": "4r-2", "state": "done"} | values


def test_without_marks_only_no_accident_is_known():
    assert outcome([]) == {"accidents": []}


def test_a_launch_that_did_the_cell_speaks_for_it_and_accidents_are_kept():
    row = outcome([mark(state="hung", launch="4r-1", reason="late"), mark(nodes="2"), mark(state="left out")])
    assert (row["state"], row["reason"], row["nodes"]) == ("done", None, 2)
    assert [accident.words for accident in row["accidents"]] == ["in launch 4r-1: late"]


def test_where_none_did_it_the_last_one_speaks():
    row = outcome([mark(state="skipped", reason="no memory"), mark(state="left out", reason="no time")])
    assert (row["state"], row["reason"]) == ("left out", "no time")


def test_a_failed_check_is_never_hidden():
    row = outcome([mark(wrong="0"), mark(state="wrong", wrong="3"), mark(wrong="0")])
    assert (row["state"], row["reason"], row["wrong"]) == ("wrong", "3 wrong elements", 3)


def test_only_a_known_size_is_said():
    assert "size_bytes" not in outcome([mark(size_bytes="")]) and outcome([mark(size_bytes="16")])["size_bytes"] == 16


def test_bits_that_differ_between_launches_have_no_fingerprint():
    row = outcome([mark(bits="a", same_bits="1"), mark(bits="b", same_bits="1")])
    assert (row["same_bits"], row["same_bits_launches"], row["bits"]) == (1, 0, None)


def test_why_calls_stopped_is_told_of_all_launches_that_ended_well():
    marks = [mark(stopped="time"), mark(stopped="precision"), mark(state="hung", stopped="within")]
    assert statistics(marks)["stopped"] == "precision + time"


def test_the_clock_error_is_the_largest():
    assert statistics([mark(clock_error_s="1e-7"), mark(clock_error_s="2e-7")])["clock_error_s"] == 2e-7


def test_checked_calls_are_added_up_and_unknown_where_nobody_counted_them():
    assert outcome([mark(checks="11"), mark(checks="12")])["checks"] == 23
    assert outcome([mark()])["checks"] is None

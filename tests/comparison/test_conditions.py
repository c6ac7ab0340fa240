"""What has to be the same is the same, or was accepted; what else changed is noted."""

from dataclasses import replace

import pytest
from compared_runs import FASTER, compared_run, row

from allreduce_bench.comparison.conditions import IMPLIED, LABELS, SAME, accepted_differences, changes, parse_despite
from allreduce_bench.runs.rows import RunError

WEATHER = "weather"  # which is no condition


def run(name: str, library: str | None = "A", **facts):
    attempt = {"ranks": 2, "oversubscribed": False, "mpi": {"library": library}, **facts}
    return compared_run(name, row(FASTER), attempts=[attempt])


def test_words_of_despite_are_read_with_what_they_imply():
    assert parse_despite(" library, time") == {"library", "time", *IMPLIED["library"]}
    assert parse_despite("all") == set(SAME) and parse_despite("") == frozenset()
    with pytest.raises(ValueError, match=f"unknown condition '{WEATHER}'; known: {', '.join([*SAME][:2])}"):
        parse_despite(WEATHER)


def test_every_condition_has_a_label():
    assert {key for keys in SAME.values() for key in keys} <= set(LABELS)


def test_a_difference_is_refused_unless_it_is_accepted():
    runs = [run("base"), run("new", "B")]
    with pytest.raises(
        RunError,
        match=r"comparable: MPI library: A \(base\), B \(new\).*--despite library",
    ):
        accepted_differences(runs, [2], [])
    (difference,) = accepted_differences(runs, [2], ["library"])
    assert (difference.word, difference.values, difference.runs) == ("library", ("A", "B"), ("base", "new"))


def test_what_a_run_does_not_say_is_not_held_against_it():
    assert accepted_differences([run("base"), run("new", None)], [2], []) == []


@pytest.mark.parametrize("oversubscribed", [True, False])
def test_whether_inputs_change_matters_where_ranks_share_cores(oversubscribed):
    runs = [run(name, oversubscribed=oversubscribed) for name in ("base", "new")]
    runs[0] = runs[0]._replace(plan=replace(runs[0].plan, inputs="same"))
    found = accepted_differences(runs, [2], ["inputs"])
    assert [difference.values for difference in found] == ([("same", "changing")] if oversubscribed else [])


def test_other_rank_counts_do_not_matter():
    assert accepted_differences([run("base"), run("new", "B")], [4], []) == []


def test_changes_are_those_of_machine_and_variables_but_not_of_jobs():
    before = run("base", machines=[{"kernel": "Linux 6.1"}], variables={"A": "1", "SLURM_JOB_ID": "1"})
    after = run("new", machines=[{"kernel": "Linux 6.2"}], variables={"SLURM_JOB_ID": "2"})
    assert changes([before], [after]) == ["kernel: Linux 6.1 -> Linux 6.2", "variable A: 1 -> not set"]

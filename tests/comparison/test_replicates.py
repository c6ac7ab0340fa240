"""What counts once: a launch on the same hosts, else a job."""

import pytest
from compared_runs import compared_run, launches_on

from allreduce_bench.comparison.replicates import JOB, LAUNCH, ROUND, UNPLACED_JOB, hosts_of, replicate_of, times_of

HERE, THERE = launches_on("n1", "n2"), launches_on("n1", "n3")


@pytest.mark.parametrize(
    ("before", "after", "replicate"),
    [
        (HERE, launches_on("n2", "n1", "n1"), LAUNCH),  # in another order, and more often
        (HERE, THERE, JOB),
        (HERE, launches_on("n1"), JOB),
        (HERE, launches_on(), UNPLACED_JOB),
        (HERE, launches_on("n1", "unknown"), UNPLACED_JOB),
        ([], [], UNPLACED_JOB),  # logs
        (HERE, [*HERE, *launches_on()], UNPLACED_JOB),  # one launch does not say
        (launches_on("n1", ranks=[4]), HERE, UNPLACED_JOB),  # of other ranks
    ],
)
def test_a_launch_counts_on_the_same_hosts_and_a_job_elsewhere(before, after, replicate):
    sides = [[compared_run("run", attempts=attempts)] for attempts in (before, after)]
    assert replicate_of(*sides, 2) == replicate_of(*sides[::-1], 2) == replicate


def test_the_hosts_of_a_side_are_those_of_all_its_runs():
    runs = [compared_run("a", attempts=HERE), compared_run("b", attempts=THERE)]
    assert hosts_of(runs, 2) == {"n1", "n2", "n3"}


def test_alternated_launches_count_by_rounds(tmp_path):
    one, other = (compared_run(name)._replace(path=tmp_path / name) for name in "ab")
    one, other = one._replace(alternated=[other.path]), other._replace(alternated=[one.path])
    assert replicate_of([one], [other], 2) == ROUND and replicate_of([one, other], [other], 2) != ROUND


def test_a_job_is_the_launches_of_one_number_or_a_run_without_one():
    numbered = compared_run("a", attempts=launches_on("n1", jobs=["7", "7", "8"]))
    more = compared_run("b", attempts=launches_on("n1", jobs=["8"]))
    without = compared_run("c", attempts=launches_on("n1", jobs=["", ""]))
    medians_s = [
        (numbered, {"2r-1": 1.0, "2r-2": 3.0, "2r-3": 5.0}),
        (more, {"2r-1": 7.0}),
        (without, {"2r-1": 10.0, "2r-2": 12.0}),
    ]
    assert times_of(medians_s, JOB) == times_of(medians_s, UNPLACED_JOB) == [2.0, 6.0, 11.0]
    assert times_of(medians_s, LAUNCH) == [1.0, 3.0, 5.0, 7.0, 10.0, 12.0]

"""How long a job is expected to take, and the limits that follow."""

import pytest

from allreduce_bench.runs.plan import Cell, Launch, Plan
from allreduce_bench.slurm.jobs import CHECK_S, START_OF_NODE_S, START_S, launch_s, limit_for, warning_for

PLAN = Plan(("native", "ring"), (8, 1024), (2, 4), launches=3, seed=1, floors=False)
START = START_S + 2 * START_OF_NODE_S


def expected(plan: Plan, size_bytes: int = 8) -> float:
    """Seconds of one cell beyond the start, on two nodes."""
    return launch_s(plan, 2, [Cell("ring", size_bytes, None)]) - START


def changed(**fields) -> Plan:
    return Plan.from_json({**PLAN.to_json(), **fields})


def test_a_launch_takes_its_start_and_the_time_of_each_cell_with_its_checks():
    cells = PLAN.cells(Launch(2, 1))
    assert launch_s(PLAN, 2, []) == START
    assert 4 * (0.5 + CHECK_S) < launch_s(PLAN, 2, cells) - START < 4 * (0.5 + CHECK_S) + 0.01
    assert launch_s(PLAN, 64, []) > launch_s(PLAN, 1, [])


def test_what_lengthens_a_cell_lengthens_the_job():
    assert expected(changed(cell_time_s=2.0)) == pytest.approx(expected(PLAN) + 1.5)
    assert expected(changed(min_time_s=3.0)) == pytest.approx(expected(PLAN) + 2.5)
    assert expected(changed(iters=5)) < expected(PLAN) < expected(changed(iters=10_000))
    assert expected(changed(back_to_back=1000)) > expected(PLAN)
    assert expected(changed(energy=True)) == pytest.approx(expected(PLAN) + 1.0 + 2.0)  # its loop; once idle nodes
    assert expected(PLAN, size_bytes=2**30) > 10 > 1 > expected(PLAN)  # a GiB does not come through in half a second


@pytest.mark.parametrize(
    ("expected_s", "limit_s"), [(0, 600), (299, 600), (301, 900), (1800, 3600), (1801, 3900), (50_000, 100_200)]
)
def test_the_limit_is_twice_that_in_whole_five_minutes_and_ten_at_least(expected_s, limit_s):
    assert limit_for(expected_s) == limit_s


def test_the_warning_fits_into_a_short_limit():
    assert warning_for("B:USR1@120", 600) == warning_for("B:USR1@120", 300) == "B:USR1@120"
    assert warning_for("B:USR1@120", 240) == "B:USR1@30" and warning_for("B:USR1@120", 60) == "B:USR1@25"
    assert warning_for("USR2", 60) == "USR2"

"""What is asked for on the command line becomes a plan and a control; what is not said is theirs to decide."""

from pathlib import Path

import pytest
from asked_runs import asked_run

from allreduce_bench.cli.plan_of_options import algorithm_fields
from allreduce_bench.runs.control import Control
from allreduce_bench.runs.plan import LARGEST_SEED, Plan, PlanError
from allreduce_bench.runs.sizes import geometric_sizes
from allreduce_bench.runs.start import Start


def test_what_is_not_said_is_the_default_of_plan_and_control():
    request = asked_run("-n", "4", "--seed", "7")
    sizes = geometric_sizes(8, 16 << 20, 4.0)
    assert request.plan() == Plan(sizes=sizes, ranks=(4,), seed=7, **algorithm_fields())
    assert (request.control, request.asked) == (Control(), {"ranks", "seed"})


def test_what_is_said_is_in_the_plan_or_in_the_control():
    words = ["--sizes", "1K,8", "-a", "ring,native", "--segment", "64K", "--cell-time", "2s", "--min-time", "1s"]
    words += [
        "--link-rate",
        "8Gbit",
        "--launches",
        "2",
        "--no-reference-times",
        "--hosts",
        "n1:8,n2",
        "--map-by",
        "core",
    ]
    words += ["--within", "2m", "--timeout", "5s", "--only", "4r", "--min-busbw", "1K:20", "--max-time", "8:15us"]
    words += ["--wait-idle", "10m"]
    request = asked_run("-n", "2,4", "--seed", "1", "-o", "x", *words, "--format", "csv", "--report", "--skip-hung")
    assert request.plan() == Plan(
        ("native", "ring"),
        (8, 1024),
        (2, 4),
        2,
        1,
        segment_nbytes=65536,
        cell_time_s=2.0,
        min_time_s=1.0,
        link_rate_bytes_per_s=1e9,
        floors=False,
        start=Start(hosts=("n1:8", "n2"), map_by="core"),
    )
    control = request.control
    assert [limit.quantity for limit in control.limits] == ["busbw", "time"]
    assert control == Control(
        output=Path("x"),
        skip_hung=True,
        within_s=120.0,
        timeout_s=5.0,
        wait_idle_s=600.0,
        only="4r",
        report=True,
        format="csv",
        limits=control.limits,
    )


def test_what_is_decided_meanwhile_replaces_what_was_said():
    request = asked_run("-n", "4", "--pretend-ranks-per-node", "4")
    with pytest.raises(PlanError, match="4 ranks.*node holds.*4 ranks"):
        request.plan()
    plan = request.deciding(ranks=(8,), launches=1, ranks_per_node=8).plan()
    assert (plan.ranks, plan.launches, plan.start.ranks_per_node) == ((8,), 1, 8)


def test_a_plan_draws_its_own_seed():
    seeds = {Plan(("ring",), (8,), (2,)).seed for _ in range(5)}
    assert len(seeds) > 1 and all(0 <= seed < LARGEST_SEED for seed in seeds)

"""The command that a report gives for repeating a run asks for the very same plan, the way of starting included."""

from dataclasses import replace

import pytest
from asked_runs import asked_run
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.algorithms import by_default
from allreduce_bench.cli.request import planned_run
from allreduce_bench.runs.command_of_plan import repeat_command
from allreduce_bench.runs.injected import digest_of_trace
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.start import Start

CHOICES = {"competitors": ("native", "ring"), "sizes": (8, 1024), "ranks": (2, 4), "launches": 3, "seed": 7}
STARTS = (
    Start(),
    Start(launcher="flux run -n {ranks} -N {nodes} --env='A=b c'", launcher_args="--display bind-to", ranks_per_node=4),
    Start(hosts=("n1", "n2:8"), remote_shell="ssh -p 2222", map_by="ppr:4:node", bind_to="core", interface="hsn0"),
    Start(launcher="srun", launcher_args="-v --mem='1 G'", hosts=("a-b.c",), bind_to="none"),
)


def parsed(words: list[str]) -> Plan:
    assert words[:2] == ["allreduce-bench", "run"]
    return planned_run(asked_run(*words[2:]))[1]


@pytest.mark.parametrize("start", STARTS)
def test_how_the_ranks_were_started_comes_back(start):
    plan = Plan(**CHOICES, start=start, iters=5, op="avg", dtype="float64", thread_level="single", segment_nbytes=64)
    assert parsed(repeat_command(plan)) == plan


def test_algorithms_that_nobody_named_stay_unnamed():
    everything = parsed(["allreduce-bench", "run", "-n", "4", "--seed", "1"])
    assert set(everything.algorithms) == {"native", *by_default()} and everything.bounded
    assert parsed(repeat_command(everything)) == everything
    named = replace(everything, bounded=())
    assert parsed(repeat_command(named)) == named


def test_what_a_time_is_comes_back():
    said = {"sync": "barrier", "record": "all", "back_to_back": 7}
    said |= {"cache": "cold", "check": "bits", "groups": "2"}
    plan = Plan(**(CHOICES | {"ranks": (4, 8)}), **said, floors=False)
    assert parsed(repeat_command(plan)) == plan


def test_arrival_patterns_come_back(tmp_path):
    trace = tmp_path / "steps.csv"
    trace.write_text("step,rank,late_s\n0,0,0\n0,1,1\n")
    arrival = {"arrival": str(trace), "arrival_digest": digest_of_trace(str(trace))}
    plan = Plan(**(CHOICES | {"ranks": (2,)}), **arrival)
    assert parsed(repeat_command(plan)) == plan


POSITIVE_S = st.floats(0, 1e5, exclude_min=True)
PRECISIONS = st.floats(0, 1, exclude_min=True, exclude_max=True)


@given(POSITIVE_S, st.floats(0, 1e5), PRECISIONS, st.sampled_from([1.25e9, 25e9, 12.5e6, 1e9 / 3]))
def test_every_digit_comes_back(cell_time_s, min_time_s, precision, rate):
    times = {"cell_time_s": cell_time_s, "min_time_s": min_time_s, "precision": precision}
    plan = Plan(**CHOICES, **times, link_rate_bytes_per_s=rate)
    again = parsed(repeat_command(plan))
    assert again.link_rate_bytes_per_s == pytest.approx(rate, rel=1e-15)
    assert replace(again, link_rate_bytes_per_s=rate) == plan

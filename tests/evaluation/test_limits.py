"""The links that carried the bytes and local work bound the time; a figure that nobody knows bounds nothing."""

import dataclasses

import pytest
from made_runs import build_run

from allreduce_bench.algorithms import builtin
from allreduce_bench.evaluation.limits import (
    LATENCY,
    NodeLink,
    bound_rows,
    least_s,
    limits_of,
    link_of,
    local_work,
    message_s,
    own_limits_of,
    passes_limit,
    passes_link,
    refutes_limit,
)
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.start import Start
from allreduce_bench.schedule import elements
from allreduce_bench.schedule.algorithm import Topology

MACHINE = {"interfaces": [{"name": "hsn0", "rate_bytes_per_s": 25e9}, {"name": "eth0", "rate_bytes_per_s": None}]}
ATTEMPT = {"nodes": 2, "machines": [MACHINE, {"interfaces": [{"name": "hsn0", "rate_bytes_per_s": 1e9}]}]}


def stated(rate: float | None, virtual: tuple[float, ...] = ()) -> Plan:
    start = Start(virtual_rates_bytes_per_s=virtual)
    return Plan(("ring",), (8,), (2,), link_rate_bytes_per_s=rate, start=start)


def test_what_a_virtual_link_passes_at_once_is_no_part_of_the_limit():
    link = link_of(stated(12.5e6, (12.5e6, 12.5e6)), [{"wire": "e0=1000"}], [{"nodes": 2, "machines": []}])
    assert link == NodeLink(12.5e6, "e0, 100 Mbit/s of the virtual hosts", 9014 + 6250)
    assert least_s(8192, 2, link) == 0 and least_s(8 << 20, 2, link) == ((8 << 20) - 9014 - 6250) / 12.5e6
    row = {"nodes": 2, "size_bytes": 8192, "ranks": 2}
    assert limits_of(row, link, 30e-6) == {LATENCY: 30e-6} and limits_of(row, link, None) == {}


def test_a_node_sends_and_receives_its_part():
    link = link_of(stated(1e9), [], [ATTEMPT])
    assert least_s(1_000_000, 2, link) == 1e-3 and least_s(1_000_000, 4, link) == 1.5e-3


def test_the_slowest_machine_counts_and_little_used_interfaces_do_not():
    link = link_of(stated(None), [{"wire": "hsn0=1000 eth0=100"}], [ATTEMPT])
    assert link.rate_bytes_per_s == 1e9 and "hsn0, 8 Gbit/s as reported" in link.words


def test_the_limit_takes_the_links_that_carried_the_bytes():
    machine = {"interfaces": [{"name": "a0", "rate_bytes_per_s": 1e9}, {"name": "b0", "rate_bytes_per_s": None}]}
    two_nodes, carried = [{"nodes": 2, "machines": [machine, machine]}], [{"wire": "a0=1000 b0=3 lo=9999"}]
    assert link_of(stated(None), carried, two_nodes) == NodeLink(1e9, "a0, 8 Gbit/s as reported by the system")
    assert link_of(stated(None), [{"wire": "a0=1000 b0=900"}], two_nodes) is None  # b0 does not say its rate
    assert link_of(stated(5e8), carried, two_nodes) == NodeLink(5e8, "a0, 4 Gbit/s from --link-rate")
    assert link_of(stated(5e8), carried, [{"nodes": 1, "machines": [machine]}]) is None
    fabric = [{"nodes": 2, "machines": [{"port_rates_bytes_per_s": {"mlx5_0:1": 25e9}}] * 2}]
    assert link_of(stated(None), [{"wire": "mlx5_0:1=1000"}], fabric) == NodeLink(
        25e9, "mlx5_0:1, 200 Gbit/s as reported by the system"
    )
    assert least_s(1000, 4, NodeLink(100.0, "")) == pytest.approx(15.0)


@pytest.mark.parametrize(
    ("row", "passes", "refutes"),
    [
        ({"time_s": 1.0, "time_high_s": 1.1, "limit_s": 1.0}, False, False),
        ({"time_s": 0.9, "time_high_s": 1.1, "limit_s": 1.0}, True, False),
        ({"time_s": 0.8, "time_high_s": 0.9, "limit_s": 1.0}, True, True),
        ({"time_s": 0.8, "time_high_s": 0.9, "limit_s": None}, False, False),
        ({"time_s": None, "limit_s": None}, False, False),
    ],
)
def test_a_median_below_the_limit_passes_it_and_a_whole_interval_refutes_it(row, passes, refutes):
    assert (passes_limit(row), refutes_limit(row)) == (passes, refutes)
    assert passes_link({**row, "limit_by": "links"}) == passes and not passes_link({**row, "limit_by": "local work"})


FLOORS = {"call_floor_s": 1e-7, "copy_floor_s": 1e-5, "reduce_floor_s": 2e-5}
ROW = {"ranks": 4, "nodes": 1, "size_bytes": 1 << 20, "time_s": 1.0}
WIRE = NodeLink(1e6, "")


def test_on_one_node_ranks_copy_and_reduce_their_part():
    assert limits_of({**ROW, **FLOORS}, None, 1e-3) == {"local work": pytest.approx(0.75 * 3e-5)}
    assert limits_of({**ROW, **FLOORS, "ranks": 1}, None, None) == {"local work": 1e-5}


def test_no_copy_costs_more_than_a_reduction():
    slow = {**ROW, **FLOORS, "copy_floor_s": 5e-5}
    assert limits_of(slow, None, None) == {"local work": pytest.approx(0.75 * 4e-5)}


def test_between_nodes_the_network_may_write_and_messages_follow_each_other():
    row = {**ROW, **FLOORS, "nodes": 4, "size_bytes": 1000}
    limits = limits_of(row, WIRE, 2e-6)
    assert limits == {"links": pytest.approx(1.5e-3), "latency": 4e-6, "local work": pytest.approx(0.75 * 2e-5)}
    assert set(limits_of(row, None, None)) == {"local work"} and limits_of(ROW, None, None) == {}


def test_a_reference_time_that_is_the_cost_of_a_call_limits_nothing():
    assert local_work({**ROW, **FLOORS, "copy_floor_s": 9e-7}) is None
    assert local_work({**ROW, **FLOORS, "reduce_floor_s": None}) is None


@pytest.mark.parametrize(("name", "most"), [("ring", 1.5), ("two_tree", 2.0), ("naive", 3.0)])
def test_a_schedule_has_the_limit_of_its_busiest_node(name, most):
    """Four ranks on four nodes; what an algorithm sends there is checked against its own steps."""
    count, size = 4000, 4
    algorithm, topology = builtin()[name], Topology(tuple(range(size)))
    schedules = algorithm.schedules(size, topology, count, 100)
    sent = [sum(elements(step.send) for step in steps if step.dest is not None) for steps in schedules]
    row = {**ROW, "nodes": size, "size_bytes": 4 * count, "node_nbytes": 4 * max(sent)}
    (own_s,) = own_limits_of(row, WIRE)
    assert own_s == pytest.approx(most * 4 * count / 1e6, rel=0.02)
    assert own_limits_of({**row, "node_nbytes": None}, WIRE) == []


def test_the_busiest_rank_of_a_schedule_copies_and_reduces_more_than_it_must():
    row = {**ROW, **FLOORS, "received_nbytes": 3 << 20, "reduced_nbytes": 2 << 20}
    assert own_limits_of(row, None) == [pytest.approx(3 * 1e-5 + 2 * 2e-5)]


def test_half_of_the_least_round_trip_is_a_message():
    assert message_s([{"clock": {"round_trip_s": 4e-6}}, {"clock": {"round_trip_s": 2e-6}}, {}]) == 1e-6
    assert message_s([{"clock": {"method": "x"}}, {"clock": None}, {}]) is None


def test_the_largest_limit_counts_and_groups_have_none(tmp_path):
    rows = summarise(folder := build_run(tmp_path / "run", floors=True, ranks=[4]))
    large, small = (next(row for row in rows if row["size_bytes"] == size_bytes) for size_bytes in (1 << 22, 8))
    assert large["limit_by"] == "local work" and small["limit_s"] is None
    assert large["limit_s"] == pytest.approx(0.75 * (large["copy_floor_s"] + large["reduce_floor_s"]))
    assert large["of_limit"] == pytest.approx(large["limit_s"] / large["time_s"]) and large["own_limit_s"] is None
    in_groups = bound_rows(dataclasses.replace(folder.plan(), groups="2"), rows, folder.attempts())
    assert {row["limit_s"] for row in in_groups} == {None}

"""Schedules are proved as they run; steps that were not proved are named with their rank."""

from types import SimpleNamespace

import pytest
from interpreters import interpreters

from allreduce_bench.algorithms import builtin
from allreduce_bench.runs.plan import Cell, Plan
from allreduce_bench.schedule import Step, split
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm
from allreduce_bench.schedule.cut import cut

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

COUNT = 60


@pytest.fixture(scope="module")
def schedules():
    from allreduce_bench.measuring import schedules

    return schedules


@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def crossed(rank, size, topology, count, segment):
    """Of two ranks both halves at once, in crossed orders; of more the ring."""
    if size != 2:
        yield from builtin()["ring"].generate(rank, size, topology, count, segment)
        return
    low, high = split(range(count), 2)
    orders = (low, high), (high, low)
    yield Step(1 - rank, orders[rank], 1 - rank, orders[1 - rank], reduce=True)


def context(*sizes: int) -> SimpleNamespace:
    """What a proof asks of the launch: groups of these sizes."""
    layouts, first, parties = [Topology.one_node(size) for size in sizes], 0, []
    for size, layout in zip(sizes, layouts):
        parties.append((range(first, first + size), layout))
        first += size
    return SimpleNamespace(parties=parties, plan=Plan(("ring",), (4 * COUNT,), (max(sizes),), 1, seed=1))


def steps_of(algorithm, size: int, segment: int = COUNT):
    return algorithm.schedules(size, Topology.one_node(size), COUNT, segment)


def test_a_rank_with_other_steps_than_were_proved_is_named(schedules):
    assert schedules.ranks_with_other_steps([1, 2, 3], [1, 2, 3]) is None
    assert schedules.ranks_with_other_steps([1, 2, 4], [1, 2, 3]).startswith("rank 2 made other steps")


@pytest.mark.parametrize(
    ("name", "window", "steps"), [("ring", None, 6), ("ring", 2, 18), ("tree", None, None), ("tree", 2, None)]
)
def test_what_is_proved_is_what_runs(schedules, name, window, steps):
    """Cut where there is a window; never where the algorithm has segments of its own."""
    made, cell = builtin()[name], Cell(f"{name}@pipelined", 4 * COUNT, 5, window=window)
    proof = schedules.proof(context(4), made, cell)
    own = steps_of(made, 4, 5)
    if name == "ring" and window:
        own = [cut(rank, 5) for rank in own]
    assert proof.fingerprints == [schedules._fingerprint(rank) for rank in own]
    assert proof.facts["run_whole"] == "" and proof.facts["proved"]
    assert proof.facts["steps"] == max(map(len, own)) and steps in (None, proof.facts["steps"])


def test_where_one_party_may_not_be_cut_none_is(schedules):
    cell = Cell("crossed@pipelined", 4 * COUNT, COUNT // 2, window=2)
    whole = [schedules._fingerprint(rank) for size in (2, 3) for rank in steps_of(crossed, size)]
    proof = schedules.proof(context(2, 3), crossed, cell)
    assert proof.fingerprints == whole
    refused, _, where = proof.facts["run_whole"].partition(": ")
    assert refused.startswith("cut into segments") and refused.endswith("no all-reduce") and where.startswith("round ")
    assert schedules.proof(context(3), crossed, Cell("crossed@pipelined", 4 * COUNT, 7, window=2)).facts["steps"] == 12


def test_unproved_schedules_are_not_cut(schedules, monkeypatch):
    monkeypatch.setattr(schedules, "PROVED_UP_TO", 3)
    uncut = "only verified steps are cut, and those of more than 3 ranks are not verified"
    for window, reason in ((None, ""), (2, uncut)):
        facts = schedules.proof(
            context(4), builtin()["ring"], Cell("ring@pipelined", 4 * COUNT, 5, window=window)
        ).facts
        assert (facts["proved"], facts["run_whole"]) == (False, reason)

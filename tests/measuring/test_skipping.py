"""Which cells are not worth their time or their memory, in words."""

import time
from dataclasses import replace

import pytest
from interpreters import interpreters

from allreduce_bench.runs.competitor import Competitor
from allreduce_bench.runs.plan import Cell, Launch, Plan
from allreduce_bench.schedule.algorithm import Topology

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

PLAN = Plan(("ring", "naive"), (8, 1 << 20), (128,), 1, seed=1, bounded=("naive",))
MIB = Cell("ring", 1 << 20, None)


class Comm:
    """As many ranks as are asked for, without any of them."""

    rank = 0

    def __init__(self, size: int):
        self.size = size


@pytest.fixture
def context(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)  # it stands: busy cores use up none of what is left
    from allreduce_bench.algorithms import builtin
    from allreduce_bench.measuring.context import Context, Party

    real, comm = Topology.one_node(128), Comm(128)
    one_party = Party(comm, real, real), ((range(128), real),)
    return Context(comm, PLAN, Launch(128, 1), real, real, builtin(), None, None, *one_party)


def reason(context, cell) -> tuple[str, str] | None:
    from allreduce_bench.measuring.skipping import reason_to_skip

    found = reason_to_skip(context, cell)
    return found and (found["state"], found["reason"])


def test_algorithms_that_nobody_named_stop_at_64_ranks(context):
    naive = Cell("naive", 8, None)
    assert reason(context, naive) == ("skipped", "naive is limited to 64 ranks unless named with -a")
    assert reason(replace(context, party=context.party._replace(comm=Comm(64))), naive) is None
    assert reason(replace(context, plan=replace(PLAN, bounded=())), naive) is None


def test_only_the_algorithms_whose_cost_grows_with_ranks_times_size_are_bounded():
    from allreduce_bench.algorithms import builtin

    ranks, count = 64, 1 << 16
    for name, algorithm in builtin().items():
        sent = algorithm.cost(ranks, Topology.one_node(ranks), count, count).elements
        assert algorithm.bounded == (sent >= (ranks - 1) * count), name
    assert builtin()["naive"].bounded and builtin()["parameter_server"].bounded


def test_half_of_the_free_memory_is_the_most(context):
    need = 6 << 20
    assert reason(replace(context, memory_per_rank=2 * need), MIB) is None
    state, words = reason(replace(context, memory_per_rank=2 * need - 2), MIB)
    assert state == "skipped" and words.startswith("needs 6 MiB of buffers") and "half of the 12 MiB" in words


def test_messages_posted_ahead_count_as_memory(context):
    posted = replace(MIB, competitor=Competitor("ring@pipelined"), segment=1 << 16, window=8)  # 2 MiB of scratch
    need = 8 << 20
    assert reason(replace(context, memory_per_rank=2 * need), posted) is None
    assert reason(replace(context, memory_per_rank=2 * need - 2), posted)[1].startswith("needs 8 MiB of buffers")
    whole = replace(posted, segment=1 << 30, window=1)  # a segment is never longer than the vector
    assert reason(replace(context, memory_per_rank=14 << 20), whole) is None


def test_a_call_that_is_predicted_to_take_too_long_is_skipped(context):
    context.measured.first_calls["ring"] = (1 << 16, 1.0)
    state, words = reason(context, MIB)
    assert state == "skipped"
    estimate, limit, advice = words.replace("; ", ", ").split(", ")
    assert estimate.endswith("would take about 16.0 s by 64 KiB")
    assert (limit, advice) == ("more than 20 times --cell-time 0.5s", "increase --cell-time to measure it")
    context.measured.first_calls["ring"] = (1 << 16, 0.5)
    assert reason(context, MIB) is None
    context.measured.first_calls["ring"] = (64, 0.5)  # so small a size says nothing of large ones
    assert reason(context, MIB) is None


def test_with_iters_it_is_measured_however_long_it_takes(context):
    context.measured.first_calls["ring"] = (1 << 16, 100.0)
    assert reason(replace(context, plan=replace(PLAN, iters=3)), MIB) is None


def test_what_is_too_long_for_the_time_left_is_left_out_and_can_be_resumed(context):
    tree = replace(MIB, competitor="tree")
    context.measured.first_calls["tree"] = context.measured.first_calls["ring"] = (1 << 16, 0.1)
    hasty = replace(context, deadline=time.time() + 25)
    assert reason(hasty, tree) == ("left out", "time ran out: too little is left of --within")
    assert reason(hasty, MIB) is None  # what the others are compared with may take all of it
    assert reason(replace(context, deadline=time.time() + 600), MIB) is None
    assert reason(replace(context, deadline=time.time() - 1), MIB) == (
        "left out",
        "time ran out (--within)",
    )


def test_a_size_without_time_for_ring_has_none_for_others_either(context):
    context.measured.first_calls["ring"] = (1 << 16, 10.0)
    hasty, tree = replace(context, deadline=time.time() + 20), replace(MIB, competitor="tree")
    assert reason(hasty, tree) is None
    assert reason(hasty, MIB) == ("left out", "time ran out: too little is left of --within")
    assert reason(hasty, tree) == ("left out", "no time left for native and ring at this size")
    assert reason(hasty, replace(tree, size_bytes=8)) is None


def test_where_ring_is_measured_native_is_too_whatever_time_is_left(context):
    from allreduce_bench.measuring.skipping import after_first_call

    native, plan = Cell("native", MIB.size_bytes, None), replace(PLAN, competitors=("native", "ring", "tree"))
    late = replace(context, plan=plan, deadline=time.time() - 1)
    assert reason(late, native) == ("left out", "time ran out (--within)")
    hasty = replace(context, plan=plan, deadline=time.time() + 20)
    assert after_first_call(hasty, MIB, 4.0)["state"] == "left out"  # there must be time for both
    assert reason(hasty, native) == ("left out", "no time left for native and ring at this size")
    hasty.measured.given_up.clear()
    assert after_first_call(hasty, MIB, 0.1) is None
    assert reason(late, native) is None and after_first_call(late, native, 11.0)["state"] == "skipped"
    assert reason(late, replace(native, size_bytes=8)) == ("left out", "time ran out (--within)")


def test_the_first_call_counts_too_and_is_remembered(context):
    from allreduce_bench.measuring.skipping import after_first_call

    assert after_first_call(context, MIB, 0.5) is None and context.measured.first_calls == {"ring": (1 << 20, 0.5)}
    refused = after_first_call(context, MIB, 11.0)
    assert refused["state"] == "skipped" and refused["reason"].partition(" took ")[0] == "its first call"
    assert refused["reason"].partition(" took ")[2].startswith("11.0 s, more than 20")

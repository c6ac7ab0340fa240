"""The cost of an all-reduce: by alpha and beta, and from a log."""

from dataclasses import replace

import numpy as np
import pytest
from hand_models import hand_model

from allreduce_bench.models.machine import Machine, MachineError, bare_machine
from allreduce_bench.training.cost import CostError, LoggedCosts, Timed, choose, interpolate, modelled_costs

BARE = bare_machine(1e-5, 1e-9)
LOG = [Timed("native", 4, 1000, 1.0), Timed("native", 4, 1000, 3.0), Timed("native", 4, 1000, 1.5)]
LOG += [Timed("native", 4, 3000, 3.5), Timed("ring", 4, 3000, 3.0), Timed("ring", 2, 1000, 9.0)]


def test_a_ring_costs_what_its_messages_do():
    costs = modelled_costs(BARE, ["ring"])
    assert costs.algorithms == ("ring",)
    assert costs.time_s("ring", 4, 1 << 20) == pytest.approx(6 * 1e-5 + 1.5 * (1 << 20) * 1e-9)
    assert costs.time_s("ring", 1, 1 << 20) == 0


def test_the_fastest_is_chosen_by_size():
    costs = modelled_costs(BARE, ["ring", "recursive_doubling"])
    assert choose(costs, 8, 64).algorithm == "recursive_doubling"
    assert choose(costs, 8, 1 << 24).algorithm == "ring"
    assert choose(costs, 8, 64, "ring").algorithm == "ring"


def test_a_log_counts_by_the_median_and_by_straight_lines():
    costs = LoggedCosts(LOG, "x.log")
    assert costs.algorithms == ("native", "ring") and costs.ranks == [2, 4]
    assert costs.time_s("native", 4, 1000) == 1.5
    assert costs.time_s("native", 4, 2000) == pytest.approx(2.5)
    assert costs.time_s("native", 2, 1000) is None
    assert choose(costs, 4, 3000) == ("ring", 3.0)


def test_beyond_the_log_its_ends_count():
    line = [(1000, 1.0), (3000, 2.0)]
    assert interpolate(line, 10) == 1.0 and interpolate(line, 6000) == 4.0


def test_far_beyond_what_was_measured_a_time_is_doubtful():
    costs = LoggedCosts(LOG, "x.log")
    assert not costs.doubt("native", 4, 6000) and not costs.doubt("native", 1, 1 << 30)
    said = costs.doubt("native", 4, 6001)
    assert "2 times" in said and "measured (2.93 KiB)" in said
    assert not modelled_costs(BARE).doubt("ring", 1024, 1 << 30)  # nothing was measured


def test_a_fit_is_doubtful_far_from_what_was_measured():
    ring = hand_model("ring", (2, 4), sizes=(8, 4096))
    costs = modelled_costs(Machine((ring,)), extrapolate=True)
    assert not costs.doubt("ring", 8, 4096) and not costs.doubt("ring", 1, 1 << 30)
    for size_bytes in (4, 8192):
        assert "sizes (8 B to 4 KiB)" in costs.doubt("ring", 8, size_bytes)
    assert not costs.doubt("ring", 32, 8)
    assert costs.doubt("ring", 33, 8) == "on many more ranks than were measured (2 to 4)"
    few = modelled_costs(Machine((hand_model("ring", (32, 64)),)), extrapolate=True)
    assert few.doubt("ring", 3, 8) == "on many fewer ranks than were measured (32 to 64)"
    said = costs.doubt("ring", 4, 8193)
    assert "2 times" in said and "measured (4 KiB)" in said


def test_what_a_log_does_not_say_is_refused():
    with pytest.raises(CostError, match=r"x\.log: contains.*8 ranks; it has 2, 4"):
        LoggedCosts(LOG, "x.log").time_s("native", 8, 1000)
    with pytest.raises(CostError, match=r"x\.log: contains.*add -n"):
        LoggedCosts([], "x.log")
    with pytest.raises(CostError, match="native: not timed.*2 ranks"):
        choose(LoggedCosts(LOG, "x.log"), 2, 1000, "native")


def test_an_algorithm_that_was_not_fitted_is_refused():
    with pytest.raises(MachineError, match="native"):
        modelled_costs(BARE, ["native"])


def test_a_lower_bound_is_no_rival_of_a_time_that_is_known():
    """Native took as long on 2 and 4 ranks: on 32 it is at the bound, takes that or more, and the ring is chosen."""
    ring, native = hand_model("ring", (2, 4)), hand_model("native", (2, 4), 0.5, "rabenseifner", is_library=True)
    flat = replace(native, cells=tuple(one._replace(time_s=one.time_s / np.log2(one.ranks)) for one in native.cells))
    costs = modelled_costs(Machine((ring, flat)))
    assert costs.is_lower_bound("native", 32, 8) and not costs.is_lower_bound("ring", 32, 8)
    assert not costs.is_lower_bound("native", 1, 8) and not costs.is_lower_bound("native", 4, 8)
    assert costs.time_s("native", 32, 8) < costs.time_s("ring", 32, 8)
    assert choose(costs, 32, 8).algorithm == "ring" and choose(costs, 32, 8, "native").algorithm == "native"
    assert not LoggedCosts(LOG, "x.log").is_lower_bound("ring", 4, 3000)


def test_the_fastest_is_the_one_that_predict_names():
    """At 16 ranks the tree's time is less than the ring's, by less than the interval: the ring won at 8."""
    ring, tree = hand_model("ring", (2, 4, 8)), hand_model("tree", (2, 4, 8), 1.6)
    costs = modelled_costs(Machine((ring, tree)))
    assert costs.time_s("tree", 16, 8) < costs.time_s("ring", 16, 8)
    assert choose(costs, 16, 8).algorithm == costs.fastest(16, 8) == "ring"


def test_sizes_far_beyond_the_measured_ones_have_no_time_unless_requested():
    machine = Machine((hand_model("ring", (2, 4), sizes=(8, 1 << 20)),))
    with pytest.raises(CostError, match="ring: no time"):
        choose(modelled_costs(machine), 4, 1 << 25)
    assert choose(modelled_costs(machine, extrapolate=True), 4, 1 << 25).time_s > 0


def test_the_fastest_of_some_is_doubtful_beside_one_whose_time_is_unknown():
    """The tree was measured up to 1 MiB only: at 32 MiB it may be faster than the ring, which was measured there."""
    measured = {"ring": (8, 1 << 25), "tree": (8, 1 << 20)}
    models = [hand_model(name, (2, 4), sizes=sizes) for name, sizes in measured.items()]
    costs = modelled_costs(Machine(tuple(models)))
    assert not costs.doubt("ring", 4, 1 << 20)
    assert choose(costs, 4, 1 << 25).algorithm == "ring"
    said = costs.doubt("ring", 4, 1 << 25)
    assert "by the fastest" in said and "of tree there" in said
    assert not modelled_costs(Machine(tuple(models)), ["ring"]).doubt("ring", 4, 1 << 25)

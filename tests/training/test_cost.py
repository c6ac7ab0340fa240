"""The cost of an all-reduce: by alpha and beta, and from a log."""

from dataclasses import replace

import pytest

from allreduce_bench.models.forms import Form
from allreduce_bench.models.machine import Machine, MachineError, bare_machine
from allreduce_bench.models.model import Model, ModelPart, Parameter
from allreduce_bench.training.cost import CostError, LoggedCosts, Timed, choose, interpolated, modelled_costs

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
    assert interpolated(line, 10) == 1.0 and interpolated(line, 6000) == 4.0


def test_far_beyond_what_was_measured_a_time_is_doubtful():
    costs = LoggedCosts(LOG, "x.log")
    assert not costs.doubt("native", 4, 6000) and not costs.doubt("native", 1, 1 << 30)
    said = costs.doubt("native", 4, 6001)
    assert "2 times" in said and "measured (2.93 KiB)" in said
    assert not modelled_costs(BARE).doubt("ring", 1024, 1 << 30)  # nothing was measured


def test_a_fit_is_doubtful_on_many_more_ranks():
    prices = [Parameter(name, "", 0.0, 1e-9, None, None, True) for name in ("alpha_s", "beta_s_per_byte")]
    ring = Model("ring", (ModelPart("ring", Form(), tuple(prices)),), ranks=(2, 4), size_bytes=(8, 4096))
    costs = modelled_costs(Machine((ring,)))
    assert not costs.doubt("ring", 8, 4096) and not costs.doubt("ring", 1, 1 << 30)
    for size_bytes in (4, 8192):  # as `predict` marks them
        told = costs.doubt("ring", 8, size_bytes)
        assert "sizes (8 B to 4 KiB)" in told
    former = modelled_costs(Machine((replace(ring, size_bytes=()),)))
    assert "which the range" in former.doubt("ring", 4, 4096)
    assert costs.doubt("ring", 9, 8) == "on many more ranks than were measured (2 to 4)"
    few = replace(ring, ranks=(16, 32))
    assert modelled_costs(Machine((few,))).doubt("ring", 4, 8) == "on many fewer ranks than were measured (16 to 32)"
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
    """native is below the bound of the ring: it takes that or more, and the ring is chosen."""
    prices = [("alpha_s", 1e-6), ("beta_s_per_byte", 1e-9)]
    ring, lean = (
        tuple(Parameter(name, "", 0.0, value * factor, None, None, True) for name, value in prices)
        for factor in (1.0, 0.5)
    )
    lean = (lean[0], lean[1]._replace(value=0.0))
    models = [
        Model(name, (ModelPart("ring", Form(), found),), ranks=(2, 4), size_bytes=(8, 1 << 24))
        for name, found in (("ring", ring), ("native", lean))
    ]
    costs = modelled_costs(Machine(tuple(models)))
    assert costs.is_lower_bound("native", 4, 1 << 24) and not costs.is_lower_bound("ring", 4, 1 << 24)
    assert not costs.is_lower_bound("native", 1, 1 << 24)
    assert costs.time_s("native", 4, 1 << 24) < costs.time_s("ring", 4, 1 << 24)
    assert choose(costs, 4, 1 << 24).algorithm == "ring" and choose(costs, 4, 1 << 24, "native").algorithm == "native"
    assert choose(costs, 4, 8).algorithm == "native"  # there it is above the bound
    assert not LoggedCosts(LOG, "x.log").is_lower_bound("ring", 4, 3000)


def test_sizes_far_beyond_the_measured_ones_have_no_time_unless_requested():
    (ring,) = (one for one in BARE.models if one.algorithm == "ring")
    machine = Machine((replace(ring, ranks=(2, 4), size_bytes=(8, 1 << 20)),))
    with pytest.raises(CostError, match="ring: no time"):
        choose(modelled_costs(machine), 4, 1 << 25)
    assert choose(modelled_costs(machine, extrapolate=True), 4, 1 << 25).time_s > 0


def test_the_fastest_of_some_is_doubtful_beside_one_whose_time_is_unknown():
    """The tree was measured up to 1 MiB only: at 32 MiB it may be faster than the ring, which was measured there."""
    measured = {"ring": 1 << 25, "tree": 1 << 20}
    models = [
        replace(one, ranks=(2, 4), size_bytes=(8, measured[one.algorithm]))
        for one in BARE.models
        if one.algorithm in measured
    ]
    costs = modelled_costs(Machine(tuple(models)))
    assert not costs.doubt("ring", 4, 1 << 20)
    assert choose(costs, 4, 1 << 25).algorithm == "ring"
    said = costs.doubt("ring", 4, 1 << 25)
    assert "by the fastest" in said and "of tree there" in said
    assert not modelled_costs(Machine(tuple(models)), ["ring"]).doubt("ring", 4, 1 << 25)

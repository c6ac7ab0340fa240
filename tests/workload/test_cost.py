"""The cost of an all-reduce: by alpha and beta, and from a log."""

import pytest

from allreduce_bench.models.machine import MachineError, bare_machine
from allreduce_bench.workload.cost import (
    CostError,
    LoggedCosts,
    Timed,
    choose,
    interpolated,
    modelled_costs,
)

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
    assert costs.algorithms == ("native", "ring") and costs.ranks == [2, 4] and costs.reach(4) == (1000, 3000)
    assert costs.time_s("native", 4, 1000) == 1.5
    assert costs.time_s("native", 4, 2000) == pytest.approx(2.5)
    assert costs.time_s("native", 2, 1000) is None
    assert choose(costs, 4, 3000) == ("ring", 3.0)


def test_beyond_the_log_its_ends_count():
    line = [(1000, 1.0), (3000, 2.0)]
    assert interpolated(line, 10) == 1.0 and interpolated(line, 6000) == 4.0


def test_what_a_log_does_not_say_is_refused():
    with pytest.raises(CostError, match="x.log: contains no all-reduce of 8 ranks; it has 2, 4"):
        LoggedCosts(LOG, "x.log").time_s("native", 8, 1000)
    with pytest.raises(CostError, match="contains no all-reduce with a time"):
        LoggedCosts([], "x.log")
    with pytest.raises(CostError, match="native: cannot run on 2 ranks"):
        choose(LoggedCosts(LOG, "x.log"), 2, 1000, "native")


def test_an_algorithm_that_was_not_fitted_is_refused():
    with pytest.raises(MachineError, match="native"):
        modelled_costs(BARE, ["native"])

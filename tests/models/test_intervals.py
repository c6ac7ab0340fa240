"""Intervals hold the truth, and what the times cannot tell is only bounded."""

import numpy as np
import pytest
from made_models import ALPHA_S, BETA_S_PER_BYTE, observed, series

from allreduce_bench.models.fitting import TYPICAL, estimates, fit_form, reach
from allreduce_bench.models.forms import Form, Observations
from allreduce_bench.models.series import fit_series, near_rivals, observe, ranked


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_the_truth_lies_within_the_intervals(launches):
    """All parameters at once, the form chosen among all candidates: in 9 of 10 trials at least."""
    trials, inside = 200 if launches == 1 else 60, 0
    points = series("recursive_doubling", (4, 8, 16), noise=0.0)
    exact = observed("recursive_doubling", points)
    random = np.random.default_rng(launches)
    for _ in range(trials):
        logs = exact.log_time + np.log(random.normal(1, 0.05, (launches, len(exact.ranks))))
        seen = Observations(exact.ranks, exact.size_bytes, logs, exact.paths)
        found = ranked(seen, seen.counts)
        (part,) = estimates(seen, found[0], near_rivals(seen, found)).parts
        known = {one.name: one for one in part.parameters if one.above == 0}
        truth = {"alpha_s": ALPHA_S, "beta_s_per_byte": BETA_S_PER_BYTE}
        inside += all((known[name].low or 0) <= value <= known[name].high for name, value in truth.items())
    assert inside >= 0.9 * trials


@pytest.mark.parametrize("algorithm", ["ring", "rabenseifner"])
def test_intervals_know_what_the_form_misses(algorithm):
    """Without noise, and vectors of 8 to 256 KiB a quarter longer: at lengths of the vector, which no form has.

    The ends of a bootstrap would be the value itself. `tests/studies/parameter_intervals.py` counts more kinds.
    """
    points = series(algorithm, (4, 8, 16), tuple(8 * 4**power for power in range(12)), launches=3, noise=0.001)
    middle = points["size_bytes"].between(8192, 262144)
    points["time_s"] = points["time_s"].where(~middle, 1.25 * points["time_s"])
    seen = observe(points, (algorithm,), 4, None)
    found = ranked(seen, seen.counts)
    (part,) = estimates(seen, found[0], near_rivals(seen, found)).parts
    alpha, beta = (
        [one for one in part.parameters if one.name == name][place]
        for name, place in (("alpha_s", 0), ("beta_s_per_byte", -1))
    )
    assert alpha.identified and alpha.low <= ALPHA_S <= alpha.high
    assert beta.identified and beta.low <= BETA_S_PER_BYTE <= beta.high and beta.high > 1.02 * beta.low


def test_what_the_times_cannot_tell_has_only_a_bound():
    points = series("ring", (2, 4, 8, 16), theta=(ALPHA_S, 0.0), noise=0.02)
    seen = observed("ring", points)
    (part,) = estimates(seen, fit_form(seen, "ring", Form(), seen.at(seen.counts))).parts
    alpha, beta = part.parameters
    assert alpha.identified and alpha.low < ALPHA_S < alpha.high
    assert not beta.identified and beta.low is None and 0 < beta.high < 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_a_bound_lies_above_the_value_that_was_fitted(seed):
    """Of noisy times the least is soon below the model's, and would bound a parameter by less than its own value."""
    points = series("ring", (2, 3, 4), (8, 256, 4096, 1 << 15, 1 << 18, 1 << 21), launches=3, noise=0.6, seed=seed)
    (found,) = fit_series(points)
    unknown = [one for part in found.model.parts for one in part.parameters if not one.identified]
    assert all(one.high > one.value for one in unknown), unknown


def test_a_term_that_stands_nowhere_has_no_bound():
    """Of links within nodes no message was seen: nothing is known of them, not even a largest value."""
    seen = observe(series("ring", ranks=(2, 4, 8), noise=0.02), ("ring",), 4, None)
    (part,) = estimates(seen, fit_form(seen, "ring", Form(levels=2), np.ones(len(seen.ranks), dtype=bool))).parts
    within = [one for one in part.parameters if one.link == "within"]
    assert within and all((one.identified, one.low, one.high) == (False, None, None) for one in within)


def test_reach_grows_with_held_out_errors_up_to_a_limit():
    """Half as fast as they do, in logarithms: it is the mean of these and of what series usually have."""
    inside = np.full(20, 0.1)
    assert reach(inside, np.full(20, 0.15)).log == pytest.approx((0.15 * TYPICAL) ** 0.5)
    assert reach(inside, np.full(20, 3.0)).log == pytest.approx((0.2 * TYPICAL) ** 0.5)
    assert reach(inside, np.empty(0)).log == pytest.approx((0.15 * TYPICAL) ** 0.5)
    assert reach(inside, np.full(20, 0.01)).log == pytest.approx((0.1 * TYPICAL) ** 0.5)
    assert reach(inside, inside).at(2.0) > reach(inside, inside).at(1.0) > reach(inside, inside).log

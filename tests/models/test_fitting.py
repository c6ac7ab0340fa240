"""A fit finds what was put in, finds no worse than scipy's own search, and says what it cannot tell."""

import numpy as np
import pytest
from made_models import ALPHA_S, BETA_S_PER_BYTE, SIZES, observed, series
from scipy.optimize import least_squares

from allreduce_bench.models.choice import ranked, simpler_rivals
from allreduce_bench.models.fitting import SOFT, fit_form, separable, soft_l1
from allreduce_bench.models.forms import Form, crowded, matrix
from allreduce_bench.models.intervals import estimates
from allreduce_bench.models.joint import joint, joints, local_gamma
from allreduce_bench.models.observations import Observations
from allreduce_bench.models.series import FittedSeries, TooFewPoints, fit_series, observe

FORMS = [
    Form(),
    Form(call=True),
    Form(knots=(1000.0,)),
    Form(call=True, knots=(100.0, 1e5)),
    Form(levels=2),
    Form(levels=2, knots=(5000.0,), reduced=True),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_the_quick_matrix_is_that_of_the_forms(form):
    seen = observed("rabenseifner", series("rabenseifner", (4, 6, 16), ranks_per_node=2))
    columns = seen.paths["rabenseifner"]
    assert columns.matrix(form) == pytest.approx(matrix(form, columns.terms))


@pytest.mark.parametrize(
    ("form", "theta", "contention"),
    [
        (Form(), (ALPHA_S, BETA_S_PER_BYTE), 0.0),
        (Form(call=True), (3e-5, ALPHA_S, BETA_S_PER_BYTE), 0.0),
        (Form(knots=(4096.0,)), (ALPHA_S, 1e-9, 2e-5, BETA_S_PER_BYTE), 0.0),
        (Form(contention=True), (ALPHA_S, BETA_S_PER_BYTE), 0.3),
        (Form(call=True, contention=True), (3e-5, ALPHA_S, BETA_S_PER_BYTE), 0.2),
        (Form(levels=2), (1e-6, 2e-11, ALPHA_S, BETA_S_PER_BYTE), 0.0),
    ],
    ids=str,
)
def test_exact_times_give_the_exact_parameters(form, theta, contention):
    points = series(
        "recursive_doubling", (4, 8, 16, 64), form=form, theta=theta, contention=contention, ranks_per_node=2
    )
    seen = observed("recursive_doubling", points)
    (branch,) = fit_form(seen, "recursive_doubling", form, seen.at(seen.counts)).branches
    assert branch.theta == pytest.approx(theta, rel=1e-3) and branch.contention == pytest.approx(contention, abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_no_random_start_of_scipy_ends_lower(seed):
    form = Form(call=True, knots=(1000.0,), contention=True)
    points = series("rabenseifner", (2, 4, 8, 16, 32), noise=0.3, seed=seed)
    seen = observed("rabenseifner", points)
    fit = fit_form(seen, "rabenseifner", form, seen.at(seen.counts))
    (branch,), columns = fit.branches, seen.paths["rabenseifner"].matrix(form)
    scale = np.maximum(branch.theta, np.exp(seen.log_time).min() / np.maximum(columns.max(axis=0), 1e-9))
    random = np.random.default_rng(seed)

    def residual(factors):
        grown = crowded(form, columns, seen.log_ranks, factors[-1])
        return np.log(np.maximum(grown @ (scale * factors[:-1]), 1e-300)) - seen.log_time

    for _ in range(4):
        start = np.append(random.lognormal(0, 1, len(scale)), 0.1)
        bounds = (0, np.append(np.full(len(scale), np.inf), 1.0))
        found = least_squares(residual, start, bounds=bounds, loss="soft_l1", f_scale=SOFT)
        assert fit.loss <= soft_l1(found.fun).sum() * 1.01 + 1e-9


def test_one_wild_time_hardly_moves_the_fit():
    points = series("ring", noise=0.02)
    points.loc[3, "time_s"] *= 50
    seen = observed("ring", points)
    (branch,) = fit_form(seen, "ring", Form(), seen.at(seen.counts)).branches
    assert branch.theta == pytest.approx([ALPHA_S, BETA_S_PER_BYTE], rel=0.1)


def test_a_column_that_follows_from_others_is_left_out():
    first, second = np.array([1.0, 2, 3]), np.array([1.0, 1, 1])
    assert separable(np.column_stack([first, 2 * first, second, first + second])).tolist() == [True, False, True, False]


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_the_truth_lies_within_the_intervals(launches):
    """All parameters at once, the form chosen among all candidates: in 9 of 10 trials at least."""
    trials, inside = 200 if launches == 1 else 60, 0
    points = series("recursive_doubling", (4, 8, 16), noise=0.0)
    exact = observed("recursive_doubling", points)
    random = np.random.default_rng(launches)
    for _ in range(trials):
        logs = exact.log_time + np.log(random.normal(1, 0.05, (launches, len(exact.ranks))))
        seen = Observations(exact.ranks, exact.nbytes, logs, exact.paths)
        found = ranked(seen, seen.counts)
        (part,) = estimates(seen, found[0], simpler_rivals(found)).parts
        known = {one.name: one for one in part.parameters if one.above == 0}
        truth = {"alpha_s": ALPHA_S, "beta_s_per_byte": BETA_S_PER_BYTE}
        inside += all((known[name].low or 0) <= value <= known[name].high for name, value in truth.items())
    assert inside >= 0.9 * trials


def test_what_the_times_cannot_tell_has_only_a_bound():
    points = series("ring", (2, 4, 8, 16), theta=(ALPHA_S, 0.0), noise=0.02)
    seen = observed("ring", points)
    (part,) = estimates(seen, fit_form(seen, "ring", Form(), seen.at(seen.counts))).parts
    alpha, beta = part.parameters
    assert alpha.identified and alpha.low < ALPHA_S < alpha.high
    assert not beta.identified and beta.low is None and 0 < beta.high < 1e-12


def _fitted(*frames):
    return [one for frame in frames for one in fit_series(frame) if isinstance(one, FittedSeries)]


def test_gamma_is_refused_for_one_algorithm_and_found_with_two():
    theta, form = (ALPHA_S, BETA_S_PER_BYTE, 3e-10), Form(reduced=True)
    both = [series(name, form=form, theta=theta, noise=0.03) for name in ("ring", "recursive_doubling")]
    with pytest.raises(TooFewPoints, match="cannot be told from beta with one algorithm"):
        joint(_fitted(both[0]))
    (found,), refused = joints(_fitted(*both))
    assert not refused and found.algorithms == ("ring", "recursive_doubling") and found.condition < 10
    for parameter, truth in zip(found.parameters, theta):
        assert parameter.identified and parameter.low < truth < parameter.high


def test_runs_and_executors_share_no_gamma():
    ring, doubling = series("ring"), series("recursive_doubling").assign(executor="pipelined")
    found, refused = joints(_fitted(ring, doubling))
    assert not found and len(refused) == 2


def test_gamma_of_a_local_reduction():
    nbytes = np.array(SIZES, dtype=float)
    found = local_gamma(nbytes, 2e-7 + 3e-11 * nbytes)
    assert found.identified and found.value == pytest.approx(3e-11, rel=1e-3)
    with pytest.raises(TooFewPoints, match="three sizes"):
        local_gamma(nbytes[:2], nbytes[:2])


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

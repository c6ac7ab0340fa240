"""A fit finds what was put in, finds no worse than scipy's own search, and says what it cannot tell."""

from math import inf

import numpy as np
import pytest
from made_models import ALPHA_S, BETA_S_PER_BYTE, observed, series
from scipy.optimize import least_squares
from scipy.stats import norm, t

from allreduce_bench.models.fitting import SOFT, fit_form, separable, soft_l1, t_quantile
from allreduce_bench.models.forms import Form, crowded


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


@pytest.mark.parametrize("tail, degrees", [(0.025, 4), (0.025 / 7, 12), (0.001, 200)])
def test_quantiles_are_those_of_scipy_to_the_last_bit(tail, degrees):
    assert -t_quantile(tail, degrees) == t.isf(tail, degrees) and -t_quantile(tail, inf) == norm.isf(tail)

"""The fit finds what was put in, and says so where it cannot."""

import numpy as np
import pandas as pd
import pytest
from made_runs import ALPHA_S, BETA_S_PER_BYTE, build_run

from allreduce_bench.evaluation import frames
from allreduce_bench.report.lower_bounds import LOWER_BOUNDS, bounds, cheapest, fit, lower_bound, predict_time, solve


def frame(algorithm="ring", ranks=4, messages=(6, 6, 6, 6), nbytes=(8, 1024, 65536, 1 << 20), times=None):
    """Summary rows of one algorithm; by default on the model's line."""
    moved = [2 * (ranks - 1) / ranks * n for n in nbytes]
    if times is None:
        times = [ALPHA_S * m + BETA_S_PER_BYTE * b for m, b in zip(messages, moved)]
    count = len(times)
    known = {"path_messages": messages[:count], "path_nbytes": moved[:count], "nbytes": nbytes[:count], "time_s": times}
    common = {
        "run": "a",
        "ranks": ranks,
        "algorithm": algorithm,
        "executor": "sendrecv",
        "cache": "warm",
        "groups": None,
    }
    return pd.DataFrame({**common, **known})


def test_recovers_alpha_and_beta_from_noisy_times(tmp_path):
    fits = fit(frames.summary([build_run(tmp_path / "a")]))
    assert len(fits) == 2 * 3
    assert fits["alpha_s"].to_numpy() == pytest.approx(ALPHA_S, rel=0.05)
    assert fits["beta_s_per_byte"].to_numpy() == pytest.approx(BETA_S_PER_BYTE, rel=0.05)
    assert (fits["median_error"] < 0.05).all() and fits["reason"].isna().all() and (fits["points"] == 5).all()


def test_native_is_held_against_the_lower_bounds(tmp_path):
    fits = fit(frames.summary([build_run(tmp_path / "a")])).set_index("algorithm")
    assert set(fits.loc["native", "against"]) == {LOWER_BOUNDS}
    assert set(fits.loc["ring", "against"]) == {"its schedule"}


def test_minimises_relative_errors():
    """No neighbour of the solution has a smaller sum of squared relative errors."""
    random = np.random.default_rng(1)
    messages, nbytes = np.full(6, 4.0), np.geomspace(8, 1 << 24, 6)
    times = (ALPHA_S * messages + BETA_S_PER_BYTE * nbytes) * random.lognormal(0, 0.3, 6)
    found = np.array(solve(messages, nbytes, times))

    def loss(alpha_s, beta_s_per_byte):
        return np.sum((predict_time(messages, nbytes, alpha_s, beta_s_per_byte) / times - 1) ** 2)

    for step in ([1.001, 1], [0.999, 1], [1, 1.001], [1, 0.999]):
        assert loss(*found) < loss(*(found * step))


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (frame(times=[1e-5, 2e-5]), "fewer than 3 sizes"),
        (frame(ranks=1, times=[1e-7, 1e-7, 1e-6, 1e-5]), "one rank"),
        (frame(messages=(8, 1024, 65536, 1 << 20)), "grow in step"),
        (frame(messages=(np.nan,) * 4, times=[1e-5, 2e-5, 3e-5, 4e-5]), "not known"),
    ],
)
def test_no_fit_has_no_numbers(rows, reason):
    (row,) = fit(rows).to_dict("records")
    assert reason in row["reason"]
    assert np.isnan([row["alpha_s"], row["beta_s_per_byte"], row["median_error"]]).all()


def test_a_parameter_at_its_bound_is_missing_not_zero():
    (flat,) = fit(frame(times=[4e-5, 3e-5, 2e-5, 1e-5])).to_dict("records")
    assert flat["alpha_s"] > 0 and np.isnan(flat["beta_s_per_byte"]) and flat["median_error"] > 0
    (steep,) = fit(frame(times=[1e-12, 1e-9, 1e-5, 1e-2])).to_dict("records")
    assert np.isnan(steep["alpha_s"]) and steep["beta_s_per_byte"] > 0


def test_lower_bound_is_the_greater_of_two():
    assert lower_bound(0, 8, 1e-6, 1e-9) == pytest.approx(3e-6)
    assert lower_bound(1 << 20, 4, 1e-6, 1e-9) == pytest.approx(1.5 * 2**20 * 1e-9)
    assert lower_bound(8, 5, 1e-6, np.nan) == pytest.approx(3e-6)
    assert np.isnan(lower_bound(8, 5, np.nan, np.nan))
    assert lower_bound(np.array([0, 1 << 30]), 2, 1e-6, 1e-9) == pytest.approx([1e-6, 2**30 * 1e-9])


def test_no_schedule_beats_the_bound_of_its_own_parameters(tmp_path):
    rows = frames.summary([build_run(tmp_path / "a", ranks=(3, 4, 8))])
    bound = [lower_bound(row.nbytes, row.ranks, ALPHA_S, BETA_S_PER_BYTE) for row in rows.itertuples()]
    assert (rows["time_s"] >= 0.95 * np.array(bound)).all()


def test_bounds_use_the_smallest_parameters():
    fits = fit(pd.concat([frame("ring"), frame("tree", times=[1e-5, 2e-5, 3e-5, 4e-5])]))
    (least,) = cheapest(fits).to_dict("records")
    assert least["alpha_s"] == fits["alpha_s"].min() and least["beta_s_per_byte"] == fits["beta_s_per_byte"].min()
    curve = bounds(fits, 8, 1 << 20)
    assert curve["nbytes"].iloc[0] == pytest.approx(8) and curve["nbytes"].iloc[-1] == pytest.approx(1 << 20)
    assert curve["busbw_bytes_per_s"].max() <= 1 / least["beta_s_per_byte"] * (1 + 1e-9)

"""A trend: of each size a line over log2 p, where a library's times follow no schedule; it claims no prices.

Beside a form its share is half, unless one of the two is shown to be closer at the largest number of ranks.
"""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_models import SIZES, series

from allreduce_bench.models.forms import Observations, SizeLine, trend_s
from allreduce_bench.models.listing import Listing
from allreduce_bench.models.machine import Machine, read_machine, write_machine
from allreduce_bench.models.model import bounds
from allreduce_bench.models.prediction import CompetingModels, Layout
from allreduce_bench.models.series import FittedSeries, Rivals, fit_series
from allreduce_bench.models.words import model_lines, parameter_frame

BASE_S = dict(zip(SIZES, np.array([20, 60, 15, 90, 40, 300, 150, 2000]) * 1e-6))  # as no schedule has it


def times_of_no_schedule(algorithm: str, ranks=(2, 4, 8, 16)) -> pd.DataFrame:
    points = series("ring", ranks)
    times = [
        BASE_S[size_bytes] * (1 + 0.2 * np.log2(p)) for size_bytes, p in zip(points["size_bytes"], points["ranks"])
    ]
    return points.assign(time_s=times, competitor=algorithm, nodes=pd.NA)


@pytest.fixture(scope="module")
def found() -> FittedSeries:
    (fitted,) = fit_series(times_of_no_schedule("native"))
    assert isinstance(fitted, FittedSeries)
    return fitted


def test_a_library_of_no_schedule_is_a_trend_and_keeps_to_it_at_other_ranks(found):
    group = CompetingModels([found.model])
    for size_bytes, base_s in BASE_S.items():
        predicted = group.at("native", 32, size_bytes).prediction
        assert (
            predicted.time_s == pytest.approx(2 * base_s) and not predicted.unidentified and not predicted.speculative
        )
        assert predicted.low_s < predicted.time_s < predicted.high_s
    assert (
        found.model.errors["leave_largest_p_out"].median < 0.01 < found.model.plain_errors["leave_largest_p_out"].median
    )


def test_between_two_sizes_it_is_between_their_times(found):
    low, between, high = (CompetingModels([found.model]).at("native", 8, n).prediction for n in (8, 23, 64))
    assert low.time_s < between.time_s < high.time_s


def test_beyond_its_sizes_it_grows_from_its_end_and_is_speculative(found):
    group, farther = CompetingModels([found.model]), CompetingModels([found.model], Layout(extrapolate=True))
    most = max(SIZES)
    at_end, next_to_it = (group.at("native", 32, n).prediction for n in (most, most + 4))
    assert next_to_it.time_s == pytest.approx(at_end.time_s, rel=0.01) and next_to_it.speculative
    assert next_to_it.unidentified and group.at("native", 32, 8 * most).prediction is None
    assert farther.at("native", 32, 8 * most).prediction.time_s > at_end.time_s


def test_it_says_so_and_claims_no_price(found, tmp_path):
    model = found.model
    assert not any(one.identified or one.high for part in model.parts for one in part.parameters)
    assert bounds([model], 4, None, 1 << 20) == (0, 0)
    assert any("fitted without 16 ranks" in note for note in model.notes)
    listing = Listing([found], [])
    assert (
        "trend: of each size a line over log2 p; no alpha and beta" in listing.table()
        and "alpha " not in listing.table().split("\n\n")[0].replace("alpha and", "")
    )
    rows = list(csv.DictReader(io.StringIO(listing.csv())))
    assert {row["parameter"] for row in rows} == {"base_s", "slope_s"} and len(rows) == 2 * len(SIZES)
    assert [line["size_bytes"] for line in json.loads(listing.json())["models"][0]["trend"]] == list(SIZES)
    ((line,), frame) = model_lines([model]), parameter_frame([model])
    assert (
        line["parts"] == [{"form": "trend: of each size a line over log2 p; no alpha and beta", "parameters": []}]
        and frame.empty
    )
    write_machine(Machine((model,)), tmp_path / "machine.json")
    assert read_machine(tmp_path / "machine.json").models == (model,)


@pytest.mark.parametrize(
    "form, trend, share",
    [
        ([0.01, 0.02, 0.01, 0.02], [0.9, 0.8, 0.9, 0.8], 0.0),
        ([0.9, 0.8, 0.9, 0.8], [0.01, 0.02, 0.01, 0.02], 1.0),
        ([0.5, 0.4, 0.5, 0.4], [-0.5, -0.4, -0.5, -0.4], 0.5),  # one too high, one too low
        ([0.9, 0.0, 0.9, 0.0], [0.0, 0.9, 0.0, 0.8], 0.5),  # each closer at some sizes
        ([0.2, 0.2, 0.2, 0.2], [0.2, 0.2, 0.2, 0.2], 0.5),
    ],
)
def test_the_trend_has_half_unless_one_is_shown_to_be_closer(form, trend, share):
    assert Rivals(np.array(form), np.array(trend)).trend_share == share


def test_two_numbers_of_ranks_do_not_tell_and_the_mean_counts(tmp_path):
    (fitted,) = fit_series(times_of_no_schedule("native", (2, 8)))
    model = fitted.model
    assert model.trend_share == 0.5
    assert any("closer" in note for note in model.notes)
    assert model_lines([model])[0]["parts"] == [
        {
            "form": (
                "geometric mean of a trend (of each size a line over log2 p) and of alpha-beta models; no alpha and "
                "beta"
            ),
            "parameters": [],
        }
    ]
    whole, none = replace(model, trend_share=1.0), replace(model, trend=())
    for size_bytes in (SIZES[0], 23, SIZES[-1]):
        mean_s, trend_s_, form_s = (
            CompetingModels([one]).at("native", 16, size_bytes).prediction.time_s for one in (model, whole, none)
        )
        assert mean_s == pytest.approx((trend_s_ * form_s) ** 0.5)
    write_machine(Machine((model,)), tmp_path / "machine.json")
    assert read_machine(tmp_path / "machine.json").models == (model,)


def test_the_interval_of_a_mean_widens_by_as_much_as_its_two_models_are_apart():
    (fitted,) = fit_series(times_of_no_schedule("native", (2, 8)))
    model = fitted.model
    whole, none = replace(model, trend_share=1.0), replace(model, trend=())
    for size_bytes in (SIZES[2], SIZES[-1] + 4):  # measured, and beyond
        mean, by_trend, by_form = (
            CompetingModels([one]).at("native", 8, size_bytes).prediction for one in (model, whole, none)
        )
        apart, halves = np.log(by_trend.time_s / by_form.time_s), np.log([mean.high_s, by_trend.high_s])
        widths = halves - np.log([mean.time_s, by_trend.time_s])
        if size_bytes in SIZES:
            assert widths[0] - widths[1] == pytest.approx(abs(apart)) and abs(apart) > 0.01
        else:
            assert widths[0] > widths[1]


def test_a_known_schedule_is_no_trend_however_well_that_fits():
    (fitted,) = fit_series(times_of_no_schedule("ring", (2, 4, 8)))
    assert isinstance(fitted, FittedSeries) and not fitted.model.trend and fitted.model.uniform


def trend_of(times_s: dict[int, tuple[float, ...]], ranks=(2, 4, 8)) -> dict[int, SizeLine]:
    """The lines of these times by size, on each of `ranks`."""
    cells = [(p, size_bytes, time_s) for size_bytes, of_size in times_s.items() for p, time_s in zip(ranks, of_size)]
    numbers, sizes, logs = np.array(cells).T
    observed = Observations(numbers.astype(int), sizes.astype(int), np.log(logs)[None], {})
    return {line.size_bytes: line for line in observed.trend(ranks)}


def test_sizes_share_the_slope_of_their_neighbours_relative_to_their_times():
    """A launch stands out at one of five sizes, whose line is as steep as those beside it."""
    times = {size_bytes: (size_bytes, 2 * size_bytes, 3 * size_bytes) for size_bytes in (8, 16, 32, 64, 128)}
    lines = trend_of(times | {32: (32, 64, 900)})
    assert [line.slope_s / size_bytes for size_bytes, line in trend_of(times).items()] == pytest.approx([1] * 5)
    level = (32 * 64 * 900) ** (1 / 3) / (32 * 64 * 96) ** (1 / 3)
    assert lines[32].slope_s == pytest.approx(32 * level) and lines[64].slope_s == pytest.approx(64)


def test_no_line_falls_and_one_that_would_is_the_measured_level():
    lines = trend_of({8: (4e-6, 2e-6, 1e-6), 16: (5e-6, 5e-6, 5e-6)})
    assert {line.slope_s for line in lines.values()} == {0.0}
    assert 1e-6 < lines[8].base_s < 4e-6 and lines[16].base_s == pytest.approx(5e-6)


def test_no_time_of_a_trend_is_below_half_of_the_least():
    falling = (SizeLine(8, 5e-6, -1e-6, 5e-7),)
    assert trend_s(falling, np.log([2.0, 1 << 20]), np.array([8, 8])).tolist() == pytest.approx([4e-6, 5e-7])


def test_a_known_schedule_grows_as_the_mean_of_its_model_and_of_the_uniform_one():
    """The uniform one is flat here: twice the size takes the geometric mean of no longer and of twice as long."""
    (fitted,) = fit_series(series("recursive_doubling", (2, 16), noise=0.01))
    free = tuple(
        one._replace(value=0.0 if "beta" in one.name else one.value) for one in fitted.model.uniform.parameters
    )
    flat, name = fitted.model.uniform._replace(parameters=free), "recursive_doubling"
    at_end, alone, mean = (
        CompetingModels([replace(fitted.model, uniform=uniform, largest=())]).at(name, 16, n).prediction.time_s
        for uniform, n in ((None, max(SIZES)), (None, 2 * max(SIZES)), (flat, 2 * max(SIZES)))
    )
    assert mean == pytest.approx((at_end * alone) ** 0.5)

"""What is fitted together, and as which algorithm it is priced."""

import numpy as np
import pandas as pd
import pytest
from made_models import ALPHA_S, BETA_S_PER_BYTE, SIZES, series

from allreduce_bench.algorithms import builtin
from allreduce_bench.models.forms import Form
from allreduce_bench.models.known_algorithms import known_as, readings
from allreduce_bench.models.machine import Machine
from allreduce_bench.models.prediction import competing_models
from allreduce_bench.models.series import LIBRARY, fit_all, fit_series, observe, with_kept_winners


def test_series_are_not_pooled():
    ring = series("ring", noise=0.02)
    several = [
        ring,
        ring.assign(competitor="ring@pipelined"),
        ring.assign(run="b", cache="cold"),
        ring.assign(dtype="float64"),
    ]
    models = fit_all(pd.concat(several, ignore_index=True))
    assert len(models) == 4 and {(m.competitor, m.cache, m.dtype) for m in models} == {
        ("ring", "warm", "float32"),
        ("ring@pipelined", "warm", "float32"),
        ("ring", "cold", "float32"),
        ("ring", "warm", "float64"),
    }


def test_launches_count_as_one_cell_and_their_spread_is_told():
    (model,) = fit_all(series("ring", launches=5, noise=0.05))
    assert model.launches == 5 and model.errors["in_sample"].points == 32
    assert any("95 % intervals by leaving out" in note for note in model.notes)
    assert any("cell differ" in note for note in model.notes)


def test_a_tree_of_a_log_may_be_a_double_one():
    """NCCL calls its double tree Tree; here times decide, but not where this program ran its own tree."""
    points = series("ring", (4, 8, 16, 32), (8, 4096, 1 << 20, 1 << 22, 1 << 24, 1 << 26))
    seen = observe(points.assign(competitor="Tree"), ("two_tree",), 4, 32768)
    times = seen.paths["two_tree"].matrix(Form()) @ [ALPHA_S, BETA_S_PER_BYTE]
    points = points.assign(competitor="Tree", time_s=times)
    (imported,) = fit_series(points.assign(imported=True))
    assert imported.model.parts[0].priced_as == "two_tree" and imported.scores.errors["in_sample"].median < 0.01
    assert readings("tree", builtin(), ran_here=True) == ("tree",)


@pytest.mark.parametrize(
    "name, algorithm",
    [
        ("bine_lat_over", "bine_lat"),
        ("swing_lat_over", "bine_lat"),
        ("bine_bdw_remap_over", "bine"),
        ("swing_bdw_static_over", "bine"),
        ("BINE-L-UTOFU-0-6", "bine_lat"),
        ("BINE-B_CONT-UTOFU-65536-1", "bine"),
        ("bine_bdw_remap_segmented_over_16384", None),
    ],
)
def test_names_of_pico_are_those_of_bine(name, algorithm):
    assert known_as(name, builtin()) == algorithm


def test_the_libraries_algorithms_exist():
    assert set(LIBRARY) < set(builtin()) and len(SIZES) > 3


@pytest.mark.parametrize("name", ["tree", "ring"])
def test_what_is_fitted_is_predicted_by_the_same_count(name):
    """Four ranks a node, where a tree's declared cost is up to half above its schedule; the note says that it is."""
    points = series(name, (4, 8, 16), (8, 4096, 1 << 15, 1 << 18, 1 << 20), ranks_per_node=4)
    (found,) = fit_series(points)
    (group,) = competing_models(Machine((found.model,)))
    cells = zip(found.observed.ranks.tolist(), found.observed.size_bytes.tolist())
    predicted = [group.at(name, ranks, size_bytes).prediction.time_s for ranks, size_bytes in cells]
    fitted = np.exp(found.scores.residuals["in_sample"].log + found.observed.log_time)
    assert predicted == pytest.approx(fitted.tolist(), rel=1e-6)
    told = any(f"{name} are priced" in note for note in found.model.notes)
    assert told == (name == "tree")


@pytest.mark.parametrize("grows, kept_to", [(False, 32), (True, 0)])
def test_the_winner_is_kept_where_it_was_as_good_as_the_models_without_the_most_ranks(grows, kept_to):
    """Recursive doubling and the ring keep their order of 4 and 8 ranks on 16 or, as the models say, change it."""
    ring_s = (2e-6, 1e-10) if grows else (1e-7, 1e-10)  # at 8 B: 12, 28 and 60 us, or far below the other's
    points = [
        series("ring", (4, 8, 16), SIZES[:4], theta=ring_s, noise=0.001),
        series("recursive_doubling", (4, 8, 16), SIZES[:4], theta=(1e-5, 1e-10), noise=0.001, seed=2),
    ]
    fitted = with_kept_winners(fit_series(pd.concat(points, ignore_index=True)))
    assert [one.model.winner_kept_to for one in fitted] == [kept_to] * 2
    assert [one.size_bytes for one in fitted[0].model.at_most_ranks] == list(SIZES[:4])
    (lonely,) = with_kept_winners(fit_series(points[0]))
    assert lonely.model.winner_kept_to == 0

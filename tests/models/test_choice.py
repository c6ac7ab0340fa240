"""The form that made the times is chosen, whatever the noise; what was not measured is not."""

import numpy as np
import pandas as pd
import pytest
from made_models import ALPHA_S, BETA_S_PER_BYTE, SIZES, observed, series

from allreduce_bench.algorithms import builtin
from allreduce_bench.models.choice import bic, choose, knot_places, ranked
from allreduce_bench.models.forms import Form
from allreduce_bench.models.native.known import is_library, readings
from allreduce_bench.models.series import LIBRARY, FittedSeries, fit_series, observe

FINE = tuple(8 * 4**power for power in range(12))


def chosen(points, algorithm="recursive_doubling"):
    seen = observed(algorithm, points)
    (branch,) = choose(seen, seen.counts).branches
    return branch


def test_plain_times_give_the_plain_form():
    forms = [chosen(series("recursive_doubling", noise=0.05, seed=seed)).form for seed in range(10)]
    assert forms.count(Form()) >= 7


def test_a_call_of_its_own_is_found():
    points = series("recursive_doubling", (2, 4, 8, 32), form=Form(call=True), theta=(4e-5, 4e-6, 1e-10), noise=0.03)
    branch = chosen(points)
    assert branch.form == Form(call=True) and branch.theta[0] == pytest.approx(4e-5, rel=0.1)


def test_a_knot_is_found_in_the_size_of_the_message():
    theta = (2e-6, 1e-9, 3e-5, 1e-10)
    branch = chosen(series("ring", (4, 8, 16), FINE, form=Form(knots=(8192.0,)), theta=theta, noise=0.03), "ring")
    assert len(branch.form.knots) == 1 and 2048 < branch.form.knots[0] < 32768


def test_two_levels_are_found_where_both_links_occur():
    theta = (5e-7, 2e-11, 5e-6, 1e-9)
    points = series(
        "recursive_doubling", (8, 16, 32, 64), form=Form(levels=2), theta=theta, noise=0.03, ranks_per_node=4
    )
    branch = chosen(points)
    assert branch.form.levels == 2 and branch.theta[3] == pytest.approx(1e-9, rel=0.1)


def test_contention_needs_four_numbers_of_ranks():
    usual = {"form": Form(contention=True), "theta": (ALPHA_S, BETA_S_PER_BYTE), "contention": 0.3, "noise": 0.03}
    assert chosen(series("recursive_doubling", (4, 16, 64, 256), **usual)).contention == pytest.approx(0.3, abs=0.03)
    assert not chosen(series("recursive_doubling", (4, 16, 64), **usual)).form.contention


def test_no_candidate_sees_other_numbers_of_ranks():
    points = series("ring", (2, 4, 8, 16), noise=0.05)
    wild = points.assign(time_s=points["time_s"].where(points["ranks"] < 16, points["time_s"] * 7))
    for one, other in zip(ranked(observed("ring", points), (2, 4, 8)), ranked(observed("ring", wild), (2, 4, 8))):
        assert one.branches[0].form == other.branches[0].form and bic(one) == bic(other)
        assert np.array_equal(one.branches[0].theta, other.branches[0].theta)


def test_each_piece_has_its_points():
    columns = observed("ring", series("ring", (2, 4))).paths["ring"]
    for place in knot_places(columns, np.ones(len(columns.largest), dtype=bool)):
        assert (columns.largest < place).sum() >= 3 and (columns.largest >= place).sum() >= 3


def test_a_library_that_switches_is_the_fastest_of_two():
    """It takes recursive doubling below, and the ring above the size where that becomes faster."""
    ranks = (4, 8, 16, 32)
    doubling = series("recursive_doubling", ranks, FINE, theta=(5e-6, 4e-10))
    ring = series("ring", ranks, FINE, theta=(3e-6, 1e-10))
    times = np.minimum(doubling["time_s"], ring["time_s"]) * np.random.default_rng(1).normal(1, 0.03, len(ring))
    points = ring.assign(time_s=times, algorithm="native", executor="native", nodes=pd.NA)
    (found,) = fit_series(points)
    assert isinstance(found, FittedSeries) and {part.priced_as for part in found.model.parts} >= {"recursive_doubling"}
    assert len(found.model.parts) > 1 and found.scores.errors["leave_largest_p_out"].median < 0.1


def test_a_tree_of_a_log_may_be_a_double_one():
    """NCCL calls its double tree Tree; here times decide, but not where this program ran its own tree."""
    points = series("ring", (4, 8, 16, 32), (8, 4096, 1 << 20, 1 << 22, 1 << 24, 1 << 26))
    seen = observe(points.assign(algorithm="Tree"), ("two_tree",), 4, 32768)
    times = seen.paths["two_tree"].matrix(Form()) @ [ALPHA_S, BETA_S_PER_BYTE]
    points = points.assign(algorithm="Tree", time_s=times)
    (imported,) = fit_series(points.assign(executor="imported"))
    assert imported.model.parts[0].priced_as == "two_tree" and imported.scores.errors["in_sample"].median < 0.01
    assert readings("tree", builtin(), ours=True) == ("tree",)


@pytest.mark.parametrize("name", ["native", "default", "default_mpich", "default-default", "default_ompi", "auto"])
def test_names_of_what_a_library_chose(name):
    assert is_library(name) and not readings(name, builtin(), ours=False)


def test_a_library_before_a_name_is_no_part_of_it():
    assert readings("NCCL_ring", builtin(), ours=False) == ("ring",)
    assert readings("nccl-tree", builtin(), ours=False) == ("tree", "two_tree")


@pytest.mark.parametrize("name", ["ring", "default-ring", "NVLS", "default-trix3", "nativering"])
def test_other_names(name):
    assert not is_library(name) or readings(name, builtin(), ours=False)


def test_the_libraries_algorithms_exist():
    assert set(LIBRARY) < set(builtin()) and len(SIZES) > 3

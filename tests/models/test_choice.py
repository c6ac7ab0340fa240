"""The form that made the times is chosen, whatever the noise; what was not measured is not."""

import numpy as np
import pytest
from made_models import ALPHA_S, BETA_S_PER_BYTE, observed, series

from allreduce_bench.models.forms import Form, TermColumns
from allreduce_bench.models.series import bic, choose, knot_places, ranked
from allreduce_bench.models.terms import PathMessage, Terms

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


@pytest.mark.parametrize("longest", [4096, 8192])
def test_the_last_piece_has_messages_of_two_lengths(longest):
    lengths = (8, 64, 512, 4096, 4096, 4096, longest)  # a vector that is cut has messages of one length at any size
    columns = TermColumns([Terms((PathMessage(size_bytes, 10, True),), 0.0, True) for size_bytes in lengths])
    places = knot_places(columns, np.ones(len(lengths), dtype=bool))
    assert any(place > 512 for place in places) == (longest > 4096)

"""Gamma needs two algorithms of one run, or a local reduction."""

import numpy as np
import pytest
from made_models import ALPHA_S, BETA_S_PER_BYTE, SIZES, series

from allreduce_bench.models.forms import Form
from allreduce_bench.models.joint import joint, joints, local_gamma
from allreduce_bench.models.points import TooFewPoints
from allreduce_bench.models.series import FittedSeries, fit_series


def _fitted(*frames):
    return [one for frame in frames for one in fit_series(frame) if isinstance(one, FittedSeries)]


def test_gamma_is_refused_for_one_algorithm_and_found_with_two():
    theta, form = (ALPHA_S, BETA_S_PER_BYTE, 3e-10), Form(reduced=True)
    both = [series(name, form=form, theta=theta, noise=0.03) for name in ("ring", "recursive_doubling")]
    with pytest.raises(TooFewPoints, match="gamma cannot"):
        joint(_fitted(both[0]))
    (found,), refused = joints(_fitted(*both))
    assert not refused and found.competitors == ("ring", "recursive_doubling") and found.condition < 10
    for parameter, truth in zip(found.parameters, theta):
        assert parameter.identified and parameter.low < truth < parameter.high


def test_runs_and_ways_share_no_gamma():
    ring, doubling = series("ring"), series("recursive_doubling").assign(competitor="recursive_doubling@pipelined")
    found, refused = joints(_fitted(ring, doubling))
    assert not found and len(refused) == 2


def test_gamma_of_a_local_reduction():
    size_bytes = np.array(SIZES, dtype=float)
    found = local_gamma(size_bytes, 2e-7 + 3e-11 * size_bytes)
    assert found.identified and found.value == pytest.approx(3e-11, rel=1e-3)
    with pytest.raises(TooFewPoints, match="three sizes"):
        local_gamma(size_bytes[:2], size_bytes[:2])

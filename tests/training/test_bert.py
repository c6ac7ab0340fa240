"""BERT: the published totals, and the formula of a layer."""

import pytest

from allreduce_bench.training.architectures.bert import base, large


@pytest.mark.parametrize("build, parameters, tensors", [(base, 109_482_240, 199), (large, 335_141_888, 391)])
def test_totals_are_those_that_are_published(build, parameters, tensors):
    model = build()
    assert (model.parameters, len(model.gradients)) == (parameters, tensors)
    assert len({gradient.name for gradient in model.gradients}) == tensors


def test_a_layer_has_twelve_squares():
    layer = [gradient.elements for gradient in base().gradients if gradient.name.startswith("encoder.layer.3.")]
    assert sum(layer) == 12 * 768**2 + 13 * 768 and len(layer) == 16


def test_operations_follow_the_parameters():
    """Two for each weight of the encoder and token, and the products of queries and keys."""
    weights, scores = 12 * 12 * 768**2, 12 * 2 * 512 * 768
    assert base().flops == pytest.approx(2 * 512 * (weights + scores), rel=1e-3)

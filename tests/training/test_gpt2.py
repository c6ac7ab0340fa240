"""GPT-2: the published totals with the output layer tied to the embedding."""

import pytest

from allreduce_bench.training.architectures.gpt2 import small, xl


@pytest.mark.parametrize("build, parameters, tensors", [(small, 124_439_808, 148), (xl, 1_557_611_200, 580)])
def test_totals_are_those_that_are_published(build, parameters, tensors):
    model = build()
    assert (model.parameters, len(model.gradients)) == (parameters, tensors)
    assert len({gradient.name for gradient in model.gradients}) == tensors


def test_the_tied_output_layer_computes_without_a_gradient_of_its_own():
    model = small()
    assert model.gradients[0].shape == (50257, 768) and model.gradients[0].flops == 0
    assert model.flops_without_gradient == 2 * 50257 * 768 * 1024

"""Llama: the published totals, with keys and values of fewer heads in the third."""

import pytest

from allreduce_bench.training.architectures.llama import llama2_7b, llama3_8b


@pytest.mark.parametrize("build, parameters", [(llama2_7b, 6_738_415_616), (llama3_8b, 8_030_261_248)])
def test_totals_are_those_that_are_published(build, parameters):
    model = build()
    assert (model.parameters, len(model.gradients)) == (parameters, 291)
    assert len({gradient.name for gradient in model.gradients}) == 291


def test_the_third_shares_keys_and_values_among_heads():
    shapes = {gradient.name: gradient.shape for gradient in llama3_8b().gradients}
    assert shapes["model.layers.0.self_attn.k_proj.weight"] == (1024, 4096)
    assert shapes["model.layers.0.self_attn.q_proj.weight"] == (4096, 4096)
    assert [*shapes][-1] == "lm_head.weight"

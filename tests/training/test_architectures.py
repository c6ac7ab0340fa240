"""Models by name: the published totals, and names and shapes as torchvision and transformers register them."""

import pytest

from allreduce_bench.training.architectures import ARCHITECTURES, known_model
from allreduce_bench.training.tensors import ModelError
from allreduce_bench.units import unknown_word

PUBLISHED = {  # parameters, tensors
    "resnet50": (25_557_032, 161),
    "vgg16": (138_357_544, 32),
    "bert-base": (109_482_240, 199),
    "bert-large": (335_141_888, 391),
    "gpt2": (124_439_808, 148),  # the output layer is tied to the embedding
    "gpt2-xl": (1_557_611_200, 580),
    "llama2-7b": (6_738_415_616, 291),
    "llama3-8b": (8_030_261_248, 291),
}


def shapes(name: str) -> dict[str, tuple[int, ...]]:
    return {gradient.name: gradient.shape for gradient in known_model(name).gradients}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_totals_are_those_that_are_published(name):
    model = known_model(name)
    assert (model.name, model.parameters, len(model.gradients)) == (name, *PUBLISHED[name])
    assert len(shapes(name)) == len(model.gradients)


@pytest.mark.parametrize(
    "written, name", [("ResNet-50", "resnet50"), ("bert_base", "bert-base"), ("GPT2.XL", "gpt2-xl")]
)
def test_a_name_may_be_written_in_several_ways(written, name):
    assert known_model(written).name == name


def test_an_unknown_name_gets_the_list():
    with pytest.raises(ModelError, match=unknown_word("model", "alexnet", ("resnet50", "vgg16", "bert-base"))):
        known_model("alexnet")


def test_tensors_of_convolutional_networks_stand_as_torchvision_registers_them():
    found = shapes("resnet50")
    (*_, last), names = found.items(), [*found]
    assert names[0] == "conv1.weight" and found["conv1.weight"] == (64, 3, 7, 7) and last == ("fc.bias", (1000,))
    assert names.index("layer1.0.bn3.bias") + 1 == names.index("layer1.0.downsample.0.weight")
    assert found["layer3.0.conv2.weight"] == (256, 256, 3, 3)
    assert shapes("vgg16")["classifier.0.weight"] == (4096, 25088) and "features.28.weight" in shapes("vgg16")


def test_a_layer_of_bert_has_twelve_squares():
    layer = [one.elements for one in known_model("bert-base").gradients if one.name.startswith("encoder.layer.3.")]
    assert sum(layer) == 12 * 768**2 + 13 * 768 and len(layer) == 16


def test_the_third_llama_shares_keys_and_values_among_heads():
    found = shapes("llama3-8b")
    assert found["model.layers.0.self_attn.k_proj.weight"] == (1024, 4096)
    assert found["model.layers.0.self_attn.q_proj.weight"] == (4096, 4096)
    assert [*found][-1] == "lm_head.weight"


@pytest.mark.parametrize(
    "name, operations",
    [
        ("resnet50", 2 * 4.09e9),  # as torchvision lists them
        ("vgg16", 2 * 15.47e9),
        ("bert-base", 2 * 512 * (12 * 12 * 768**2 + 12 * 2 * 512 * 768)),  # weights; queries with keys, and their sums
    ],
)
def test_operations_are_those_that_are_known(name, operations):
    assert known_model(name).flops == pytest.approx(operations, rel=2e-3)


def test_the_tied_output_layer_of_gpt2_computes_without_a_gradient_of_its_own():
    model = known_model("gpt2")
    assert model.gradients[0].shape == (50257, 768) and model.gradients[0].flops == 0
    assert model.flops_without_gradient == 2 * 50257 * 768 * 1024

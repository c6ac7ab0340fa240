"""Convolutional networks: the published totals, and names and shapes as torchvision registers them."""

import pytest

from allreduce_bench.training.architectures.convolution import resnet50, vgg16


@pytest.mark.parametrize("build, parameters, tensors", [(resnet50, 25_557_032, 161), (vgg16, 138_357_544, 32)])
def test_totals_are_those_that_are_published(build, parameters, tensors):
    model = build()
    assert (model.parameters, len(model.gradients)) == (parameters, tensors)
    assert len({gradient.name for gradient in model.gradients}) == tensors


def test_tensors_stand_as_torchvision_registers_them():
    first, *_, last = resnet50().gradients
    assert (first.name, first.shape) == ("conv1.weight", (64, 3, 7, 7))
    assert (last.name, last.shape) == ("fc.bias", (1000,))
    names = [gradient.name for gradient in resnet50().gradients]
    assert names.index("layer1.0.bn3.bias") + 1 == names.index("layer1.0.downsample.0.weight")
    assert dict((g.name, g.shape) for g in resnet50().gradients)["layer3.0.conv2.weight"] == (256, 256, 3, 3)
    assert {g.name: g.shape for g in vgg16().gradients}["classifier.0.weight"] == (4096, 25088)
    assert "features.28.weight" in {g.name for g in vgg16().gradients}


@pytest.mark.parametrize("build, multiplications", [(resnet50, 4.09e9), (vgg16, 15.47e9)])
def test_operations_are_those_that_torchvision_lists(build, multiplications):
    assert build().flops / 2 == pytest.approx(multiplications, rel=2e-3)

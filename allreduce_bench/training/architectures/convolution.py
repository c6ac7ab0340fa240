"""Convolutional networks for images of 224 x 224, registered as torchvision does.

ResNet-50: He, Zhang, Ren and Sun, "Deep residual learning for image recognition", CVPR 2016, table 1, with the stride
in the 3 x 3 convolution as torchvision has it. VGG-16: Simonyan and Zisserman, "Very deep convolutional networks for
large-scale image recognition", ICLR 2015, configuration D.
"""

from collections.abc import Iterator

from ..tensors import Gradient, Model
from .layers import linear, norm

IMAGE, CLASSES = 224, 1000
RESNET_BLOCKS, EXPANSION = (3, 4, 6, 3), 4
VGG_STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # channels, convolutions; a pooling ends each
VGG_HIDDEN, VGG_POOLED = 4096, 7


def resnet50() -> Model:
    """Return the model: 25,557,032 parameters in 161 tensors."""
    return Model("resnet50", "ResNet-50", tuple(_resnet()))


def vgg16() -> Model:
    """Return the model: 138,357,544 parameters in 32 tensors."""
    return Model("vgg16", "VGG-16", tuple(_vgg()))


def _resnet() -> Iterator[Gradient]:
    side = IMAGE // 2
    yield _convolution("conv1.weight", 3, 64, 7, side)
    yield from norm("bn1", 64)
    side, channels = side // 2, 64  # a pooling
    for stage, blocks in enumerate(RESNET_BLOCKS):
        width = 64 * 2**stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            yield from _bottleneck(f"layer{stage + 1}.{block}", channels, width, side, stride)
            side, channels = side // stride, width * EXPANSION
    yield from linear("fc", channels, CLASSES)


def _bottleneck(name: str, channels: int, width: int, side: int, stride: int) -> Iterator[Gradient]:
    """Yield convolutions of 1, 3 and 1, each with its normalisation; `side` is the input's, in pixels."""
    out, end = width * EXPANSION, side // stride
    for number, (inner, outer, kernel, pixels) in enumerate(
        [(channels, width, 1, side), (width, width, 3, end), (width, out, 1, end)], 1
    ):
        yield _convolution(f"{name}.conv{number}.weight", inner, outer, kernel, pixels)
        yield from norm(f"{name}.bn{number}", outer)
    if channels != out or stride != 1:
        yield _convolution(f"{name}.downsample.0.weight", channels, out, 1, end)
        yield from norm(f"{name}.downsample.1", out)


def _vgg() -> Iterator[Gradient]:
    side, channels, place = IMAGE, 3, 0
    for width, convolutions in VGG_STAGES:
        for _ in range(convolutions):
            yield _convolution(f"features.{place}.weight", channels, width, 3, side)
            yield Gradient(f"features.{place}.bias", (width,))
            channels, place = width, place + 2  # an activation follows
        side, place = side // 2, place + 1
    yield from linear("classifier.0", channels * VGG_POOLED**2, VGG_HIDDEN)
    yield from linear("classifier.3", VGG_HIDDEN, VGG_HIDDEN)
    yield from linear("classifier.6", VGG_HIDDEN, CLASSES)


def _convolution(name: str, channels: int, out: int, kernel: int, side: int) -> Gradient:
    """Return a kernel over an output of `side` x `side` pixels: a multiplication and an addition for each weight and
    pixel.
    """
    shape = (out, channels, kernel, kernel)
    return Gradient(name, shape, 2.0 * out * channels * kernel**2 * side**2)

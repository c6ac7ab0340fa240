"""Layers that models of several families have, as tensors in the order in which they are registered."""

from collections.abc import Iterator

from ..tensors import Gradient


def norm(name: str, width: int) -> Iterator[Gradient]:
    """Yield the scale and the shift of a normalisation."""
    yield Gradient(f"{name}.weight", (width,))
    yield Gradient(f"{name}.bias", (width,))


def linear(name: str, inner: int, out: int, tokens: int = 1, more: float = 0.0) -> Iterator[Gradient]:
    """Yield the weights, output by input, and the biases of a layer on so many tokens of a sample.

    `more` are operations, per sample, that have no tensor of their own.
    """
    yield Gradient(f"{name}.weight", (out, inner), 2.0 * out * inner * tokens + more)
    yield Gradient(f"{name}.bias", (out,))

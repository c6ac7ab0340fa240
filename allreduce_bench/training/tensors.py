"""The gradients of a model: a tensor each, in the order in which the model registers its parameters."""

from math import ceil, prod
from typing import NamedTuple

from ..runs.dtypes import DTYPES

DEFAULT_DTYPE = "float32"


class ModelError(ValueError):
    """An unknown model, or invalid shapes, in words."""


class Gradient(NamedTuple):
    """The gradient of one parameter; `shape` () is a scalar."""

    name: str
    shape: tuple[int, ...]
    flops: float = 0.0  # per sample, of the forward operations of its layer that are told apart by this tensor
    dtype: str = ""  # empty: the step's

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def size_bytes(self, dtype: str = DEFAULT_DTYPE) -> int:
        """Return its bytes in a step of `dtype`."""
        return self.elements * DTYPES[self.dtype or dtype]


class Model(NamedTuple):
    """The gradients of a model, in the order of registration, which is taken for the order of the forward pass.

    `flops_without_gradient` (per sample, forward) are those whose backward pass comes before the first gradient: an
    output layer that shares its weights with the embedding, whose gradient is ready last.
    """

    name: str
    title: str
    gradients: tuple[Gradient, ...]
    flops_without_gradient: float = 0.0
    ready: tuple[int, ...] = ()  # indices in the order in which gradients become ready; empty: backwards
    scale: float = 1.0

    @property
    def label(self) -> str:
        """Title, with the scale of a scaled model."""
        return self.title if self.scale == 1 else f"{self.title} scaled by {self.scale:.3g}"

    @property
    def parameters(self) -> int:
        """The number of elements of all tensors."""
        return sum(gradient.elements for gradient in self.gradients)

    @property
    def flops(self) -> float:
        """Operations of a forward pass, per sample; 0: unknown."""
        return self.flops_without_gradient + sum(gradient.flops for gradient in self.gradients)

    @property
    def ready_order(self) -> tuple[int, ...]:
        """The indices of the gradients in the order in which the backward pass makes them."""
        return self.ready or tuple(reversed(range(len(self.gradients))))

    def dtypes(self, dtype: str = DEFAULT_DTYPE) -> tuple[str, ...]:
        """Return the types of the gradients in a step of `dtype`, the one of most bytes first."""
        size_bytes: dict[str, int] = {}
        for gradient in self.gradients:
            own = gradient.dtype or dtype
            size_bytes[own] = size_bytes.get(own, 0) + gradient.size_bytes(dtype)
        return tuple(sorted(size_bytes, key=lambda name: -size_bytes[name]))

    def size_bytes(self, dtype: str = DEFAULT_DTYPE) -> int:
        """Return the length of all gradients in a step of `dtype`."""
        return sum(gradient.size_bytes(dtype) for gradient in self.gradients)

    def scaled(self, scale: float) -> "Model":
        """Return the model with tensors of `scale` times the elements, at least one each; shapes become flat."""
        if scale == 1:
            return self
        shrunk = tuple(gradient._replace(shape=(ceil(gradient.elements * scale),)) for gradient in self.gradients)
        return self._replace(gradients=shrunk, scale=self.scale * scale)

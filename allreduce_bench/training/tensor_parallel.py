"""Tensor parallelism as Megatron-LM has it: ranks of a group divide the matrices of each layer, and add activations.

Shoeybi et al., "Megatron-LM: training multi-billion parameter language models using model parallelism",
arXiv:1909.08053, 2019, section 3. Each layer has two blocks, attention and a feed-forward network. A block divides its
first matrix by columns and its last one by rows, so that the ranks add its output in the forward pass, and the gradient
of its input in the backward pass: four all-reduces of batch x sequence x hidden elements a layer, for which the
computation stops. The all-reduces of the embedding and of the loss are not counted.
"""

from bisect import bisect_right
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from ..runs.dtypes import DTYPES
from .tensors import DEFAULT_DTYPE, Model, ModelError
from .time_line import BACKWARD, FORWARD, Phase, Transfer, ready_shares


class TensorParallel(NamedTuple):
    """The all-reduces of activations within a group of ranks."""

    groups: str  # as `runs.groups` writes them
    ranks: int  # of a group
    parts: str  # what an all-reduce carries, in words: `8 x 1024 x 768 elements`
    elements: int  # of an all-reduce
    forward: tuple[float, ...]  # the shares of a forward pass after which they come, ascending
    backward: tuple[float, ...]
    first: tuple[int, ...]  # the first matrix of each block, whose gradient comes before the block's all-reduce

    def stops_before(self, gradient: int) -> int:
        """Return how often a backward pass has stopped until this gradient is ready; gradients come backwards."""
        return len(self.first) - bisect_right(self.first, gradient)

    @property
    def calls(self) -> int:
        """All-reduces of a forward and a backward pass."""
        return len(self.forward) + len(self.backward)

    def nbytes(self, dtype: str = DEFAULT_DTYPE) -> int:
        """The length of an all-reduce of activations of this type."""
        return self.elements * DTYPES[dtype]

    def shares(self, kind: str) -> tuple[float, ...]:
        """Return the shares of a phase."""
        return {FORWARD: self.forward, BACKWARD: self.backward}[kind]


class Divided(NamedTuple):
    """The part of a model that a rank of a group has, and what the group adds."""

    model: Model
    tensor: TensorParallel


def divide(model: Model, groups: str, ranks: int, batch: int, proxy: str, scale: float = 1.0) -> Divided:
    """`model` on groups of `ranks`, `batch` samples each; `proxy` as for the gradients. Raises ModelError.

    `scale` multiplies the elements of the part and of the activations.
    """
    if model.transformer is None:
        raise ModelError(
            f"--groups: {model.title} is no transformer; only their layers are divided among ranks; leave it out"
        )
    part, blocks = model.divided(ranks).scaled(scale), model.transformer
    shares = ready_shares(part, proxy)
    elements = ceil(batch * blocks.tokens * blocks.hidden * scale)
    forward = tuple(1 - shares[index + 1] for index in blocks.last)  # what follows is what the backward pass has done
    backward = tuple(shares[index] for index in reversed(blocks.first))
    words = f"{batch} x {blocks.tokens} x {blocks.hidden} elements"
    return Divided(part, TensorParallel(groups, ranks, words, elements, forward, backward, blocks.first))


class Stalled(NamedTuple):
    """A step whose computation stops for all-reduces, and when its gradients are ready, seconds."""

    phases: tuple[Phase, ...]
    transfers: tuple[Transfer, ...]
    ready_s: tuple[float, ...]


def stalled(phases: Sequence[Phase], tensor: TensorParallel, one: Transfer, shares: Sequence[float]) -> Stalled:
    """The phases cut where the ranks of a group add activations, which takes as long as `one`.

    `shares` are those of the last backward pass after which the gradients are ready, by their index.
    """
    pieces: list[Phase] = []
    transfers: list[Transfer] = []
    now = begin = 0.0
    for phase in phases:
        length, done, begin = phase.end_s - phase.start_s, 0.0, now
        for share in tensor.shares(phase.kind):
            pieces.append(Phase(phase.kind, now, now + (share - done) * length))
            start, done = pieces[-1].end_s, share
            now = start + one.end_s - one.start_s
            transfers.append(one._replace(ready_s=start, start_s=start, end_s=now))
        pieces.append(Phase(phase.kind, now, now + (1 - done) * length))
        now = pieces[-1].end_s
    last, time_s = phases[-1], one.end_s - one.start_s
    length = last.end_s - last.start_s
    stops = map(tensor.stops_before, range(len(shares)))
    ready = [begin + share * length + number * time_s for share, number in zip(shares, stops)]
    return Stalled(tuple(pieces), tuple(transfers), tuple(ready))

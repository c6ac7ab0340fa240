"""What a rank holds beside its activations, and how large the batch is that all ranks make together."""

from typing import NamedTuple

from ..runs.dtypes import DTYPES
from .tensors import Model

SGD, MOMENTUM, ADAM = "sgd", "momentum", "adam"
STATES = {SGD: 0, MOMENTUM: 1, ADAM: 2}  # float32 numbers that an optimizer keeps for each parameter
WIDE_NBYTES = 4  # of a float32


class Memory(NamedTuple):
    """Bytes of a rank: data-parallel training holds all of it on each."""

    parameters_nbytes: int
    gradients_nbytes: int
    optimizer_nbytes: int  # the state; with 16-bit parameters their float32 copy, too
    buckets_nbytes: int  # DDP's copies of gradients, none where they are views of buckets; Horovod's fusion buffer

    @property
    def total_nbytes(self) -> int:
        """All of it; activations are not known here."""
        return sum(self)


def memory_of(
    model: Model, dtype: str, optimizer: str, has_views: bool = False, buffer_nbytes: int | None = None
) -> Memory:
    """The memory of a rank; 16-bit parameters have a float32 copy with the optimizer (Rajbhandari et al., SC 2020).

    `has_views`: DistributedDataParallel(gradient_as_bucket_view=True). `buffer_nbytes`: of Horovod; None: DDP.
    """
    gradients = model.nbytes(dtype)
    state = STATES[optimizer] * model.parameters + narrow_elements(model, dtype)
    buckets = 0 if has_views else gradients
    return Memory(gradients, gradients, WIDE_NBYTES * state, buckets if buffer_nbytes is None else buffer_nbytes)


def narrow_elements(model: Model, dtype: str) -> int:
    """The parameters that have a float32 copy."""
    return sum(gradient.elements for gradient in model.gradients if DTYPES[gradient.dtype or dtype] < WIDE_NBYTES)


class BatchRule(NamedTuple):
    """The batch of all ranks, and by what the linear rule multiplies the learning rate of one rank's batch.

    When the batch is multiplied by k, so is the learning rate, after a warm-up (Goyal et al., arXiv:1706.02677, 2017).
    """

    effective_batch: int
    learning_rate_factor: int


def batch_rule(batch: int, ranks: int, accumulate: int = 1) -> BatchRule:
    """`batch` samples on each of `ranks` in each of `accumulate` passes of a step."""
    return BatchRule(batch * ranks * accumulate, ranks * accumulate)

"""Bytes of a rank, and the batch of all."""

from allreduce_bench.training.result import ADAM, MOMENTUM, SGD, batch_rule, memory_of, narrow_elements
from allreduce_bench.training.tensors import Gradient, Model

MODEL = Model("m", "M", (Gradient("a", (10, 10)),))


def test_optimizers_hold_so_many_numbers_for_each_parameter():
    held = [memory_of(MODEL, "float32", optimizer).optimizer_nbytes for optimizer in (SGD, MOMENTUM, ADAM)]
    assert held == [0, 400, 800]
    assert memory_of(MODEL, "float32", ADAM).total_nbytes == 2000
    assert memory_of(MODEL, "float32", ADAM, has_views=True).total_nbytes == 1600


def test_half_precision_with_adam_takes_16_bytes_and_the_buckets():
    held = memory_of(MODEL, "bfloat16", ADAM, has_views=True)
    assert held.total_nbytes == 100 * 16  # Rajbhandari et al., 2020, section 3.1


def test_narrow_parameters_have_a_copy_and_wide_ones_none():
    mixed = Model("m", "M", (Gradient("a", (10,), dtype="float32"), Gradient("b", (7,))))
    assert narrow_elements(mixed, "float16") == 7 and narrow_elements(mixed, "float32") == 0
    assert memory_of(mixed, "float16", SGD).optimizer_nbytes == 28


def test_the_batch_and_the_learning_rate_grow_together():
    assert batch_rule(32, 8, accumulate=4) == (1024, 32)

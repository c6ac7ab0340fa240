"""Where vectors lie: at the offsets that a placement asks for, apart from each other, and as long as asked."""

import numpy as np
import pytest

from allreduce_bench.executing.memory import BY_NUMPY, PAGES, filled, memory_of, offset_of, page_of
from allreduce_bench.machine import PAGE_NBYTES

CLOSE = range(1, 32)  # differences in bytes, modulo a page, that are slow on some processors


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8"])
@pytest.mark.parametrize("count", [1, 5, 1024, 2_000_003])
def test_buffers_at_pages_are_staggered_and_whole(dtype, count):
    for allocate, offset in zip(PAGES, (0, 1024, 2048)):
        vector = filled(allocate, count, dtype, 3)
        assert offset_of(vector) == offset and vector.size == count and vector.dtype == dtype
        assert vector.flags.c_contiguous and vector.flags.writeable and (vector == 3).all()


def test_a_vector_without_elements_is_one():
    assert [allocate(0, "float32").size for allocate in (*PAGES, *BY_NUMPY)] == [0] * 6


def test_no_two_kinds_of_buffers_are_close_at_pages():
    offsets = [offset_of(allocate(64, np.float32)) for allocate in PAGES]
    assert not any((one - other) % PAGE_NBYTES in CLOSE for one in offsets for other in offsets)


@pytest.mark.parametrize("delta", [0, 8, 16, 4088])
def test_a_difference_lies_between_inputs_and_outputs_and_between_outputs_and_scratch(delta):
    send, recv, scratch = (offset_of(allocate(4, np.float64)) for allocate in memory_of(str(delta)))
    assert (recv - send) % PAGE_NBYTES == (scratch - recv) % PAGE_NBYTES == delta


def test_placements_by_name():
    assert memory_of("page") is PAGES
    assert memory_of("numpy") is BY_NUMPY is memory_of("")  # runs from before placements lay where numpy put them
    assert page_of(np.dtype("float32")) == 1024

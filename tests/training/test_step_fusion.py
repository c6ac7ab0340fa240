"""What goes together, by the rules of Horovod's controller."""

from allreduce_bench.training.measuring.request import fuse


def fused(tensors: list[tuple[int, str]], buffer_nbytes: int) -> list[tuple[int, ...]]:
    return fuse([(i, *tensor) for i, tensor in enumerate(tensors)], buffer_nbytes)


def test_what_fits_is_fused_in_order():
    assert fused([(40, "f"), (60, "f"), (1, "f")], 100) == [(0, 1), (2,)]


def test_a_tensor_longer_than_the_buffer_goes_alone():
    assert fused([(500, "f"), (1, "f"), (1, "f")], 100) == [(0,), (1, 2)]


def test_another_type_is_skipped_while_the_skipped_ones_would_fit():
    assert fused([(10, "f"), (10, "h"), (10, "f"), (10, "h")], 100) == [(0, 2), (1, 3)]
    assert fused([(10, "f"), (95, "h"), (10, "f")], 100) == [(0,), (1,), (2,)]


def test_tensors_of_one_type_stay_in_order():
    sizes = [(30 * i) % 97 + 1 for i in range(60)]
    groups = fused([(nbytes, "f") for nbytes in sizes], 100)
    assert [index for members in groups for index in members] == [*range(60)]
    lengths = [sum(sizes[index] for index in members) for members in groups]
    assert max(lengths) <= 100 and all(a + sizes[b[0]] > 100 for a, b in zip(lengths, groups[1:]))

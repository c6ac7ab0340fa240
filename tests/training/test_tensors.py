"""Gradients and models as values."""

from allreduce_bench.training.tensors import Gradient, Model

MODEL = Model("m", "M", (Gradient("a", (3, 4), 5.0), Gradient("b", (), 0.0, "float64")), flops_without_gradient=2.0)


def test_a_model_counts_elements_and_bytes():
    assert (MODEL.parameters, MODEL.size_bytes(), MODEL.size_bytes("float16"), MODEL.flops) == (13, 56, 32, 7.0)


def test_types_of_tensors_count_before_that_of_the_step():
    model = Model(
        "x", "x", (Gradient("a", (2,), dtype="float16"), Gradient("b", (8,), dtype="int64"), Gradient("c", (3,)))
    )
    assert model.dtypes() == ("int64", "float32", "float16")
    assert model.dtypes("float16") == ("int64", "float16")


def test_gradients_become_ready_backwards_unless_told():
    assert MODEL.ready_order == (1, 0)
    assert MODEL._replace(ready=(0, 1)).ready_order == (0, 1)


def test_a_scaled_model_keeps_its_tensors_and_no_tensor_vanishes():
    small = MODEL.scaled(1 / 8)
    assert [gradient.elements for gradient in small.gradients] == [2, 1]
    assert small.scale == 1 / 8 and MODEL.scaled(1) is MODEL

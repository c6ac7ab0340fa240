"""Files of shapes: each way to write them, and what is none."""

import pytest

from allreduce_bench.training.shape_file import read_model
from allreduce_bench.training.tensors import Gradient, ModelError


def model_of(tmp_path, text: str):
    path = tmp_path / "mine.txt"
    path.write_text(text)
    return read_model(path)


EXPECTED = (Gradient("a.weight", (64, 3, 7, 7)), Gradient("b", (10,), dtype="float16"), Gradient("c", ()))


@pytest.mark.parametrize(
    "text",
    [
        "name,shape,dtype\na.weight,64x3x7x7\nb,10,torch.float16\nc,,\n",
        "# mine\r\n\r\na.weight, 64x3x7x7\r\nb,10,float16\r\nc,\r\n",
    ],
)
def test_shapes_are_read_however_they_are_written(tmp_path, text):
    assert model_of(tmp_path, text).gradients == EXPECTED


def test_blanks_will_do(tmp_path):
    assert model_of(tmp_path, "a 2x3\nb 4\n").parameters == 10


def test_the_order_of_readiness_may_be_given(tmp_path):
    assert model_of(tmp_path, "a,2,,7\nb,3,,1\nc,4,,4\n").ready_order == (1, 2, 0)
    assert model_of(tmp_path, "a,2\nb,3\n").ready_order == (1, 0)


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "no tensor"),
        ("a 2x3\nb 2x-3\n", "line 2: the shape of 'b' is '2x-3'"),
        ("a 0\n", "line 1: the shape of 'a' is '0'"),
        ("a\n", "line 1: expected NAME SHAPE"),
        ("a 2 float31\n", "line 1: unknown dtype 'float31'; known: float16"),
        ("a,2,,1\nb,3\n", "2 tensors"),
        ("a,2,,1\nb,3,,1\n", "2 tensors"),
        ("a,2,,soon\n", "ready is 'soon'"),
        ("a 99999999x99999999\n", "more than 1e[+]13 elements"),
    ],
)
def test_what_is_no_shape_is_refused_in_one_line(tmp_path, text, said):
    with pytest.raises(ModelError, match=said) as error:
        model_of(tmp_path, text)
    assert "mine.txt" in str(error.value) and "\n" not in str(error.value)


def test_bytes_are_no_shapes(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_bytes(b"\x80\x04\xff")
    with pytest.raises(ModelError, match="not text"):
        read_model(path)

"""Shapes from files of weights: safetensors by their header, state dicts of torch without running code in them."""

import json
from pathlib import Path

import pytest

from allreduce_bench.training.shape_file import read_model
from allreduce_bench.training.tensors import Gradient, ModelError


def write_safetensors(path: Path, entries: object) -> Path:
    header = json.dumps(entries).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(64))
    return path


def entry(dtype: str, *shape: object) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}


def test_the_header_of_a_safetensors_file_has_the_tensors(tmp_path):
    entries = {"__metadata__": {"format": "pt"}, "a.weight": entry("F32", 64, 3), "b": entry("BF16"), "n": entry("I64")}
    entries["bn.running_mean"] = entry("F32", 64)
    model = read_model(write_safetensors(tmp_path / "m.safetensors", entries))
    assert model.gradients == (Gradient("a.weight", (64, 3), dtype="float32"), Gradient("b", (), dtype="bfloat16"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "damaged"),
        (b"\x10\0\0\0\0\0\0\0{}", "damaged"),
        (b"\xff" * 16, "damaged"),
        (b"\x02\0\0\0\0\0\0\0[]", "damaged"),
        (b"\x02\0\0\0\0\0\0\0{}", "no tensor"),
        ({"a": 3}, "tensor 'a': expected an object"),
        ({"a": entry("F32", -1)}, "tensor 'a': the shape of 'a' is '-1'"),
        ({"a": entry("F8_E4M3", 8)}, "unknown dtype 'F8_E4M3'"),
    ],
)
def test_what_is_no_safetensors_file_is_refused_in_one_line(tmp_path, content, said):
    path = tmp_path / "m.safetensors"
    path.write_bytes(content) if isinstance(content, bytes) else write_safetensors(path, content)
    with pytest.raises(ModelError, match=said) as error:
        read_model(path)
    assert "m.safetensors" in str(error.value) and "\n" not in str(error.value)


def test_a_state_dict_has_its_parameters_in_the_order_of_registration_and_shared_ones_once(tmp_path):
    torch = pytest.importorskip("torch")
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 4, bias=False))
    layers.append(layers[2]).append(torch.nn.Linear(2, 1, bias=False, dtype=torch.float16))
    wanted = [(name, tuple(each.shape)) for name, each in layers.named_parameters()]
    for number, content in enumerate((layers.state_dict(), {"epoch": 3, "model": layers.state_dict()})):
        path = tmp_path / f"{number}.pt"
        torch.save(content, path)
        model = read_model(path)
        assert [(each.name, each.shape) for each in model.gradients] == wanted
        assert {each.dtype for each in model.gradients} == {"float32", "float16"}


class Hostile:
    def __reduce__(self):
        return Path.touch, (Path("was run"),)


def test_code_in_a_state_dict_is_not_run(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"a": Hostile()}, tmp_path / "m.pt")
    (tmp_path / "damaged.pt").write_bytes((tmp_path / "m.pt").read_bytes()[:100])
    for name in ("m.pt", "damaged.pt"):
        with pytest.raises(ModelError, match="weights_only"):
            read_model(tmp_path / name)
    assert not Path("was run").exists()

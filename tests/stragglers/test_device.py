"""Which device a rank has, by played environments and a played torch."""

from types import SimpleNamespace

import pytest

from allreduce_bench.stragglers.monitor.rank_place import LONGEST_NAME, find_device


@pytest.mark.parametrize(
    "environ, said",
    [
        ({}, ""),
        ({"CUDA_VISIBLE_DEVICES": "5"}, "CUDA 5"),
        ({"CUDA_VISIBLE_DEVICES": "4, 5,6", "LOCAL_RANK": "1"}, "CUDA 5"),
        ({"CUDA_VISIBLE_DEVICES": "4,5"}, ""),  # which of them nobody says
        ({"CUDA_VISIBLE_DEVICES": "4,5", "LOCAL_RANK": "2"}, ""),
        ({"ROCR_VISIBLE_DEVICES": "GPU-ab12", "LOCAL_RANK": "0"}, "ROCm GPU-ab12"),
        ({"LOCAL_RANK": "3"}, ""),
        ({"LOCAL_RANK": "three", "SECRET": "s"}, ""),
        ({"CUDA_VISIBLE_DEVICES": "\x1b[2J5"}, "CUDA ?[2J5"),
    ],
)
def test_by_the_environment(environ, said):
    assert find_device(environ, {}) == said


def test_a_name_is_short():
    assert len(find_device({"CUDA_VISIBLE_DEVICES": "x" * 1000}, {})) == LONGEST_NAME


def torch(initialised: bool, properties) -> dict:
    cuda = SimpleNamespace(
        is_initialized=lambda: initialised, current_device=lambda: 2, get_device_properties=properties
    )
    return {"torch": SimpleNamespace(cuda=cuda)}


def test_torch_is_asked_only_where_it_has_begun_and_may_fail():
    environ = {"CUDA_VISIBLE_DEVICES": "5"}
    assert find_device(environ, torch(True, lambda index: SimpleNamespace(uuid="5fd4-1"))) == "cuda:2 5fd4-1"
    assert find_device(environ, torch(True, lambda index: SimpleNamespace())) == "cuda:2"
    assert find_device(environ, torch(False, lambda index: 1 / 0)) == "CUDA 5"

    def fails(index):
        raise RuntimeError("device lost")

    assert find_device(environ, torch(True, fails)) == "CUDA 5"
    assert find_device(environ, {"torch": SimpleNamespace()}) == "CUDA 5"

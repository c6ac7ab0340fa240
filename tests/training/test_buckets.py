"""Buckets against published sizes, torch's own assignment, and the buckets of a DistributedDataParallel at work."""

import json
import os
import random
import subprocess
import sys

import pytest
from interpreters import FULL
from places import ROOT

from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.buckets import MIB, Caps, assign_by_size, ddp_buckets
from allreduce_bench.training.shape_file import read_model
from allreduce_bench.training.tensors import Gradient, Model

ALONE = {**os.environ, "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
DTYPES = ("float32", "float64", "float16", "bfloat16")


def in_mib(name: str, **more) -> list[float]:
    return [round(bucket.size_bytes / MIB, 2) for bucket in ddp_buckets(known_model(name), **more)]


def test_buckets_are_those_of_the_well_known_models():
    assert in_mib("resnet50") == [7.82, 30.04, 25.04, 25.32, 9.27]
    assert in_mib("bert-base") == [2.25, *[27.04] * 12, 90.93]
    assert in_mib("gpt2") == [9.01, *[27.04] * 11, 168.27]
    llama = in_mib("llama2-7b")
    assert (len(llama), llama[0], sorted(llama)[113], llama[-1]) == (226, 500, 64, 500)
    assert [len(in_mib(name)) for name in ("vgg16", "bert-large", "gpt2-xl", "llama3-8b")] == [6, 38, 145, 194]


def test_every_gradient_is_in_one_bucket_and_bytes_halve_with_the_type():
    model = known_model("bert-base")
    buckets = ddp_buckets(model, dtype="bfloat16")
    assert sorted(index for bucket in buckets for index in bucket.gradients) == [*range(199)]
    assert sum(bucket.size_bytes for bucket in buckets) == model.size_bytes() // 2


def test_types_never_share_a_bucket():
    gradients = tuple(Gradient(str(i), (10,), dtype=("float32", "float64")[i % 2]) for i in range(6))
    buckets = ddp_buckets(Model("m", "M", gradients), Caps(60, 200))
    assert [(bucket.dtype, bucket.gradients) for bucket in buckets] == [
        ("float64", (5,)),
        ("float32", (4, 2)),
        ("float64", (3, 1)),
        ("float32", (0,)),
    ]


def test_200_random_lists_are_packed_as_torch_does():
    torch = pytest.importorskip("torch", reason="torch is not installed here")
    assign = torch.distributed._compute_bucket_assignment_by_size
    chance = random.Random(18)
    for number in range(200):
        kinds = [chance.choice(DTYPES[: 1 + number % 4]) for _ in range(chance.randrange(1, 40))]
        counts = [int(2 ** chance.uniform(0, 12)) for _ in kinds]
        limits = [chance.randrange(1, 20_000) for _ in range(chance.randrange(1, 3))]
        tensors = [torch.empty(count, dtype=getattr(torch, kind)) for count, kind in zip(counts, kinds)]
        sizes = [(tensor.numel() * tensor.element_size(), kind) for tensor, kind in zip(tensors, kinds)]
        assert [list(one) for one in assign_by_size(sizes, limits)] == assign(tensors, limits)[0]
        order = [*range(len(kinds))]
        chance.shuffle(order)
        ours = [list(one) for one in assign_by_size(sizes, limits, order)]
        theirs = assign(tensors, limits, [False] * len(kinds), order)[0]
        left_open = len({*kinds})  # torch has those that stay open in the order of a hash table
        assert ours[:-left_open] == theirs[:-left_open] and sorted(ours) == sorted(theirs)


def test_a_model_at_work_has_these_buckets_from_the_second_step_on(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed here")
    program = [str(ROOT / "tests" / "ranks" / "ddp_buckets.py"), str(tmp_path)]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"] if FULL else []
    done = subprocess.run([sys.executable, *launcher, *program], capture_output=True, text=True, timeout=600, env=ALONE)
    assert done.returncode == 0, done.stderr
    model = read_model(tmp_path / "shapes.csv")
    found = json.loads((tmp_path / "buckets.json").read_text())
    for cap_mib, steps in found.items():
        caps = Caps(*(int(cap_mib) * MIB,) * 2) if cap_mib else Caps()
        packed = [bucket.size_bytes // 4 for bucket in ddp_buckets(model, caps)]
        assert steps == [[model.parameters], packed, packed]
    assert [[len(counts) for counts in steps] for steps in found.values()] == [[1, 2, 2], [1, 3, 3]]

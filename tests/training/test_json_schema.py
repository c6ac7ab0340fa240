"""The schema of `--format json` holds what is printed, and refuses what is not."""

import json

from strict_schemas import undescribed

from allreduce_bench.models.machine import bare_machine
from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.buckets import Fusion
from allreduce_bench.training.cost import modelled_costs
from allreduce_bench.training.result import Result, document
from allreduce_bench.training.step import Setup, divide, outcome, variants

COSTS = modelled_costs(bare_machine(20e-6, 8e-10), ["ring"])


def violations(content: dict) -> list:
    return undescribed("workload", json.dumps(content))


def test_what_is_printed_is_valid():
    for setup in (Setup(known_model("resnet50"), 0.1), Setup(known_model("gpt2"), 0.1, Fusion())):
        tried = tuple(variants(setup, COSTS, 4, (1 << 20,)))
        assert not violations(document(Result("x", "y", "z", (outcome(setup, COSTS, 4),), setup, tried)))
    assert not violations(document(Result("x", "y", "z", ())))


def test_both_kinds_of_all_reduces_are_valid():
    part, tensor = divide(known_model("gpt2"), "div:2", 2, 1, "flops")
    setup = Setup(part, 0.1, tensor=tensor)
    content = document(Result("x", "y", "z", (outcome(setup, COSTS, 4),), setup, batch=8))
    assert not violations(content)
    (step,) = content["steps"]
    assert content["tensor_parallel"]["calls"] == len(step["tensor_parallel_transfers"]) == 48
    assert (step["data_parallel_ranks"], step["effective_batch"]) == (2, 16)
    assert step["exposed_s"] == step["tensor_parallel_s"] + step["data_parallel_exposed_s"]
    content["tensor_parallel"]["layers"] = 12
    assert violations(content)


def test_what_lacks_a_field_is_not():
    content = document(Result("x", "y", "z", ()))
    del content["steps"]
    assert violations(content) and violations(document(Result("x", "y", "z", ())) | {"kind": "guessed"})

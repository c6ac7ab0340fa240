"""The schema of `--format json` holds what is printed, and refuses what is not."""

import json

from strict_schemas import undescribed

from allreduce_bench.models.machine import bare_machine
from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.cost import modelled_costs
from allreduce_bench.training.result import Result, document
from allreduce_bench.training.step import Setup, outcome, variants

COSTS = modelled_costs(bare_machine(20e-6, 8e-10), ["ring"])


def violations(content: dict) -> list:
    return undescribed("workload", json.dumps(content))


def test_what_is_printed_is_valid():
    setup = Setup(known_model("resnet50"), 0.1)
    tried = tuple(variants(setup, COSTS, 4, (1 << 20,)))
    assert not violations(document(Result("x", "y", "z", (outcome(setup, COSTS, 4),), setup, tried)))
    assert not violations(document(Result("x", "y", "z", ())))


def test_what_lacks_a_field_is_not():
    content = document(Result("x", "y", "z", ()))
    del content["steps"]
    assert violations(content) and violations(document(Result("x", "y", "z", ())) | {"kind": "guessed"})

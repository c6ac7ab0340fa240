"""The document of a result: what programs read."""

import json

from allreduce_bench.models.machine import bare_machine
from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.cost import modelled_costs
from allreduce_bench.training.result import Result, document
from allreduce_bench.training.step import Setup, outcome

COSTS = modelled_costs(bare_machine(20e-6, 8e-10), ["ring"])
SETUP = Setup(known_model("resnet50"), 0.1)


def test_a_step_has_its_facts_in_si_units():
    facts = document(Result(SETUP, "y", "z", (outcome(SETUP, COSTS, 4),)))
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    head = ["schema", "kind", "title", "source", "grade", "placement", "model", "packing", "buckets"]
    assert list(facts) == [*head, "steps", "variants"]
    assert facts["kind"] == "modelled" and facts["model"]["parameters"] == 25_557_032
    assert [bucket["size_bytes"] >> 20 for bucket in facts["buckets"]] == [7, 30, 25, 25, 9]
    (step,) = facts["steps"]
    assert (step["ranks"], step["compute_s"]) == (4, 0.1)
    assert step["step_s"] == step["transfers"][-1]["end_s"] and step["transfers"][0]["algorithm"] == "ring"
    assert facts["packing"]["cap_nbytes"] == 25 << 20 and facts["packing"]["ready_by"] == "flops"

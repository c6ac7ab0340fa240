"""The schema of `health --format json`."""

from allreduce_bench.health.json_schema import FAILING
from allreduce_bench.health.judgement import FailingNode


def test_every_field_of_a_failing_node_is_in_it():
    assert set(FAILING["properties"]) == {*FailingNode._fields}

"""The schema of `health --format json`."""

from allreduce_bench.health.json_schema import HEALTH
from allreduce_bench.health.judgement import FailingNode


def test_every_field_of_a_failing_node_is_in_it():
    assert set(HEALTH["properties"]["failing_nodes"]["items"]["properties"]) == {*FailingNode._fields}

"""The schema of `health --format json`."""

from allreduce_bench.health.judgement import FailingNode
from allreduce_bench.health.output import HEALTH


def test_every_field_of_a_failing_node_is_in_it():
    assert set(HEALTH["properties"]["failing_nodes"]["items"]["properties"]) == {*FailingNode._fields}

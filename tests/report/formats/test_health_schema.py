"""The schema of `health --format json`."""

from allreduce_bench.evaluation.failed_pairs import FailingNode
from allreduce_bench.report.formats.health_schema import FAILING


def test_every_field_of_a_failing_node_is_in_it():
    assert set(FAILING["properties"]) == {*FailingNode._fields}

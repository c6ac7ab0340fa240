"""Options of `workload` that would change nothing are refused, defaults are not."""

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main


def bench(*words: str):
    return CliRunner().invoke(main, ["workload", *words])


@pytest.mark.parametrize(
    "words",
    [("--measure", "-m", "x"), ("--measure", "--alpha", "1us"), ("--measure", "--bandwidth", "1Gbit")],
)
def test_with_measure_no_cost_is_taken(words):
    found = bench("resnet50", "--compute", "1ms", "-n", "2", *words)
    assert found.exit_code == 2 and "with --measure all-reduces are taken as they were measured" in found.stderr


def test_a_step_without_its_computation_is_no_list_of_buckets():
    for words in (("-n", "2"), ("--alpha", "1us"), ("--measure",), ("-o", "x.json"), ("--format", "json")):
        found = bench("resnet50", *words)
        assert found.exit_code == 2 and "add --compute" in found.stderr, found.output

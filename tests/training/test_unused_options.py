"""Options of `workload` that would change nothing are refused, defaults are not."""

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main
from allreduce_bench.cli.types import OneLineError
from allreduce_bench.training.request import refuse_unused

DEFAULTS = {"calls": None, "shapes": None, "blocking": False, "logs": ()}


@pytest.mark.parametrize(
    "given, options, measure, said",
    [
        ({"work"}, {}, False, "--work: has a meaning with --measure only"),
        ({"steps", "machine"}, {}, False, "--steps: has a meaning"),
        ({"alpha_within"}, {}, True, "--alpha-within: with --measure all-reduces are taken as they were measured"),
        ({"logs", "work"}, {}, True, "--log: with --measure"),
        ({"overlap"}, {"blocking": True}, True, "--overlap: with --blocking nothing overlaps"),
        ({"ranks_per_node"}, {"logs": ("x",)}, False, "--ranks-per-node: the times of a log"),
        ({"compute"}, {"calls": "x.csv"}, False, "--compute: recorded calls have their own"),
        ({"overlap"}, {"calls": "x.csv"}, True, "--overlap: recorded calls have their own"),
        ({"blocking"}, {"calls": "x.csv"}, True, "--blocking: recorded calls have their own"),
        ({"scale"}, {"calls": "x.csv"}, True, "--scale: recorded calls have their own"),
    ],
)
def test_what_changes_nothing_is_refused(given, options, measure, said):
    with pytest.raises(OneLineError, match=said):
        refuse_unused(given, {**DEFAULTS, **options}, measure)


def test_what_counts_is_not():
    refuse_unused({"work", "steps", "scale"}, DEFAULTS, True)
    refuse_unused({"alpha", "logs", "bucket_cap"}, DEFAULTS, False)
    refuse_unused({"calls", "alpha"}, {**DEFAULTS, "calls": "x.csv"}, False)


@pytest.mark.parametrize(
    "words, said",
    [(("--steps", "5"), "--steps: has a meaning"), (("--measure", "--alpha", "1us"), "--alpha: with --measure")],
)
def test_the_command_says_it_in_one_line_though_the_value_is_the_default(words, said):
    found = CliRunner().invoke(main, ["workload", "resnet50", "--compute", "1ms", "-n", "2", *words])
    assert found.exit_code == 2 and found.stderr.startswith(f"error: {said}") and found.stderr.count("\n") == 1

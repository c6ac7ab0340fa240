"""`workload --bandwidth 10Gbit,25Gbit`: what the second bandwidth buys a step, and whether a cap does as much."""

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main
from allreduce_bench.training.bandwidths import cap_sentence
from allreduce_bench.training.step import Variant

STEP = ("workload", "resnet50", "-n", "2,8", "--compute", "100ms", "--alpha", "20us")


def said(*words: str):
    return CliRunner().invoke(main, [*STEP, *words])


def result_at(bandwidth: float):
    """The result of the step with links of this rate."""
    from allreduce_bench.training.command import workload
    from allreduce_bench.training.request import make_request

    options = workload.make_context("workload", [*STEP[1:]]).params
    return make_request({**options, "bandwidth": bandwidth}, ["compute"]).result()


def test_steps_at_two_bandwidths_stand_side_by_side():
    found = said("--bandwidth", "10Gbit,25Gbit")
    assert found.exit_code == 0
    before, after = (result_at(rate) for rate in (10e9 / 8, 25e9 / 8))
    assert "10 Gbit/s" in found.stdout and "25 Gbit/s" in found.stdout
    share = after.outcomes[-1].time_line.step_s / before.outcomes[-1].time_line.step_s - 1
    assert f"{100 * share:+.1f} %" in found.stdout
    assert cap_sentence(before, after) in " ".join(found.stdout.split())


def test_the_cap_question_is_about_the_lower_bandwidth_in_either_order():
    for rates in ("10Gbit,25Gbit", "25Gbit,10Gbit"):
        assert "At 10 Gbit/s no bucket cap" in said("--bandwidth", rates).stdout


def test_a_cap_that_does_as_much_is_named():
    slow, fast = (result_at(rate) for rate in (10e9 / 8, 25e9 / 8))
    goal_s = fast.outcomes[-1].time_line.step_s
    sentence = cap_sentence(slow._replace(variants=(Variant("fastest", 8 << 20, 12, goal_s * 0.99),)), fast)
    assert "a bucket cap of 8 MiB does as much" in sentence
    none = cap_sentence(slow._replace(variants=(Variant("fastest", 8 << 20, 12, None),)), fast)
    assert "10 Gbit/s no bucket" in none


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--bandwidth", "1Gbit,2Gbit", "-o", "x.json"],
            "--bandwidth: two bandwidths are compared in a table of text; leave -o out, or name one bandwidth",
        ),
        (
            ["--bandwidth", "1Gbit,2Gbit", "--format", "json"],
            (
                "--bandwidth: two bandwidths are compared in a table of text; leave --format json out, or name one "
                "bandwidth"
            ),
        ),
        (
            ["--bandwidth", "1Gbit,2Gbit", "--measure"],
            "with --measure all-reduces are taken as they were measured; leave it out",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(words, sentence):
    result = said(*words)
    assert result.exit_code == 2 and sentence in result.stderr and result.stderr.count("\n") == 1

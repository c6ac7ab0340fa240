"""`predict --bandwidth 10Gbit,25Gbit`: what the second bandwidth buys."""

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main
from allreduce_bench.report.bandwidths import difference_of


def said(*words: str):
    return CliRunner().invoke(main, [*map(str, words)])


def test_a_difference_has_its_sign_and_its_share():
    assert difference_of(0.2, 0.1) == ("-100 ms", "-50.0 %")
    assert difference_of(0.1, 0.2) == ("+100 ms", "+100.0 %")
    assert difference_of(0.1, 0.1)[1] == "+0.0 %"


def test_times_at_two_bandwidths_stand_side_by_side():
    asked = ("predict", "-n", "8", "--sizes", "16M", "--alpha", "0.001us", "-a", "ring", "--bandwidth")
    lines = said(*asked, "10Gbit,20Gbit").stdout.splitlines()
    assert lines[-1].split() == ["16", "MiB", "23.5", "ms", "ring", "11.7", "ms", "ring", "-11.7", "ms", "-50.0", "%"]
    assert all(each in lines[-2] for each in ("10 Gbit/s", "20 Gbit/s", "difference"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--bandwidth", "10Gbit,10000Mbit"],
            "'10Gbit,10000Mbit': the two bandwidths are equal; expected two to compare, such as 10Gbit,25Gbit",
        ),
        (
            ["--bandwidth", "1Gbit,2Gbit,3Gbit"],
            "'1Gbit,2Gbit,3Gbit': expected one bandwidth, or two to compare, such as 10Gbit,25Gbit; found 3",
        ),
        (
            ["--bandwidth", "1Gbit,2Gbit", "--map"],
            "--bandwidth: two bandwidths are compared in a table of text; leave --map out, or name one bandwidth",
        ),
        (
            ["--bandwidth", "1Gbit,2Gbit", "--format", "csv"],
            (
                "--bandwidth: two bandwidths are compared in a table of text; leave --format csv out, or name one "
                "bandwidth"
            ),
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(words, sentence):
    result = said("predict", "-n", "8", "--alpha", "5us", *words)
    assert result.exit_code == 2 and sentence in result.stderr and result.stderr.count("\n") == 1
    assert not result.stdout

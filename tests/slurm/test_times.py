"""Times as Slurm prints them, and limits as sbatch takes them."""

import pytest

from allreduce_bench.slurm.times import duration, parse_limit, seconds


@pytest.mark.parametrize(
    ("text", "s"), [("0:14", 14), ("10:00", 600), ("1:00:00", 3600), ("1-02:03:04", 93784), ("UNLIMITED", None)]
)
def test_durations_there_and_back(text, s):
    assert seconds(text) == s
    assert s is None or duration(s) == text


@pytest.mark.parametrize(
    ("text", "limit_s"),
    [
        ("1", 60),
        ("30", 1800),
        ("10:30", 660),  # minutes and seconds; Slurm counts whole minutes
        ("1:30:00", 5400),
        ("00:30:00", 1800),
        ("2-12", 216_000),
        ("1-02:30", 95_400),
        ("1-00:00:30", 86_460),
        ("90m", 5400),
        ("2h", 7200),
        ("45s", 60),
    ],
)
def test_limits_are_read_as_sbatch_reads_them_or_with_units(text, limit_s):
    assert parse_limit(text) == limit_s
    assert parse_limit(duration(limit_s)) == limit_s


@pytest.mark.parametrize("text", ["", "0", "0:00", "-5", "UNLIMITED", "1:2:3:4", "5 minutes", "$(id)", "400-00"])
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(ValueError, match="expected minutes"):
        parse_limit(text)

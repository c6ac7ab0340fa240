"""`exec`: what it refuses before it starts anything."""

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-n", "2"], "expected -- and a program"),
        (["-n", "0", "--", "true"], "--ranks: 0 is not in the range"),
        (["--", "true"], "--ranks"),
        (
            ["-n", "2", "--checkpoint", "c", "--mean-time-to-failure", "0s", "--", "true"],
            "expected a time longer than 0",
        ),
        (["-n", "100000", "--", "true"], "so many processes"),
    ],
)
def test_bad_words_are_refused(words, says):
    result = CliRunner().invoke(main, ["exec", *words])
    assert result.exit_code == 2 and says in result.output


def test_it_is_not_for_ranks(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    result = CliRunner().invoke(main, ["exec", "-n", "2", "--", "true"])
    assert result.exit_code == 2 and "exec starts its own ranks" in result.output

"""Words of options become values, and whatever is wrong with them one line."""

import click
import pytest
from click.testing import CliRunner

from allreduce_bench.cli import types
from allreduce_bench.cli.types import OneLineError, errors_in_one_line
from allreduce_bench.runs.option_values import parse_names


@pytest.mark.parametrize(
    ("kind", "words", "value"),
    [
        (types.SIZES, "8,64K", (8, 65536)),
        (types.DURATION, "2m", 120.0),
        (types.RANKS, "2,4-6", (2, 4, 5, 6)),
        (types.NAMES, "ring, ./mine.py", ("ring", "./mine.py")),
        (types.SHARE, "5%", 0.05),
    ],
)
def test_words_become_values_and_values_stay(kind, words, value):
    assert kind.convert(words, None, None) == value
    if not isinstance(value, str):
        assert kind.convert(value, None, None) == value


def test_words_without_a_value_are_refused_with_their_option():
    option = click.Option(["--within"], type=types.DURATION)
    with pytest.raises(OneLineError, match="^--within: "):
        types.DURATION.convert("soon", option, None)
    with pytest.raises(ValueError, match="',': expected names"):
        parse_names(",")


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (ValueError("a reason"), "a reason", 2),
        (FileNotFoundError(2, "No such file or directory", "x.xml"), "x.xml: no such file or directory", 2),
        (KeyboardInterrupt(), "interrupted", 130),
        (OneLineError("a check failed", exit_code=1), "a check failed", 1),
    ],
)
def test_every_error_is_one_line_and_a_status(error, line, status):
    @click.command()
    @errors_in_one_line
    def failing() -> None:
        raise error

    result = CliRunner().invoke(failing)
    assert (result.exit_code, result.output) == (status, f"error: {line}\n")

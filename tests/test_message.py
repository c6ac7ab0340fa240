"""Codes with values, and errors that have them."""

import copy
import pickle

import pytest

from allreduce_bench.cli.types import OneLineError
from allreduce_bench.message import BadValue, say, template_of
from allreduce_bench.runs.rows import RunError


def test_a_sentence_is_its_template_with_values():
    assert say("runs.run_exists", path="a") == template_of("runs.run_exists").format(path="a")
    with pytest.raises(KeyError):
        say("runs.no_such_code")
    with pytest.raises(KeyError):
        say("runs.run_exists")


def test_an_error_has_its_code_and_values():
    error = RunError("runs.run_exists", path="a{b}")
    assert (error.code, error.values) == ("runs.run_exists", {"path": "a{b}"})
    assert str(error) == say("runs.run_exists", path="a{b}") and isinstance(error, ValueError)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize(
    "error", [BadValue("runs.run_exists", path="a"), OneLineError("runs.run_exists", exit_code=1, path="a")]
)
def test_an_error_is_copied_with_all_that_it_has(error, again):
    same = again(error)
    assert type(same) is type(error) and str(same) == str(error) and same.__dict__ == error.__dict__

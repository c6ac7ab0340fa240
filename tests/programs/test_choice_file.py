"""A file of choices for all ranks; a sample of studies/hostile_choices.py."""

import json
import random

import pytest
from hostile_choices import make, naming_code, study
from interpreters import FULL, in_turn, interpreters


@pytest.mark.slow
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_files_that_are_damaged_or_name_code_are_refused_and_nothing_is_run(tmp_path, python, capfd):
    in_turn(1, python)
    folder = make(random.Random(3), tmp_path, 200 if FULL else 60)
    assert study(python, folder, tmp_path) == 0, capfd.readouterr().out


def test_the_study_makes_files_that_name_code(tmp_path):
    named = [json.loads(content)["choices"][0] for content in naming_code(tmp_path)]
    assert str(tmp_path / "evil.py") in {one["algorithm"] for one in named} & {one.get("file") for one in named}


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_own_algorithms_survive_and_where_vectors_lay_is_kept(python, on_ranks):
    in_turn(0, python)
    on_ranks(2, "own_choices.kept")

"""A sample of the study of damaged runs: bits, digits and lines are noticed, and nothing ends in a traceback."""

import random

import damaged_runs
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("kind", damaged_runs.ANYWHERE)
def test_no_damage_is_silent(tmp_path, kind):
    run = damaged_runs.build_whole(tmp_path / "run")
    outcomes = damaged_runs.damage_anywhere(run, damaged_runs.ANYWHERE[kind], 12, random.Random(1))
    assert set(outcomes) <= {"said", "refused", "same"} and outcomes["said"] > 6

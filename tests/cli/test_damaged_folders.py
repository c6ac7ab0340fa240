"""A sample of the study of damaged folders: each command refuses, or says what is missing, and nothing ends raw."""

import random

import damaged_folders
import pytest
from damaged_folders import Whole, damaged, without_a_launch, without_any_launch

COMMANDS = ("runs", "fit", "choice")


@pytest.fixture(scope="module", params=["plain", "imported"])
def whole(request, tmp_path_factory) -> tuple[Whole, object]:
    place = tmp_path_factory.mktemp(request.param)
    return damaged_folders.whole_of(request.param, place, COMMANDS), place


@pytest.mark.slow
@pytest.mark.parametrize("damage", [without_a_launch, without_any_launch])
def test_a_launch_that_is_gone_is_said_by_every_command(whole, damage):
    run, place = whole
    outcomes = dict(damaged(random.Random(1), run, damage, place, COMMANDS))
    assert set(outcomes.values()) <= {"said", "refused", "of no use"} and outcomes["choice"] != "of no use", outcomes

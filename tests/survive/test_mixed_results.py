"""Survivors that differ in the call that was done again, or in who is left, have no right result."""

from pathlib import Path

import pytest

from allreduce_bench.survive import BY_ULFM
from allreduce_bench.survive.ways import RECOVERED, ULFM, WRONG, Event, Outcome, _Way


class Played:
    """A launch that has ended, of these results."""

    def __init__(self, *results: tuple[int, tuple[int, ...]]):
        told = [{"size": len(left), "step": step, "members": [*left], "marks": {}} for step, left in results]
        self.events = [Event("result", 0.0, facts) for facts in told]

    def find_events(self, *kinds: str) -> list[Event]:
        return [event for event in self.events if event.kind in kinds]

    def finish(self) -> None:
        """Nothing is left."""


@pytest.mark.parametrize(
    ("results", "state"),
    [
        (((1, (0, 1, 2, 3)), (5, (0, 1, 3)), (5, (0, 1, 3)), (5, (0, 1, 3))), RECOVERED),
        (((5, (0, 1, 3)), (6, (0, 1, 3)), (5, (0, 1, 3))), WRONG),
        (((5, (0, 1, 3)), (5, (0, 1, 2)), (5, (0, 1, 3))), WRONG),
    ],
)
def test_survivors_agree_on_the_call_and_on_who_is_left(results, state):
    outcome = Outcome("ring", 64, ULFM)
    _Way(None, None, outcome, Path())._take(Played(*results), BY_ULFM, RECOVERED)
    assert outcome.state == state and outcome.left == 3 and bool(outcome.reason) == (state == WRONG)

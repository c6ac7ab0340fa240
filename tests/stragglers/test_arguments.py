"""Arguments of StepMonitor that have no meaning are one sentence, and paths are absolute."""

from pathlib import Path

import pytest

from allreduce_bench.stragglers.monitor.arguments import check_duration, check_every, check_function, check_log
from allreduce_bench.stragglers.monitor.step_monitor import StepMonitor


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"every": 0}, "every is"),
        ({"every": 2.5}, "every is 2.5"),
        ({"every": True}, "every is True"),
        ({"stall_after": "soon"}, "'soon' is not.*duration"),
        ({"stall_after": 0}, "stall_after is 0; expected more than 0 s"),
        ({"stall_after": float("nan")}, "stall_after is nan"),
        ({"stall_after": True}, "stall_after is True"),
        ({"log": ""}, "expected the name"),
        ({"on_alert": 5}, "on_alert is 5; expected a function"),
    ],
)
def test_arguments_without_a_meaning_are_refused(arguments, words):
    with pytest.raises((ValueError, TypeError), match=words) as refused:
        StepMonitor(**arguments)
    assert "\n" not in str(refused.value)


def test_arguments_with_a_meaning_are_kept():
    assert [check_every(None), check_every(5)] == [None, 5] and check_function(print) is print
    assert [check_duration(None), check_duration("90s"), check_duration(2)] == [None, 90.0, 2.0]
    assert check_log(None) is None and check_log("a.jsonl") == Path.cwd() / "a.jsonl"

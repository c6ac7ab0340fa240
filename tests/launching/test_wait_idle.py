"""Waiting for a quiet machine, with a machine that is played."""

import pytest

from allreduce_bench.launching import idle_wait
from allreduce_bench.launching.idle_wait import LOOK_S, SAY_AGAIN_S, SHORT_LOOK_S, IdleWait
from allreduce_bench.machine.at_work import Glance, Program

BUSY, QUIET = Glance(2, 1.9, (Program("python", 7, 0.95),)), Glance(2, 0.0, ())


class PlayedMachine:
    """Looks take their time on a clock of their own; the last thing seen stays."""

    def __init__(self, seen: list[Glance | None], monkeypatch):
        self.seen, self.now_s, self.looks, self.said = seen, 0.0, [], []
        monkeypatch.setattr(idle_wait.time, "monotonic", lambda: self.now_s)

    def look(self, seconds: float) -> Glance | None:
        self.now_s += seconds
        self.looks.append(seconds)
        return self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]

    def waiting(self, longest_s: float) -> IdleWait:
        return IdleWait(longest_s, self.said.append, self.look)


@pytest.fixture
def play(monkeypatch):
    return lambda *seen: PlayedMachine([*seen], monkeypatch)


def never() -> bool:
    return False


def test_a_quiet_machine_is_said_nothing_of_and_later_looks_are_short(play):
    machine = play(QUIET)
    wait = machine.waiting(60)
    wait.wait(never)
    wait.wait(never)
    assert (machine.looks, machine.said) == ([LOOK_S, SHORT_LOOK_S], [])
    assert wait.waited_s == pytest.approx(LOOK_S + SHORT_LOOK_S)


def test_who_is_at_work_is_named_until_it_is_quiet_but_not_every_second(play):
    machine = play(*[BUSY] * 15, QUIET)
    machine.waiting(60).wait(never)
    assert machine.said == [
        *["waiting for an idle machine: 1.9 of 2 cores busy: python (pid 7, 95 %)"] * 2,
        "idle after 16.0 s: 0.0 of 2 cores busy",
    ]
    assert len(machine.looks) > SAY_AGAIN_S


def test_the_time_is_that_of_all_launches_together(play):
    machine = play(*[BUSY] * 4, QUIET, BUSY)
    wait = machine.waiting(10)
    wait.wait(never)
    wait.wait(never)
    assert wait.waited_s == pytest.approx(10, abs=LOOK_S) and wait.left_s == 0
    assert "--wait-idle time" in machine.said[-1]
    looks = len(machine.looks)
    wait.wait(never)
    assert len(machine.looks) == looks


def test_where_the_kernel_shows_nothing_nobody_waits(play):
    machine = play(None)
    wait = machine.waiting(60)
    wait.wait(never)
    wait.wait(never)
    assert len(machine.looks) == len(machine.said) == 1 and "not available" in machine.said[0]


def test_a_warning_ends_the_waiting(play):
    machine = play(BUSY)
    machine.waiting(60).wait(lambda: len(machine.looks) == 3)
    assert len(machine.looks) == 3

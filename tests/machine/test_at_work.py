"""Who is at work: a written kernel that changes while somebody looks."""

import os
import time

import pytest

from allreduce_bench.machine import at_work
from allreduce_bench.machine.at_work import MOST_NAMED, Glance, Program, glance

TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def kernel_of(put, monkeypatch):
    """A kernel of two cores; what `glance` sees before and after its pause."""

    def show(cores: tuple[int, int], processes: dict[int, tuple[str, int, int]]) -> None:
        lines = [f"cpu{number} {ticks} 0 0 100 0 0 0 0" for number, ticks in enumerate(cores)]
        put("proc/stat", "\n".join(["cpu 9 0 0 100 0 0 0 0", *lines]))
        for pid, (name, ticks, cpu) in processes.items():
            put(f"proc/{pid}/stat", f"{pid} ({name}) R {'0 ' * 10}{ticks} 0 {'0 ' * 23}{cpu} 0")

    def change(before: tuple, after: tuple) -> Glance | None:
        show(*before)
        monkeypatch.setattr(time, "sleep", lambda seconds: show(*after))
        now = iter([0.0, 1.0])
        monkeypatch.setattr(time, "perf_counter", lambda: next(now))
        monkeypatch.setattr(time, "process_time", lambda: 0.0)
        return glance(1.0)

    monkeypatch.setattr(at_work, "affinity", lambda: frozenset({0, 1}))
    return change


def test_the_busiest_come_first_and_only_what_grew_counts(kernel_of):
    before = {5: ("old hand", 700, 0), 6: ("python", 0, 0), 7: ("idle", 9, 1)}
    after = {5: ("old hand", 700 + TICKS // 2, 0), 6: ("python", TICKS, 1), 7: ("idle", 9, 1)}
    seen = kernel_of(((100, 100), before), ((100 + TICKS // 2, 100 + TICKS), after))
    assert (seen.cores, seen.busy, seen.is_quiet) == (2, pytest.approx(1.5), False)
    load, _, programs = seen.words.partition(": ")
    assert (load, programs) == ("1.5 of 2 cores busy", "python (pid 6, 100 %), old hand (pid 5, 50 %)")


def test_a_process_that_begins_meanwhile_is_seen_and_one_on_other_cores_is_not(kernel_of):
    seen = kernel_of(((0, 1), {}), ((TICKS, 1), {8: ("cc1", TICKS, 0), 9: ("elsewhere", TICKS, 4)}))
    assert [program.name for program in seen.programs] == ["cc1"]


def test_a_name_commands_no_terminal(kernel_of):
    name = "\x1b[2Jevil\x07) R\u202e"
    seen = kernel_of(((0, 1), {}), ((TICKS, 1), {8: (name, TICKS, 0)}))
    assert seen.programs[0].name == "?[2Jevil?) R?"


def test_a_quiet_machine_and_one_whose_processes_are_hidden(kernel_of):
    quiet = kernel_of(((5, 5), {}), ((5 + TICKS // 50, 5), {}))
    assert quiet.is_quiet and quiet.words == "0.0 of 2 cores busy"
    load, _, programs = kernel_of(((5, 5), {}), ((5 + TICKS, 5), {})).words.partition(" by ")
    assert (load, programs) == ("1.0 of 2 cores busy", "unknown processes")


def test_a_kernel_that_shows_nothing_is_unknown(root):
    assert glance(0.0) is None


def test_one_busy_core_of_many_is_not_quiet_and_many_programs_are_counted():
    programs = tuple(Program("make", pid, 0.5) for pid in range(MOST_NAMED + 3))
    assert not Glance(128, 1.0, programs).is_quiet and Glance(128, 0.4, ()).is_quiet
    assert Glance(128, 1.0, programs).words.endswith("make (pid 3, 50 %) and 3 more")
    assert Glance(1, 0.0, ()).words == "0.0 of 1 core busy"

"""Which launches of a run are worth starting in the time that is left, and what follows one that fails."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from allreduce_bench.launching import layout, supervision
from allreduce_bench.launching.layout import start_s
from allreduce_bench.launching.supervision import CELL_S, LaunchFailed, Turn, _one_of_each, _split_by_time, alternate
from allreduce_bench.runs.competitor import Competitor
from allreduce_bench.runs.control import Control
from allreduce_bench.runs.plan import Launch
from allreduce_bench.runs.start import UNASKED, Start

LAUNCHES = [Launch(ranks, number) for number in (1, 2, 3) for ranks in (2, 4)]


CELLS = [SimpleNamespace(competitor=Competitor("native"))] * 10
RUN = SimpleNamespace(plan=SimpleNamespace(cells=lambda launch: CELLS, start=UNASKED))


def split(launches: list[Launch], left_s: float | None) -> tuple[list[Launch], list[Launch]]:
    """Those of one run."""
    begun, others = _split_by_time([RUN], [Turn(0, launch) for launch in launches], left_s)
    return [turn.launch for turn in begun], [turn.launch for turn in others]


def one_of_each(launches: list[Launch]) -> tuple[list[Launch], list[Launch]]:
    begun, others = _one_of_each([Turn(0, launch) for launch in launches])
    return [turn.launch for turn in begun], [turn.launch for turn in others]


def test_launches_of_several_runs_alternate_and_every_second_round_runs_back():
    turns = alternate(LAUNCHES, [LAUNCHES] * 3)
    names = [f"{'abc'[turn.run]} {turn.launch.name}" for turn in turns]
    assert names[:6] == ["a 2r-1", "b 2r-1", "c 2r-1", "a 4r-1", "b 4r-1", "c 4r-1"]
    assert names[6:9] == ["c 2r-2", "b 2r-2", "a 2r-2"] and names[12] == "a 2r-3"
    resumed = alternate(LAUNCHES, [LAUNCHES[3:], LAUNCHES[2:]])
    assert resumed == [turn for turn in alternate(LAUNCHES, [LAUNCHES] * 2) if turn in resumed]
    assert resumed[:3] == [Turn(1, Launch(2, 2)), Turn(1, Launch(4, 2)), Turn(0, Launch(4, 2))]


def test_without_a_limit_all_launches_are_worth_it():
    assert split(LAUNCHES, None) == (LAUNCHES, [])
    assert split([], 60.0) == ([], [])


def test_launches_are_left_out_by_rounds_of_all_rank_counts_and_one_round_stays():
    round_s = sum(start_s(ranks) + 10 * CELL_S for ranks in (2, 4))
    assert split(LAUNCHES, 2.5 * round_s) == (LAUNCHES[:4], LAUNCHES[4:])
    assert split(LAUNCHES, 0.1 * round_s) == (LAUNCHES[:2], LAUNCHES[2:])
    assert split(LAUNCHES, 9 * round_s) == (LAUNCHES, [])


@pytest.fixture
def played(monkeypatch):
    """Runs of five launches of 2 ranks and of 4, played: `played(fates)` drives one; launch name -> its fate."""

    def drive_played(fates: dict[str, str], within_s: float | None = None, runs: int = 1):
        launches = [Launch(ranks, number) for number in range(1, 6) for ranks in (2, 4)]
        started: list[str] = []

        class Played:
            def __init__(self, run, launch, position):
                self.launch, self.lines = launch, SimpleNamespace(say=said.append)

            def measure(self) -> bool:
                started.append(self.launch.name)
                if fates.get(self.launch.name) == "fails":
                    raise LaunchFailed("rank 1 on n1 died")
                if fates.get(self.launch.name) == "is refused":
                    raise LaunchFailed(f"launch {self.launch.name} ended with status 1", chance=False)
                return fates.get(self.launch.name) != "in vain"

        said: list[str] = []
        monkeypatch.setattr(supervision, "SupervisedLaunch", Played)
        run = SimpleNamespace(
            folder=SimpleNamespace(path=Path("run"), pending=lambda plan, skip_hung, among: launches),
            plan=RUN.plan,
            control=Control(skip_hung=False, within_s=within_s),
            launches=launches,
            warning=SimpleNamespace(is_set=False),
            started=time.time(),
            after_first=lambda: said.append(f"the first: {started}"),
        )
        driven = supervision.drive([run] * runs)
        return driven[0] if runs == 1 else driven, started, said

    return drive_played


def test_a_launch_that_fails_does_not_end_the_run(played):
    driven, started, (first, *said) = played({"4r-2": "fails"})
    assert first == "the first: ['2r-1']"
    assert len(started) == 10 and driven.failed == {Launch(4, 2): "launch 4r-2: rank 1 on n1 died"}
    assert said == ["failed: launch 4r-2: rank 1 on n1 died"] and not driven.given_up


def test_two_that_fail_end_the_launches_of_as_many_ranks(played):
    driven, started, _ = played({"4r-2": "fails", "4r-3": "fails"})
    assert [launch.name for launch in driven.given_up] == ["4r-4", "4r-5"]
    assert len(started) == 8 and [launch.name for launch in driven.failed] == ["4r-2", "4r-3"]


def test_where_no_rank_was_heard_of_no_second_launch_is_tried(played):
    driven, started, _ = played({"4r-1": "is refused"})
    assert len(started) == 6 and len(driven.given_up) == 4
    assert driven.failed == {Launch(4, 1): "launch 4r-1 ended with status 1"}


def test_after_a_launch_whose_time_was_too_short_fewer_share_the_rest(played):
    driven, started, _ = played({"2r-1": "in vain"}, within_s=1000.0)
    assert started == ["2r-1", "4r-1", "2r-2"] and driven.in_vain == [Launch(2, 1)]
    assert len(driven.left_out) == 7


def test_what_fails_in_one_run_does_not_end_the_launches_of_the_others(played):
    fates = {"4r-1": "is refused"}
    both, started, _ = played(fates, runs=2)
    assert started.count("4r-1") == 2 and started.count("2r-5") == 2 and "4r-2" not in started
    assert all(len(driven.failed) == 1 and len(driven.given_up) == 4 for driven in both)
    both, started, _ = played({"2r-1": "in vain"}, within_s=1000.0, runs=2)
    assert len(started) == 5 and sum(len(driven.in_vain) for driven in both) == 2


def test_untouched_launches_come_before_those_of_forced_algorithms():
    launches = [Launch(2, 1, "forced"), Launch(2, 2), Launch(4, 2), Launch(4, 2, "forced")]
    assert one_of_each(launches) == ([Launch(2, 2), Launch(4, 2)], [launches[0], launches[3]])
    assert one_of_each(launches[3:]) == ([launches[3]], [])
    by_number = [Launch(ranks, number, way) for number in (1, 2) for way in ("", "forced") for ranks in (2, 4)]
    round_s = sum(start_s(ranks) + 10 * CELL_S for ranks in (2, 4))
    assert split(by_number, 1.5 * round_s) == (by_number[:2], by_number[2:])
    assert split(by_number, 3.5 * round_s) == (by_number[:6], by_number[6:])


def test_ranks_that_share_cores_start_in_turn(monkeypatch):
    monkeypatch.setattr(layout, "cores", lambda: 2)
    assert start_s(2) == start_s(4) == layout.START_S
    assert start_s(64) == 32 * layout.START_OF_RANK_S
    assert start_s(64, Start(ranks_per_node=16)) == 8 * layout.START_OF_RANK_S

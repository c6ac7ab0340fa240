"""Which launches of a run are worth starting in the time that is left, and what follows one that fails."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from allreduce_bench.launching import launches as of_launches
from allreduce_bench.launching import layout
from allreduce_bench.launching.launches import CELL_S, Turn, alternate, measure_launches, one_of_each, split_by_time
from allreduce_bench.launching.layout import start_s
from allreduce_bench.launching.this_start import Run, ThisStart
from allreduce_bench.launching.watched_launch import LaunchFailed
from allreduce_bench.runs.competitor import Competitor
from allreduce_bench.runs.control import Control
from allreduce_bench.runs.plan import Launch
from allreduce_bench.runs.start import UNASKED, Start

LAUNCHES = [Launch(ranks, number) for number in (1, 2, 3) for ranks in (2, 4)]


CELLS = [SimpleNamespace(competitor=Competitor("native"))] * 10
PLAN = SimpleNamespace(cells=lambda launch: CELLS, start=UNASKED)


def run_of(pending: list[Launch], name: str = "run") -> Run:
    """A run of which these launches are left."""
    folder = SimpleNamespace(path=Path(name), pending=lambda plan, skip_hung, among: pending)
    return Run(folder, PLAN, SimpleNamespace())


RUN = run_of(LAUNCHES)


def split(launches: list[Launch], left_s: float | None) -> tuple[list[Launch], list[Launch]]:
    """Those of one run."""
    begun, others = split_by_time([Turn(RUN, launch) for launch in launches], left_s)
    return [turn.launch for turn in begun], [turn.launch for turn in others]


def first_and_others(launches: list[Launch]) -> tuple[list[Launch], list[Launch]]:
    begun, others = one_of_each([Turn(RUN, launch) for launch in launches])
    return [turn.launch for turn in begun], [turn.launch for turn in others]


def turns_of(*pending: list[Launch]) -> list[str]:
    """The turns of runs a, b, c by name: `a 2r-1`."""
    runs = [run_of(launches, name) for launches, name in zip(pending, "abc")]
    turns = alternate(ThisStart(control=Control(), runs=runs, launches=LAUNCHES))
    return [f"{turn.run.folder.path} {turn.launch.name}" for turn in turns]


def test_launches_of_several_runs_alternate_and_every_second_round_runs_back():
    names = turns_of(LAUNCHES, LAUNCHES, LAUNCHES)
    assert names[:6] == ["a 2r-1", "b 2r-1", "c 2r-1", "a 4r-1", "b 4r-1", "c 4r-1"]
    assert names[6:9] == ["c 2r-2", "b 2r-2", "a 2r-2"] and names[12] == "a 2r-3"
    resumed = turns_of(LAUNCHES[3:], LAUNCHES[2:])
    assert resumed == [name for name in turns_of(LAUNCHES, LAUNCHES) if name in resumed]
    assert resumed[:3] == ["b 2r-2", "b 4r-2", "a 4r-2"]


def test_launches_are_left_out_by_rounds_of_all_rank_counts_and_one_round_stays():
    round_s = sum(start_s(ranks) + 10 * CELL_S for ranks in (2, 4))
    assert split(LAUNCHES, 2.5 * round_s) == (LAUNCHES[:4], LAUNCHES[4:])
    assert split(LAUNCHES, 0.1 * round_s) == (LAUNCHES[:2], LAUNCHES[2:])
    assert split(LAUNCHES, 9 * round_s) == (LAUNCHES, [])


@pytest.fixture
def played(monkeypatch):
    """Runs of five launches of 2 ranks and of 4, played: `played(fates)` measures one; launch name -> its fate."""

    def measure_played(fates: dict[str, str], within_s: float | None = None, runs: int = 1):
        launches = [Launch(ranks, number) for number in range(1, 6) for ranks in (2, 4)]
        started: list[str] = []
        said: list[str] = []

        def measure_one(start, run, launch, position, lines) -> bool:
            started.append(launch.name)
            if fates.get(launch.name) == "fails":
                raise LaunchFailed("rank 1 on n1 died")
            if fates.get(launch.name) == "is refused":
                raise LaunchFailed(f"launch {launch.name} ended with status 1", chance=False)
            return fates.get(launch.name) != "in vain"

        monkeypatch.setattr(of_launches, "measure_launch", measure_one)
        start = ThisStart(
            control=Control(within_s=within_s),
            runs=[run_of(launches) for _ in range(runs)],
            launches=launches,
            show=lambda position: SimpleNamespace(say=said.append),
            after_first=lambda folder: said.append(f"the first: {started}"),
        )
        measure_launches(start)
        return start.runs[0] if runs == 1 else start.runs, started, said

    return measure_played


def test_a_launch_that_fails_does_not_end_the_run(played):
    measured, started, (first, *said) = played({"4r-2": "fails"})
    assert first == "the first: ['2r-1']"
    assert len(started) == 10 and measured.failed == {Launch(4, 2): "launch 4r-2: rank 1 on n1 died"}
    assert said == ["failed: launch 4r-2: rank 1 on n1 died"] and not measured.given_up


def test_two_that_fail_end_the_launches_of_as_many_ranks(played):
    measured, started, _ = played({"4r-2": "fails", "4r-3": "fails"})
    assert [launch.name for launch in measured.given_up] == ["4r-4", "4r-5"]
    assert len(started) == 8 and [launch.name for launch in measured.failed] == ["4r-2", "4r-3"]


def test_where_no_rank_was_heard_of_no_second_launch_is_tried(played):
    measured, started, _ = played({"4r-1": "is refused"})
    assert len(started) == 6 and len(measured.given_up) == 4
    assert measured.failed == {Launch(4, 1): "launch 4r-1 ended with status 1"}


def test_after_a_launch_whose_time_was_too_short_fewer_share_the_rest(played):
    measured, started, _ = played({"2r-1": "in vain"}, within_s=1000.0)
    assert started == ["2r-1", "4r-1", "2r-2"] and measured.in_vain == [Launch(2, 1)]
    assert len(measured.left_out) == 7


def test_what_fails_in_one_run_does_not_end_the_launches_of_the_others(played):
    fates = {"4r-1": "is refused"}
    both, started, _ = played(fates, runs=2)
    assert started.count("4r-1") == 2 and started.count("2r-5") == 2 and "4r-2" not in started
    assert all(len(measured.failed) == 1 and len(measured.given_up) == 4 for measured in both)
    both, started, _ = played({"2r-1": "in vain"}, within_s=1000.0, runs=2)
    assert len(started) == 5 and sum(len(measured.in_vain) for measured in both) == 2


def test_untouched_launches_come_before_those_of_forced_algorithms():
    launches = [Launch(2, 1, "forced"), Launch(2, 2), Launch(4, 2), Launch(4, 2, "forced")]
    assert first_and_others(launches) == ([Launch(2, 2), Launch(4, 2)], [launches[0], launches[3]])
    assert first_and_others(launches[3:]) == ([launches[3]], [])
    by_number = [Launch(ranks, number, way) for number in (1, 2) for way in ("", "forced") for ranks in (2, 4)]
    round_s = sum(start_s(ranks) + 10 * CELL_S for ranks in (2, 4))
    assert split(by_number, 1.5 * round_s) == (by_number[:2], by_number[2:])
    assert split(by_number, 3.5 * round_s) == (by_number[:6], by_number[6:])


def test_ranks_that_share_cores_start_in_turn(monkeypatch):
    monkeypatch.setattr(layout, "cores", lambda: 2)
    assert start_s(2) == start_s(4) == layout.START_S
    assert start_s(64) == 32 * layout.START_OF_RANK_S
    assert start_s(64, Start(ranks_per_node=16)) == 8 * layout.START_OF_RANK_S

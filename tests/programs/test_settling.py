"""Which all-reduce the calls of a shape run, by played times: what is tried, when that pays, and what is kept."""

from math import inf

import numpy as np
import pytest

from allreduce_bench.programs import settling
from allreduce_bench.programs.agreement import Shape
from allreduce_bench.programs.candidates import Candidate
from allreduce_bench.programs.settling import (
    FIRST_LOOK,
    LEAD,
    MOST_CALLS,
    PREPARED,
    PREPARED_S,
    SHARE,
    STALE_CALLS,
    Preparing,
    Settling,
    SizeClass,
    Trial,
)
from allreduce_bench.schedule.algorithm import AlgorithmError

NAMES = ["native", "ring", "tree", "naive"]
SHAPE, LONGER = Shape(1000, "float64", "sum"), Shape(1010, "float64", "sum")
VECTOR = np.empty(0)


def winner_and_calls(times_s: list[float], noise: float = 0.0) -> tuple[int, int]:
    """The winner of a trial whose calls take so long, and its calls."""
    random, trial, calls = np.random.default_rng(3), Trial(len(times_s)), 0
    while trial.winner is None:
        calls += 1
        times = trial.take(times_s[trial.turn] * (1 + noise * random.exponential()))
        if times is not None:
            trial.decide(times)
    return trial.winner, calls


@pytest.mark.parametrize("number", [1, 2, 3, 4, 10, 15])
def test_the_fastest_wins_within_the_stated_calls(number):
    times_s = [20e-6 + 3e-6 * ((one + 2) % number) for one in range(number)]
    winner, calls = winner_and_calls(times_s, noise=0.02)
    assert times_s[winner] == min(times_s) and calls <= MOST_CALLS


def test_what_is_far_behind_costs_one_call_and_a_disturbed_call_does_not_cost_the_win():
    trial, calls = Trial(3), []
    while trial.winner is None:
        calls.append(trial.turn)
        is_disturbed = calls.count(1) == 4 and trial.turn == 1
        times = trial.take([30e-6, 20e-6, 900e-6][trial.turn] * (100 if is_disturbed else 1))
        if times is not None:
            trial.decide(times)
    assert calls.count(2) == 1 and trial.winner == 1


def test_of_equals_the_first_wins():
    assert winner_and_calls([20e-6 * LEAD * 0.99, 20e-6, 20e-6])[0] == 0


class Alone:
    """A communicator whose other ranks take as long as this one."""

    def Barrier(self) -> None:
        """All are here."""

    def Allreduce(self, in_place, values, op) -> None:
        """All have the same."""


class PlayedBound:
    """A candidate that takes what is said of its algorithm at that time."""

    steps = 10

    def __init__(self, home: "PlayedHome", candidate: Candidate):
        self._home, self.candidate, self.is_closed = home, candidate, False
        self.digest = home.digests.get(candidate.algorithm, 0)

    def run(self, send: np.ndarray, recv: np.ndarray) -> None:
        """Nothing but time goes by."""
        assert not self.is_closed
        self._home.now_s += self._home.times_s[self.candidate.algorithm]

    def close(self) -> None:
        """It does not run again."""
        self.is_closed = True


class PlayedHome:
    """What shapes have in common, on a clock of its own; `times_s`: algorithm -> what a call takes."""

    def __init__(self, times_s: dict[str, float], share: float = SHARE):
        self.times_s, self.share, self.preparing, self.around = times_s, share, Preparing(), Alone()
        self.now_s, self.bound, self.digests, self.unfit = 0.0, list[PlayedBound](), dict[str, int](), set[str]()
        self._classes: dict[int, SizeClass] = {}

    def size_class_of(self, shape: Shape) -> SizeClass:
        return self._classes.setdefault(shape.size_bytes.bit_length(), SizeClass())

    def meets(self, shape: Shape) -> bool:
        return True

    def candidates_of(self, shape: Shape) -> list[Candidate]:
        return [Candidate(name, "native" if name == "native" else "sendrecv") for name in self.times_s]

    def bind(self, shape: Shape, candidate: Candidate, needs_bits: bool) -> PlayedBound:
        self.now_s += PREPARED_S
        if candidate.algorithm in self.unfit:
            raise AlgorithmError("does not fit")
        self.bound.append(PlayedBound(self, candidate))
        return self.bound[-1]

    @property
    def in_use(self) -> list[str]:
        """The algorithms of what is not closed."""
        return [one.candidate.algorithm for one in self.bound if not one.is_closed]


@pytest.fixture
def home(monkeypatch) -> PlayedHome:
    """Whose clock is that of the calls; trials cost what they will."""
    played = PlayedHome({"native": 50e-6, "ring": 30e-6, "tree": 20e-6, "naive": 90e-6}, inf)
    monkeypatch.setattr(settling, "perf_counter", lambda: played.now_s)
    return played


def new(home: PlayedHome, shape: Shape = SHAPE, is_settled: bool = False) -> Settling:
    """What runs the first candidate."""
    return Settling(home, shape, home.bind(shape, home.candidates_of(shape)[0], False), is_settled)


def algorithm_after(one: Settling, calls: int) -> str | None:
    """What is settled after so many calls."""
    for _ in range(calls):
        one.call(VECTOR, VECTOR)
    return one.settled and one.settled.algorithm


def test_the_fastest_is_settled_within_the_stated_calls_for_good_and_the_others_are_closed(home):
    one = new(home)
    assert one.settled is None
    assert algorithm_after(one, 1 + MOST_CALLS) == "tree" and one.trial_calls <= MOST_CALLS
    assert home.in_use == ["tree"] and one.steps == PlayedBound.steps
    home.times_s["tree"] = 1.0
    assert algorithm_after(one, 5000) == "tree"
    one.close()
    assert not home.in_use


def test_what_is_settled_from_the_first_is_never_tried(home):
    one = new(home, is_settled=True)
    assert algorithm_after(one, 5000) == "native" and one.trial_calls == 0 and home.in_use == ["native"]


def test_candidates_that_do_not_run_or_run_the_same_are_not_tried(home):
    home.unfit, home.digests = {"tree"}, {"ring": 7, "naive": 7}
    one = new(home)
    assert algorithm_after(one, 1 + MOST_CALLS) == "ring" and home.in_use == ["ring"]


def test_another_length_of_the_class_takes_over_what_was_found_where_it_fits(home):
    first, second, third = new(home), new(home, LONGER), new(home, Shape(1020, "float64", "sum"))
    algorithm_after(first, 1 + MOST_CALLS)
    assert algorithm_after(second, 1) == "tree" and second.trial_calls == 0
    home.unfit = {"tree"}
    assert algorithm_after(third, 1) == "native" and third.trial_calls == 0


def test_one_length_of_a_class_is_on_trial_at_a_time_and_one_that_is_called_no_longer_gives_way(home):
    first, second = new(home), new(home, LONGER)
    algorithm_after(first, 3)
    assert algorithm_after(second, 3) is None and second.trial_calls == 0
    assert algorithm_after(second, 4 * STALE_CALLS) == "tree" and second.trial_calls
    assert algorithm_after(first, 100) == "tree"
    assert home.in_use == ["tree", "tree"]


@pytest.mark.parametrize("call_s", [5e-6, 50e-6, 5e-3])
@pytest.mark.parametrize("factor", [0.8, 3.0, 30.0])
def test_a_class_is_tried_when_preparing_is_a_small_share_of_its_time(home, call_s, factor):
    home.share, home.times_s = SHARE, dict.fromkeys(NAMES, factor * call_s) | {"native": call_s}
    one, calls = new(home), 0
    home.now_s = 0.0
    while one.trial_calls == 0:
        one.call(VECTOR, VECTOR)
        calls += 1
    at_least = PREPARED * PREPARED_S / SHARE / call_s
    assert max(FIRST_LOOK, 0.9 * at_least) <= calls <= max(FIRST_LOOK + 1, 2.2 * at_least)
    assert algorithm_after(one, MOST_CALLS) == ("native" if factor > 1 else "ring")


def test_without_a_share_the_first_one_runs(home):
    home.share = 0.0
    assert algorithm_after(new(home), 10_000) is None and home.in_use == ["native"]

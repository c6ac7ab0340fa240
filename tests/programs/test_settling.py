"""Which all-reduce the calls of a shape run, by played times: what is tried, at what cost, what is kept and left."""

from math import inf

import numpy as np
import pytest

from allreduce_bench.programs import settling
from allreduce_bench.programs.agreement import Shape
from allreduce_bench.programs.candidates import Candidate
from allreduce_bench.programs.settling import (
    BEGIN_S,
    MOST_PATIENCE,
    PATIENCE,
    PREPARED_S,
    SHARE,
    Band,
    Budget,
    Octave,
    Settling,
    most_calls,
)
from allreduce_bench.schedule.algorithm import AlgorithmError

NAMES = ["native", "ring", "tree", "naive"]
SHAPE, LONGER = Shape(1000, "float64", "sum"), Shape(1010, "float64", "sum")
VECTOR = np.empty(0)


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
        self.times_s, self.budget, self.around, self.executors = times_s, Budget(share), Alone(), ("sendrecv",)
        self.now_s, self.bound, self.digests, self.unfit = 0.0, list[PlayedBound](), dict[str, int](), set[str]()
        self._octaves: dict[tuple, Octave] = {}

    def octave_of(self, shape: Shape) -> Octave:
        return self._octaves.setdefault((shape.size_bytes.bit_length(), shape.dtype, shape.op), Octave())

    def meets(self, shape: Shape) -> bool:
        return True

    def candidates_of(self, shape: Shape) -> list[Candidate]:
        return [Candidate(name, "sendrecv") for name in self.times_s]

    def bind(self, shape: Shape, candidate: Candidate, needs_bits: bool) -> PlayedBound:
        self.now_s += PREPARED_S
        if candidate.algorithm in self.unfit:
            raise AlgorithmError("does not fit")
        self.bound.append(PlayedBound(self, candidate))
        return self.bound[-1]

    def load_compiler(self) -> None:
        """There is none."""

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


def new(home: PlayedHome, shape: Shape = SHAPE, is_fixed: bool = False) -> Settling:
    """What runs the first candidate."""
    return Settling(home, shape, home.bind(shape, home.candidates_of(shape)[0], False), is_fixed)


def algorithm_after(one: Settling, calls: int) -> str | None:
    """What is settled after so many calls."""
    for _ in range(calls):
        one.call(VECTOR, VECTOR)
    return one.settled and one.settled.algorithm


def calls_until(one: Settling, algorithm: str) -> int:
    """The number of calls until it is settled."""
    for calls in range(1, 100_000):
        if algorithm_after(one, 1) == algorithm:
            return calls
    raise AssertionError(f"{algorithm} was never settled")


def test_the_fastest_is_settled_within_the_stated_calls_and_the_others_are_closed(home):
    one = new(home)
    assert one.settled is None
    assert calls_until(one, "tree") <= 1 + most_calls(len(NAMES))
    assert home.in_use == ["tree"] and one.steps == PlayedBound.steps
    tried = one.trial_calls
    assert algorithm_after(one, 5000) == "tree" and one.trial_calls == tried
    one.close()
    assert not home.in_use


def test_what_is_fixed_is_never_tried(home):
    one = new(home, is_fixed=True)
    assert algorithm_after(one, 5000) == "native" and one.trial_calls == 0 and home.in_use == ["native"]


def test_candidates_that_do_not_run_or_run_the_same_are_not_tried(home):
    home.unfit, home.digests = {"tree"}, {"ring": 7, "naive": 7}
    one = new(home)
    calls_until(one, "ring")
    assert one.trial_calls <= most_calls(2) and home.in_use == ["ring", "naive"]  # the latter was never run


def test_one_that_became_slow_is_left_within_the_stated_calls(home):
    one = new(home)
    calls_until(one, "tree")
    algorithm_after(one, 2 * Band(20e-6).window)
    home.times_s["tree"] = 70e-6
    assert calls_until(one, "ring") <= Band(20e-6).most_calls + most_calls(len(NAMES))


def test_trials_in_vain_become_rare_and_one_that_was_not_makes_watchful_again(home):
    one = new(home)
    calls_until(one, "tree")
    assert patience_of(one) == PATIENCE
    for factor in (3, 1 / 3, 3, 1 / 3):  # of all: the machine is busy for a while
        before = patience_of(one)
        algorithm_after(one, 2 * Band(20e-6).window)
        home.times_s = {name: time_s * factor for name, time_s in home.times_s.items()}
        tried = one.trial_calls
        while one.trial_calls == tried or one.settled is None:
            one.call(VECTOR, VECTOR)
        assert one.settled.algorithm == "tree" and patience_of(one) == min(2 * before, MOST_PATIENCE)
    algorithm_after(one, 2 * Band(20e-6).window)
    home.times_s["tree"] = 70e-6
    calls_until(one, "ring")
    assert patience_of(one) == PATIENCE


def patience_of(one: Settling) -> int:
    """Windows outside of the band until another trial."""
    return one._patience


def test_another_length_of_the_octave_takes_over_what_was_found(home):
    first, second = new(home), new(home, LONGER)
    calls_until(first, "tree")
    assert calls_until(second, "tree") == 1 and second.trial_calls == 0
    assert home.in_use == ["tree", "tree"]


def test_what_does_not_fit_another_length_is_not_taken_over(home):
    first, second = new(home), new(home, LONGER)
    calls_until(first, "tree")
    home.unfit = {"tree"}
    assert algorithm_after(second, 100) == "native"
    assert home.octave_of(LONGER).choice is None and sorted(home.in_use) == ["native", "tree"]


@pytest.mark.parametrize("call_s, played_s", [(5e-6, 5.0), (50e-6, 5.0), (5e-3, 20.0)])
@pytest.mark.parametrize("factor", [0.8, 3.0, 30.0])
def test_trials_stay_within_their_budget(home, call_s, played_s, factor):
    home.budget, home.times_s = Budget(), dict.fromkeys(NAMES, factor * call_s) | {"native": call_s}
    one, calls = new(home), 0
    begun_s = home.now_s
    while home.now_s < begun_s + played_s:
        one.call(VECTOR, VECTOR)
        calls += 1
    lost_s = home.now_s - begun_s - calls * call_s
    assert home.budget.spent_s <= BEGIN_S + SHARE * played_s + 30 * call_s
    assert lost_s <= BEGIN_S + SHARE * played_s + 30 * factor * call_s
    assert one.settled is not None and (one.settled.algorithm == "native") == (factor > 1)


def test_without_a_budget_the_first_one_runs(home):
    home.budget = Budget(0.0)
    home.budget.spend(BEGIN_S)
    one = new(home)
    assert algorithm_after(one, 10_000) is None and home.in_use == ["native"]

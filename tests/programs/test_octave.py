"""What lengths of one octave share: who may try, what that may cost, what is found."""

from allreduce_bench.programs.candidates import Candidate
from allreduce_bench.programs.settling import (
    SHARE_OF_OCTAVE,
    STALE_CALLS,
    Octave,
)

RING = Candidate("ring", "sendrecv")


def test_one_length_is_on_trial_at_a_time():
    octave = Octave()
    assert octave.may_try("long") and octave.may_try("short")
    octave.tries("long")
    assert octave.may_try("long") and not octave.may_try("short")


def test_a_length_that_is_called_no_longer_gives_way():
    octave = Octave(calls=1000)
    octave.tries("long")
    octave.calls += STALE_CALLS
    assert not octave.may_try("short")
    octave.calls += 1
    assert octave.may_try("short")
    octave.tries("short")
    assert not octave.may_try("long")


def test_what_is_settled_is_known_and_ends_the_trial():
    octave = Octave()
    octave.tries("long")
    octave.settle(RING, ("sendrecv",))
    assert (octave.choice, octave.executors) == (RING, ("sendrecv",)) and octave.may_try("short")


def test_a_trial_has_to_pay_by_the_time_that_all_ranks_know_of():
    octave = Octave(untimed_s=1e9)
    assert octave.can_pay(0) and not octave.can_pay(1e-9)
    octave.agreed_s, octave.counted_s = 1.0, 2.0
    assert octave.can_pay(0.99 * 3 * SHARE_OF_OCTAVE) and not octave.can_pay(1.01 * 3 * SHARE_OF_OCTAVE)

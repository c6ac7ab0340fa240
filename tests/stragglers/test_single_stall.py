"""One step that makes most of the waiting is told as a fact, and nothing else is."""

import pytest

from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals
from allreduce_bench.stragglers.verdict import job_of, single_stall


def job(steps=100, stalls=(), slow=(), ranks=(2,)):
    made = synthetic_arrivals(8, steps, 1, slow, noise=0.001, spikes=0.0)
    for step in stalls:
        made.ready_s[step, list(ranks)] += 9.0
        made.step_s[step] += 9.0
    return job_of(made)


def test_one_rank_that_held_up_one_step():
    stall = single_stall(job(stalls=[50]))
    assert (stall.rank, stall.step) == (2, 50) and stall.wait_s == pytest.approx(9.0, abs=0.05) and stall.share > 0.9


@pytest.mark.parametrize(
    "made",
    [
        job(),
        job(slow=[Slow((3,), 0.2)]),
        job(stalls=[20, 50, 80]),
        job(steps=5, stalls=[3]),
        job(stalls=[50], ranks=(2, 3)),
        job(stalls=[50])._replace(clock_error_s=4.0),
    ],
    ids=["quiet", "always slow", "three of them", "too few steps", "two ranks", "below the clock"],
)
def test_nothing_else_is_one(made):
    assert single_stall(made) is None

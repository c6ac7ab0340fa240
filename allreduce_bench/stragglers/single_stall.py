"""One step in which one rank held up all others for so long that it makes most of a job's waiting."""

from typing import NamedTuple

import numpy as np

from .job import Job

LEAST_SHARE = 0.5  # of all waiting: less of it is not one step's
LEAST_OF_STEP = 0.1  # of the median step: a shorter wait is not worth a word
CLOCK_ERRORS = 3


class Stall(NamedTuple):
    """A step that one rank held up once."""

    rank: int  # the last one
    step: int
    wait_s: float  # how much later it was ready than the second last
    share: float  # of the waiting of all ranks in all steps


def single_stall(job: Job) -> Stall | None:
    """The step that holds LEAST_SHARE of all waiting, if one rank alone made it; None: there is none.

    Of fewer steps than can be judged there is none: one of two steps always holds half.
    """
    waits_s = job.waiting.suffered_s.sum(axis=1)
    all_s = float(waits_s.sum())
    if job.is_too_small or all_s <= 0:
        return None
    step = int(waits_s.argmax())
    rank, wait_s, share = int(job.waiting.last[step]), float(job.waiting.caused_s[step]), float(waits_s[step]) / all_s
    least_s = max(LEAST_OF_STEP * job.typical_s, CLOCK_ERRORS * job.clock_error_s)
    is_of_one = rank >= 0 and wait_s >= 0.5 * float(np.nan_to_num(job.waiting.skew_s[step]))
    return Stall(rank, step, wait_s, share) if is_of_one and wait_s >= least_s and share >= LEAST_SHARE else None

"""Which part of the waiting lasts, and which suspects explain how much of it.

Ranks that are all alike wait, too: each step is as long as its slowest rank, by chance now this one and now that one.
Of 1,024 ranks with 5 % of noise the last one is 16 % late, later than a rank that is 12 % slower. So the wait is
divided by replaying the steps: without what the suspects are late, then without all other lasting differences between
ranks. What is left after both is chance.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from ..robust import OF_NORMAL, block_medians, critical_z, median, spread_of_blocks
from .slow_units import ALARM, number_of_blocks
from .what_if import Lateness, mean_wait_s, moved_earlier, replaced, saved_s


class Attribution(NamedTuple):
    """Who explains the waiting. Waits are means over ranks, summed over all steps."""

    wait_s: float
    lasting_s: float  # without lasting differences between ranks it would be less by this; the rest is chance
    explained: tuple[float, ...]  # by each suspect: share of `lasting_s`
    saved_s: tuple[
        float, ...
    ]  # by replacing the arrivals of each suspect alone: all steps together end earlier by this
    all_saved_s: float  # by replacing those of all suspects
    credited_s: tuple[float, ...]  # of each: mean of `saved_s` and of what is lost of `all_saved_s` without it

    @property
    def unexplained(self) -> float:
        """The share of `lasting_s` that no suspect explains; 0 where nothing lasts."""
        return max(0.0, 1 - sum(self.explained)) if self.lasting_s > 0 else 0.0


def attribution(ready_s: np.ndarray, suspects: Sequence[Lateness], alike_steps: float = 1.0) -> Attribution:
    """`ready_s`: float64 [step, rank], seconds; NaN: not known; enough steps for `slow_units.standing`.

    `alike_steps`: so many steps are worth an independent one.

    Of several suspects each is credited with the mean of two replays: how much is gained without it alone, and how much
    is lost with it alone (of two suspects that is Shapley's value); scaled so that they add up to what is gained
    without all of them.
    """
    wait_s, without_s = mean_wait_s(ready_s), moved_earlier(ready_s, suspects)
    left_s = mean_wait_s(without_s)
    lasting_s = max(0.0, wait_s - mean_wait_s(without_s - lasting_differences(without_s, alike_steps)))
    joint = min(1.0, max(0.0, wait_s - left_s) / lasting_s) if lasting_s > 0 else 0.0
    credits = [_credit(ready_s, suspects, number, wait_s, left_s) for number in range(len(suspects))]
    scale = joint / sum(credits) if sum(credits) > 0 else 0.0
    alone_s = tuple(saved_s(ready_s, replaced(ready_s, [suspect])) for suspect in suspects)
    all_s = saved_s(ready_s, replaced(ready_s, suspects)) if suspects else 0.0
    others_s = [saved_s(ready_s, replaced(ready_s, _without(suspects, number))) for number in range(len(suspects))]
    return Attribution(
        wait_s,
        lasting_s,
        tuple(credit * scale for credit in credits),
        alone_s,
        all_s,
        tuple(0.5 * alone + 0.5 * (all_s - of_others) for alone, of_others in zip(alone_s, others_s)),
    )


def _without(suspects: Sequence[Lateness], number: int) -> list[Lateness]:
    return [*suspects[:number], *suspects[number + 1 :]]


def _credit(ready_s: np.ndarray, suspects: Sequence[Lateness], number: int, wait_s: float, left_s: float) -> float:
    if len(suspects) == 1:
        return 1.0
    without_it_s = mean_wait_s(moved_earlier(ready_s, [suspects[number]]))
    it_alone_s = mean_wait_s(moved_earlier(ready_s, _without(suspects, number)))
    return max(0.0, 0.5 * (wait_s - without_it_s) + 0.5 * (it_alone_s - left_s))


def lasting_differences(ready_s: np.ndarray, alike_steps: float = 1.0) -> np.ndarray:
    """float64 [rank]: median distance of each rank from the median rank of a step; 0 where noise explains it.

    `alike_steps`: so many steps are worth an independent one.
    """
    apart_s = ready_s - median(ready_s, axis=1)[:, None]
    blocks = number_of_blocks(len(ready_s))
    noise_s = spread_of_blocks(block_medians(apart_s, blocks)) / sqrt(blocks)
    centre_s = median(apart_s, axis=0)
    of_step_s = OF_NORMAL * np.nan_to_num(median(np.abs(apart_s - centre_s), axis=0))
    noise_s = np.maximum(noise_s, of_step_s * sqrt(alike_steps / len(ready_s)))
    lasting_s = np.nan_to_num(centre_s)
    ranks = len(lasting_s)
    return np.where(np.abs(lasting_s) > critical_z(2 * ranks / ALARM, blocks, ranks) * noise_s, lasting_s, 0.0)

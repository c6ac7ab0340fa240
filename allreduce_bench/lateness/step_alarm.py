"""Says while steps go on that a rank has become slow, or has recovered.

The rule. Steps are taken in blocks of STEPS_OF_BLOCK. Of each rank and block the median lateness behind the median of
the others counts, as a share of the undisturbed step: single spikes do not. A rank is slow where the mean over its last
1, 2, 4, ... MOST_BLOCKS blocks

* is LEAST_SLOWER or more, and CLOCK_ERRORS times the error of the clocks: so for STEPS_OF_BLOCK steps at least;
* stands out of the noise of the blocks, and of what ranks differ by anyway, by so many standard deviations that noise
  alone gives less than one alert in STEPS_OF_A_DAY steps, of all ranks together; LEAST_Z of them at least.

It has recovered where such a mean is below half of LEAST_SLOWER, and below LEAST_SLOWER beyond doubt. The larger the
noise, the more steps it takes to see either. The noise is that of the job itself, from the differences of neighbouring
blocks, so that a few ranks have to be watched for some hundred steps first; tests/studies/operating_curve.py measures
how soon which lateness is found, and how many alerts there are without one.
"""

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from .robust import LEAST_Z, critical_z, deviation, deviations, median, median_of_others
from .slow_units import CARE, CLOCK_ERRORS

SLOW, RECOVERED = "slow", "recovered"  # kinds of alerts
LEAST_SLOWER = 0.1  # of the undisturbed step
STEPS_OF_BLOCK = 10
MOST_BLOCKS = 32  # that are kept
FEWEST_BLOCKS = 3
WINDOWS = (1, 2, 4, 8, 16, MOST_BLOCKS)  # blocks
STEPS_OF_A_DAY = 86_400  # of one second
MEMORY = 500  # blocks over which noise is averaged


class Alert(NamedTuple):
    """A rank became slow, or has recovered."""

    kind: str  # SLOW or RECOVERED
    rank: int
    step: int  # how many steps have been seen
    slower_by: float  # its lateness behind the median of the others, of the step that the median rank would have
    z: float  # the same, in standard deviations (robust)
    since_step: int  # the first step (from 0) in which it was so, of the blocks that are kept
    node: int = -1  # its node, where more than half of the ranks of the node, two or more, are slow; -1: the rank alone


class StepAlarm:
    """Watches the steps of one job. Keeps MOST_BLOCKS numbers a rank, however long the job is."""

    def __init__(self, ranks: int, node_of: Sequence[int], clock_error_s: float = 0.0) -> None:
        """`node_of`: of each rank the number of its node; `clock_error_s`: as of `Arrivals`.

        Raises ValueError where `node_of` is not of so many ranks.
        """
        if len(node_of) != ranks:
            raise ValueError(f"{ranks} ranks, and nodes of {len(node_of)}")
        self.clock_error_s = clock_error_s
        self.steps = 0  # seen in whole blocks
        self.slow: set[int] = set()  # ranks that are slow now
        self._node_of = np.array(node_of, dtype=int)
        self._ready_s, self._step_s = np.empty((0, ranks)), np.empty(0)  # not yet a block
        self._late = np.full((MOST_BLOCKS, ranks), np.nan)  # the last blocks, as shares of a step, the newest last
        self._variances = np.zeros(ranks)  # of a block
        self._blocks, self._changed_at = 0, np.zeros(ranks, dtype=int)  # blocks seen, now and at each rank's last alert

    def update(self, ready_s: np.ndarray, step_s: np.ndarray) -> list[Alert]:
        """What the next steps say. `ready_s`: float64 [step, rank], NaN: not known; `step_s`: float64 [step]; seconds.

        Steps that do not fill a block wait for the next ones. Raises ValueError where the shapes do not fit.
        """
        steps, ranks = len(step_s), len(self._node_of)
        if ready_s.shape != (steps, ranks):
            raise ValueError(f"ready times {ready_s.shape} are not [step, rank] of {steps} steps and {ranks} ranks")
        if ranks < 2:
            self.steps += steps
            return []
        self._ready_s, self._step_s = np.concatenate([self._ready_s, ready_s]), np.concatenate([self._step_s, step_s])
        alerts: list[Alert] = []
        whole = len(self._step_s) // STEPS_OF_BLOCK * STEPS_OF_BLOCK
        for late_s, undisturbed_s in lateness_of_blocks(self._ready_s[:whole], self._step_s[:whole]) if whole else ():
            self.steps += STEPS_OF_BLOCK
            alerts += self._alerts_of_block(late_s, undisturbed_s)
        self._ready_s, self._step_s = self._ready_s[whole:].copy(), self._step_s[whole:].copy()
        return alerts

    def _alerts_of_block(self, late_s: np.ndarray, undisturbed_s: float) -> list[Alert]:
        if not undisturbed_s > 0:
            return []
        late = late_s / undisturbed_s
        squares = 0.5 * np.square(late - self._late[-1])
        number = min(max(self._blocks, 1), MEMORY)
        self._variances += np.where(np.isnan(squares), 0.0, squares - self._variances) / number
        self._late[:-1], self._late[-1] = self._late[1:], late
        self._blocks += 1
        if self._blocks < FEWEST_BLOCKS:
            return []
        noise = np.maximum(CARE * deviations(self._variances, number), 1e-12)
        least = max(LEAST_SLOWER, CLOCK_ERRORS * self.clock_error_s / undisturbed_s)
        alerts = [*self._recovered(noise), *self._became_slow(noise, least, number)]
        return [self._with_node(alert) for alert in alerts]

    def _means(self) -> Iterator[tuple[int, np.ndarray]]:
        """Numbers of blocks, and float64 [rank]: the means over so many, NaN since whose last alert there are fewer."""
        sums = np.cumsum(np.nan_to_num(self._late[::-1]), axis=0)
        for blocks in WINDOWS:
            if blocks <= self._blocks:
                yield blocks, np.where(self._blocks - self._changed_at >= blocks, sums[blocks - 1] / blocks, np.nan)

    def _became_slow(self, noise: np.ndarray, least: float, number: int) -> Iterator[Alert]:
        ranks = len(noise)
        critical = critical_z(ranks * len(WINDOWS) * STEPS_OF_A_DAY / STEPS_OF_BLOCK, number + 1, ranks)
        for blocks, means in self._means():
            if not (means >= least).any():  # as nearly always
                continue
            z = means * sqrt(blocks) / noise
            candidates = [rank for rank in np.flatnonzero((z >= critical) & (means >= least)) if rank not in self.slow]
            if not candidates:
                continue
            between, middle = max(deviation(means), 1e-12), float(median(means, axis=0))
            for rank in candidates:
                robust_z = min(float(z[rank]), float(means[rank] - middle) * sqrt(blocks) / float(noise[rank]))
                robust_z = min(robust_z, float(means[rank] - max(middle, 0.0)) / between)
                if robust_z >= critical:
                    self.slow.add(int(rank))
                    yield self._alert(SLOW, int(rank), float(means[rank]), robust_z)

    def _recovered(self, noise: np.ndarray) -> Iterator[Alert]:
        for blocks, means in self._means() if self.slow else ():
            doubt = LEAST_Z * noise / sqrt(blocks)
            for rank in sorted(self.slow):
                if means[rank] < LEAST_SLOWER / 2 and means[rank] + doubt[rank] < LEAST_SLOWER:
                    self.slow.remove(rank)
                    mean = float(means[rank])
                    yield self._alert(RECOVERED, rank, mean, mean * sqrt(blocks) / float(noise[rank]))

    def _alert(self, kind: str, rank: int, mean: float, z: float) -> Alert:
        """It was so since the blocks differ in sum most from the middle between slow and not slow."""
        kept = min(MOST_BLOCKS, self._blocks - int(self._changed_at[rank]))
        apart = np.nan_to_num(self._late[-kept:, rank] - (mean if kind == SLOW else LEAST_SLOWER) / 2)
        sums = np.cumsum((apart if kind == SLOW else -apart)[::-1])
        since = self.steps - STEPS_OF_BLOCK * (int(sums.argmax()) + 1)
        self._changed_at[rank] = self._blocks
        return Alert(kind, rank, self.steps, mean, z, since)

    def _with_node(self, alert: Alert) -> Alert:
        node = self._node_of[alert.rank]
        slow = sum(self._node_of[rank] == node for rank in self.slow)
        is_of_node = slow >= 2 and 2 * slow > int((self._node_of == node).sum())
        return alert._replace(node=int(node)) if alert.kind == SLOW and is_of_node else alert


def lateness_of_blocks(ready_s: np.ndarray, step_s: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """Of each block of STEPS_OF_BLOCK steps the median lateness of the ranks, float64 [rank], and the undisturbed step.

    `ready_s`, `step_s` as of `StepAlarm.update`, whole blocks. Seconds; for all blocks at once, since numpy's calls
    take longer than its arithmetic where ranks are few.
    """
    blocks = len(step_s) // STEPS_OF_BLOCK
    waited_s = np.fmax.reduce(ready_s, axis=1) - median(ready_s, axis=1)
    undisturbed_s = median((step_s - waited_s).reshape(blocks, STEPS_OF_BLOCK), axis=1)
    behind_s = (ready_s - median_of_others(ready_s)).reshape(blocks, STEPS_OF_BLOCK, ready_s.shape[1])
    return zip(median(behind_s, axis=1), undisturbed_s.tolist())

"""Online alarm: a rank has become slow, or has recovered, or the ranks are two groups.

The rule. Steps are taken in blocks of STEPS_OF_BLOCK. The statistic of each rank and block is the median lateness
behind the median of the others that are not slow, as a share of their undisturbed step, robust to single spikes. A rank
is slow if the mean over its last 1, 2, 4, ... MOST_BLOCKS blocks

* is LEAST_SLOWER or more, and CLOCK_ERRORS times the error of the clocks;
* lasts: most of the blocks, or nearly all steps of the only one, are at least half as late as that;
* exceeds the noise of such means by so many standard deviations that noise alone gives less than one alert in
  STEPS_OF_A_DAY steps, of all ranks together; at least LEAST_Z;
* exceeds, by as many, the lasting differences between ranks (their robust deviation), or its own earlier blocks, in
  which it was not late: then its own steps have become longer, too.

If at least half of the ranks are later than the rest, the others are no reference. The ranks are two groups if the
widest gap between them, with at least a SMALLER_GROUP below it, exceeds the noise and half of the difference of the
groups. Ranks above a gap that their earlier blocks lack, because their steps became longer, are slow; other gaps are
reported once as two groups, without blame.

A rank has recovered if such a mean is below half of LEAST_SLOWER, and significantly below LEAST_SLOWER. The noise of
means is measured, with its correlation (`noise.BlockNoise`), from earlier blocks, so that a few ranks need some ten
steps first, and more if noise is large or lasting: `too_little` returns what is detectable.
tests/studies/operating_curve.py measures the delay of detection, tests/studies/monitor_alerts.py the false alerts.
"""

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from ..robust import LEAST_Z, critical_z, deviation, median, median_of_others
from .noise import BlockNoise, NoiseOfMeans
from .slow_units import CARE, CLOCK_ERRORS

SLOW, RECOVERED, GROUPS = "slow", "recovered", "groups"  # kinds of alerts
LEAST_SLOWER = 0.1  # of the undisturbed step
STEPS_OF_BLOCK = 10
MOST_BLOCKS = 32  # kept blocks
FEWEST_BLOCKS = 3
WINDOWS = (1, 2, 4, 8, 16, MOST_BLOCKS)  # blocks; 2 ** index
STEPS_OF_A_DAY = 86_400  # of one second
TAILS = 1.25  # factor on the normal deviations of that rarity: steps with the tails of Student's t of 3
MOST = 0.6  # of the blocks
FEW_STEPS = 1  # steps of a block in which a slow rank may not be late
FALSE_JOBS = 100  # jobs with lasting differences for one false alert by them
CLOSED = 8  # blocks after which two groups no longer exist
SMALLER_GROUP = 0.25  # of the ranks: fewer early ones are no group


class Alert(NamedTuple):
    """A rank became slow, or has recovered; or the ranks are two groups."""

    kind: str  # SLOW, RECOVERED or GROUPS
    rank: int  # for GROUPS the first of the later group
    step: int  # number of steps seen
    slower_by: float  # how much longer its steps are than the steps of the median other rank, as a share
    z: float  # the same, in standard deviations (robust)
    since_step: int  # first step (from 0) of the condition, within the kept blocks
    node: int = -1  # its node, if at least two, and more than half, of its ranks are slow; -1: the rank alone
    ranks: tuple[int, ...] = ()  # of GROUPS: all of the later group
    host: str = ""  # of the rank


class TooLittle(NamedTuple):
    """The limits of detection of a job that may miss a slow rank."""

    ranks: int
    steps: int
    least_told: float | None  # the smallest detectable slowness, as a share of a step; None: none is


class LateBlock(NamedTuple):
    """Medians over the steps of a block, float64 [rank], seconds; NaN: not known."""

    late_s: np.ndarray  # behind the others that are not slow
    most_late_s: np.ndarray  # the lateness exceeded in all steps but FEW_STEPS
    own_s: np.ndarray  # the duration of the steps if this rank were the last one


class _Gap(NamedTuple):
    """Two groups of ranks, over some blocks."""

    low: np.ndarray  # ranks
    high: np.ndarray
    slower_by: float
    z: float


class StepAlarm:
    """The online alarm of one job. Keeps some MOST_BLOCKS numbers a rank, however long the job is."""

    def __init__(self, ranks: int, node_of: Sequence[int], clock_error_s: float = 0.0) -> None:
        """Start; `node_of`: the node number of each rank; `clock_error_s`: as of `Arrivals`.

        Raises ValueError if `node_of` does not have so many ranks.
        """
        if len(node_of) != ranks:
            raise ValueError(f"{ranks} ranks, and nodes of {len(node_of)}")
        self.clock_error_s = clock_error_s
        self.steps = 0  # seen in whole blocks
        self.slow: set[int] = set()  # ranks that are slow now
        self._told: set[int] = set()  # ranks that stood out once; the same lateness is not reported again
        self._node_of = np.array(node_of, dtype=int)
        self._ready_s, self._step_s = np.empty((0, ranks)), np.empty(0)  # not yet a block
        self._late = np.full((MOST_BLOCKS, ranks), np.nan)  # the last blocks, as shares of a step, the newest last
        self._most_late = np.full((MOST_BLOCKS, ranks), np.nan)  # as `_late`, of all but FEW_STEPS of a block
        self._own_s = np.full(
            (MOST_BLOCKS, ranks), np.nan
        )  # as `_late`, how long a step takes where this rank is the last
        self._noise = BlockNoise(ranks)  # of `_late`
        self._groups: _Gap | None = None  # reported and still present
        self._blocks, self._changed_at = 0, np.zeros(ranks, dtype=int)  # blocks seen, now and at each rank's last alert

    def update(self, ready_s: np.ndarray, step_s: np.ndarray) -> list[Alert]:
        """Take the next steps. `ready_s`: float64 [step, rank], NaN: not known; `step_s`: float64 [step]; seconds.

        Steps that do not fill a block wait for the next ones. Raises ValueError if the shapes do not fit.
        """
        steps, ranks = len(step_s), len(self._node_of)
        if ready_s.shape != (steps, ranks):
            raise ValueError(f"ready times {ready_s.shape} are not [step, rank] of {steps} steps and {ranks} ranks")
        if ranks < 2:
            self.steps += steps
            return []
        self._ready_s, self._step_s = np.concatenate([self._ready_s, ready_s]), np.concatenate([self._step_s, step_s])
        alerts: list[Alert] = []
        first, whole = 0, len(self._step_s) // STEPS_OF_BLOCK * STEPS_OF_BLOCK
        while first < whole:
            slow = set(self.slow)
            for block in lateness_of_blocks(self._ready_s[first:whole], self._step_s[first:whole], slow):
                first += STEPS_OF_BLOCK
                self.steps += STEPS_OF_BLOCK
                alerts += self._alerts_of_block(block)
                if self.slow != slow:
                    break  # the next blocks are compared with others
        self._ready_s, self._step_s = self._ready_s[whole:].copy(), self._step_s[whole:].copy()
        return alerts

    def too_little(self, steps: int) -> TooLittle:
        """Return the limits of detection now, with so many steps in all."""
        ranks = len(self._node_of)
        if ranks < 2 or self._blocks < FEWEST_BLOCKS:
            return TooLittle(ranks, steps, None)
        noises = [self._noise_of(blocks) for blocks in WINDOWS if blocks <= self._blocks]
        by_noise = min(self._critical(noise) * float(np.median(noise.deviation)) for noise in noises)
        return TooLittle(ranks, steps, max(self._least(), by_noise))

    def _least(self) -> float:
        by_clocks = CLOCK_ERRORS * self.clock_error_s / max(float(median(self._own_s[-1], axis=0)), 1e-12)
        return max(LEAST_SLOWER, by_clocks)

    def _alerts_of_block(self, block: "LateBlock") -> list[Alert]:
        others_s = block.own_s - block.late_s
        if not (others_s > 0).any():
            return []
        others_s = np.where(others_s > 0, others_s, np.nan)
        late = block.late_s / others_s
        news = (self._late, late), (self._most_late, block.most_late_s / others_s), (self._own_s, block.own_s)
        for kept, newest in news:
            kept[:-1], kept[-1] = kept[1:], newest
        self._blocks += 1
        alerts: list[Alert] = []
        if self._blocks >= FEWEST_BLOCKS:
            alerts = [*self._alert_recovered(), *self._alert_slow()]
        self._noise.take(self._hide_slow(late))
        return [self._add_node(alert) for alert in alerts]

    def _means(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield numbers of blocks, and means over them, float64 [rank]; NaN if fewer since the rank's last alert."""
        sums = np.cumsum(np.nan_to_num(self._late[::-1]), axis=0)
        for blocks in WINDOWS:
            if blocks <= self._blocks:
                yield blocks, np.where(self._blocks - self._changed_at >= blocks, sums[blocks - 1] / blocks, np.nan)

    def _hide_slow(self, late: np.ndarray) -> np.ndarray:
        """Return the newest block without the jumps of becoming slow and recovering, which are no noise."""
        if len(late) - len(self.slow) < 2:  # a rank alone has no noise
            return late
        well = late.copy()
        well[list(self.slow)] = np.nan
        return well

    def _noise_of(self, blocks: int) -> NoiseOfMeans:
        noise = self._noise.estimate_means(WINDOWS.index(blocks))
        return noise._replace(deviation=np.maximum(CARE * noise.deviation, 1e-12))

    def _critical(self, noise: NoiseOfMeans) -> float:
        """Return the critical z: above the normal one, since noise of jobs has heavier tails."""
        ranks = len(self._node_of)
        z = critical_z(ranks * len(WINDOWS) * STEPS_OF_A_DAY / STEPS_OF_BLOCK, noise.number + 1, ranks)
        return TAILS * z

    def _is_lasting(self, blocks: int, means: np.ndarray) -> np.ndarray:
        """Return whether most of so many blocks, or nearly all steps of the only one, are half as late: bool [rank].

        A burst does not last.
        """
        if blocks == 1:
            return self._most_late[-1] >= means / 2
        return (self._late[-blocks:] >= means / 2).sum(axis=0) > MOST * blocks

    def _alert_slow(self) -> Iterator[Alert]:
        ranks, least = len(self._node_of), self._least()
        for blocks, means in self._means():
            is_candidate = means >= least
            if is_candidate.any():
                is_candidate &= self._is_lasting(blocks, means)
            is_candidate[list(self.slow)] = False
            early = int((means <= -least / (1 + least)).sum())  # behind at least half of the ranks, these are none
            if ranks > 2 and early >= SMALLER_GROUP * ranks:
                yield from self._alert_groups(blocks, least)
            if is_candidate.any():  # as hardly ever
                yield from self._alert_ranks(blocks, means, np.flatnonzero(is_candidate), least)

    def _alert_ranks(self, blocks: int, means: np.ndarray, candidates: np.ndarray, least: float) -> Iterator[Alert]:
        """Yield ranks that stand out from the others, or from their own past."""
        noise = self._noise_of(blocks)
        critical = self._critical(noise)
        rest = np.delete(means, list(self.slow))
        middle = max(float(median(rest, axis=0)), 0.0)
        few = critical_z(FALSE_JOBS * len(means), 2, len(means)) / critical  # the spread of few ranks is uncertain
        between = max(deviation(rest), few * noise.between, 1e-12)
        for rank in candidates.tolist():
            if rank in self.slow:
                continue
            z = float(means[rank] - middle) / float(noise.deviation[rank])
            if z < critical:
                continue
            among = float(means[rank] - middle) / between if rank not in self._told else 0.0
            if among < critical:
                among = self._rise_of(rank, blocks, float(means[rank]), least) / float(noise.deviation[rank])
            if min(z, among) >= critical:
                self._told.add(rank)
                self.slow.add(rank)
                yield self._alert(SLOW, rank, float(means[rank]), min(z, among), self._late[:, rank])

    def _rise_of(self, rank: int, blocks: int, mean: float, least: float) -> float:
        """Return the increase of lateness over the earlier blocks, as a share, scaled to the deviation of one mean.

        0 if these are too few, or if its own steps did not become longer.
        """
        kept = min(MOST_BLOCKS, self._blocks - int(self._changed_at[rank]))
        earlier = kept - blocks
        if earlier < max(blocks, FEWEST_BLOCKS - 1):
            return 0.0
        late, own_s = self._late[-kept:, rank], self._own_s[-kept:, rank]
        rise, before_s = mean - _mean(late[:-blocks]), _mean(own_s[:-blocks])
        is_own = _mean(own_s[-blocks:]) / before_s - 1 >= rise / 2
        return rise / sqrt(1 + blocks / earlier) if is_own and rise >= least else 0.0

    def _alert_groups(self, blocks: int, least: float) -> Iterator[Alert]:
        """Yield alerts of two groups, of which the later one has at least half of the ranks."""
        gap = self._gap(blocks, least)
        if gap is None or self.slow.issuperset(gap.high.tolist()):
            return
        series = self._group_lateness(gap)
        if self._is_new(gap, series, blocks, least):
            for rank in gap.high.tolist():
                if rank not in self.slow:
                    self.slow.add(rank)
                    yield self._alert(SLOW, rank, gap.slower_by, gap.z, series)
        elif self._groups is None:
            self._groups = gap
            first = int(gap.high.min())
            changed_at = self._changed_at.copy()
            alert = self._alert(GROUPS, first, gap.slower_by, gap.z, series)
            self._changed_at = changed_at
            yield alert._replace(ranks=tuple(sorted(gap.high.tolist())))

    def _gap(self, blocks: int, least: float) -> _Gap | None:
        """Return the widest gap between ranks, with at least half of them above it; None if none stands out."""
        own_s = self._own_s[-blocks:].mean(axis=0)
        order = np.argsort(own_s)[: int((~np.isnan(own_s)).sum())]
        fewest = max(1, int(np.ceil(SMALLER_GROUP * len(order))))
        gaps_s = np.diff(own_s[order])[fewest - 1 : len(order) // 2]
        if not len(gaps_s):
            return None
        low = fewest + int(gaps_s.argmax())
        low_s, high_s = np.median(own_s[order[:low]]), np.median(own_s[order[low:]])
        gap = float(gaps_s.max() / low_s)
        if gap < least or gap < (high_s / low_s - 1) / 2:
            return None
        noise = self._noise_of(blocks)
        z = gap / float(np.hypot(*noise.deviation[order[low - 1 : low + 1]]))
        if z < self._critical(noise):
            return None
        return _Gap(order[:low], order[low:], float(high_s / low_s - 1), z)

    def _group_lateness(self, gap: _Gap) -> np.ndarray:
        """Return how much longer the steps of the later group are, as a share, float64 [block]."""
        return median(self._own_s[:, gap.high], axis=1) / median(self._own_s[:, gap.low], axis=1) - 1

    def _is_new(self, gap: _Gap, series: np.ndarray, blocks: int, least: float) -> bool:
        """Return whether earlier blocks lack this gap, and the later group has moved further than the other one."""
        kept = min(MOST_BLOCKS, self._blocks)
        if kept <= blocks:
            return False
        rise = gap.slower_by - _mean(series[-kept:-blocks])
        middle_s = median(self._own_s[:, gap.high], axis=1) + median(self._own_s[:, gap.low], axis=1)
        is_longer = _mean(middle_s[-blocks:]) > _mean(middle_s[-kept:-blocks])
        return rise >= max(least, gap.slower_by / 2) and is_longer

    def _alert_recovered(self) -> Iterator[Alert]:
        if self._groups is not None and _mean(self._group_lateness(self._groups)[-CLOSED:]) < LEAST_SLOWER / 2:
            self._groups = None
        for blocks, means in self._means() if self.slow else ():
            noise = self._noise_of(blocks)
            for rank in sorted(self.slow):
                if means[rank] < LEAST_SLOWER / 2 and means[rank] + LEAST_Z * noise.deviation[rank] < LEAST_SLOWER:
                    self.slow.remove(rank)
                    mean = float(means[rank])
                    yield self._alert(RECOVERED, rank, mean, mean / float(noise.deviation[rank]), self._late[:, rank])

    def _alert(self, kind: str, rank: int, mean: float, z: float, series: np.ndarray) -> Alert:
        """Return an alert; `since_step` is the change point: the largest cumulative deviation from the midpoint."""
        kept = min(MOST_BLOCKS, self._blocks - int(self._changed_at[rank]))
        apart = np.nan_to_num(series[-kept:] - (LEAST_SLOWER if kind == RECOVERED else mean) / 2)
        sums = np.cumsum((-apart if kind == RECOVERED else apart)[::-1])
        since = self.steps - STEPS_OF_BLOCK * (int(sums.argmax()) + 1)
        self._changed_at[rank] = self._blocks
        return Alert(kind, rank, self.steps, mean, z, since)

    def _add_node(self, alert: Alert) -> Alert:
        node = self._node_of[alert.rank]
        slow = sum(self._node_of[rank] == node for rank in self.slow)
        is_of_node = slow >= 2 and 2 * slow > int((self._node_of == node).sum())
        return alert._replace(node=int(node)) if alert.kind == SLOW and is_of_node else alert


def lateness_of_blocks(
    ready_s: np.ndarray, step_s: np.ndarray, slow: Sequence[int] | set[int] = ()
) -> Iterator[LateBlock]:
    """Yield the blocks of STEPS_OF_BLOCK steps, excluding the `slow` ranks from the reference.

    `ready_s`, `step_s` as of `StepAlarm.update`, whole blocks; all blocks at once, since numpy's call overhead
    dominates with few ranks.
    """
    shape = len(step_s) // STEPS_OF_BLOCK, STEPS_OF_BLOCK, ready_s.shape[1]
    own_s = ready_s + (step_s - np.fmax.reduce(ready_s, axis=1))[:, None]
    behind_s = np.sort((ready_s - _others_median_s(ready_s, slow)).reshape(shape), axis=1)
    each = zip(median(behind_s, axis=1), behind_s[:, FEW_STEPS], median(own_s.reshape(shape), axis=1))
    return (LateBlock(*block) for block in each)


def _others_median_s(ready_s: np.ndarray, slow: Sequence[int] | set[int]) -> np.ndarray:
    """Return for each rank the median of the others that are not slow, or of all others if none is left."""
    of_all = median_of_others(ready_s)
    if not slow:
        return of_all
    is_slow = np.zeros(ready_s.shape[1], dtype=bool)
    is_slow[list(slow)] = True
    well_s = np.where(is_slow, np.nan, ready_s)
    of_well = np.where(is_slow, median(well_s, axis=1)[:, None], median_of_others(well_s))
    return np.where(np.isnan(of_well), of_all, of_well)


def _mean(values: np.ndarray) -> float:
    """Return the mean of the known values; NaN if none is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan

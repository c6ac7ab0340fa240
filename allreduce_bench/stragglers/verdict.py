"""The straggler report: slow ranks or nodes, the cost of waiting for them, or the reason why nobody is named.

Equal ranks wait, too: each step is as long as its slowest rank, by chance another one each time. Of 1,024 ranks with 5
% of noise the last one is 16 % late, later than a rank that is 12 % slower. So the wait is decomposed by replaying the
steps: without the lateness of the suspects, then without all other lasting differences between ranks. The rest is
chance. A single step in which one rank held up all others is separate (`Stall`).
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from ..robust import OF_NORMAL, block_medians, critical_z, median, spread_of_blocks
from .arrivals import Arrivals, Waits, waits
from .localise import (
    earlier_s,
    localise,
    mean_wait_s,
    move_earlier,
    replace_arrivals,
    saved_s,
)
from .noise import chance_of_at_least, correlation_time_of_events
from .slow_units import (
    CLOCK_ERRORS,
    FALSE_ALARMS,
    FEWEST_STEPS,
    FEWEST_WORTH,
    GROUP,
    LEAST_SLOWER,
    Late,
    Standing,
    number_of_blocks,
    unknown_standing,
)

# Why nobody is named
ONE_RANK = "one rank"  # no comparison
NO_READY_TIMES = "no ready times"  # only the durations of steps are known
TOO_FEW_STEPS = "too few steps"
BELOW_CLOCK = "below clock"  # the clocks of the ranks are not comparable well enough
SMALL_WAIT = "small wait"  # ranks wait too little to look for a cause
TOO_ALIKE = "too alike"  # steps are correlated for so long that they are worth too few independent ones
BELOW_NOISE = "below noise"  # ranks wait by chance
NO_SINGLE_CAUSE = "no single cause"  # ranks differ lastingly or arrive last too often for chance, and none stands out

# Criteria of a cause
LEAST_WAIT = 0.1  # of the steps of a suspect: least mean wait of those who wait
LEAST_LASTING = 0.01  # of the time of these steps: the part of the wait that lasts
LEAST_EXPLAINED = 0.8  # of the lasting wait
LEAST_COST = 0.01  # of the time of all steps: least cost of a cause, and of a rank that is late at times
SELDOM_BY_CHANCE = 1e-6  # a rank with a smaller p-value arrives last more often than chance

# Criteria of a stall
STALL_LEAST_SHARE = 0.5  # of all waiting
STALL_LEAST_OF_STEP = 0.1  # of the median step

ALL_STEPS = slice(None)


class UsedSteps(NamedTuple):
    """Arrivals of the steps whose duration and at least two ranks are known."""

    ready_s: np.ndarray  # float64 [step, rank]; NaN throughout a step that is not used
    used: np.ndarray  # bool [step]
    node_of: tuple[int, ...]
    clock_error_s: float
    step_s: np.ndarray  # float64 [step]; 0 of a step that is not used
    all_s: float  # of all used steps together; NaN: there is none
    typical_s: float  # median step
    undisturbed_s: float  # median of the step without its wait for what comes later than the median rank (or the other)
    waiting: Waits

    @property
    def ranks(self) -> int:
        """Number of ranks of the job, known or not."""
        return self.ready_s.shape[1]

    @property
    def steps(self) -> int:
        """Number of used steps."""
        return int(self.used.sum())

    @property
    def is_too_small(self) -> bool:
        """Whether there is too little to compare."""
        return self.ranks < 2 or self.steps < FEWEST_STEPS

    @property
    def last_count(self) -> np.ndarray:
        """int64 [rank]: steps in which it arrived last, alone."""
        return np.bincount(self.waiting.last[self.waiting.last >= 0], minlength=self.ranks)

    @property
    def caused_s(self) -> np.ndarray:
        """float64 [rank]: the wait that it caused as the last one, over all steps."""
        is_someone = self.waiting.last >= 0
        return np.bincount(self.waiting.last[is_someone], self.waiting.caused_s[is_someone], minlength=self.ranks)

    def waiting_share(self, steps: slice | np.ndarray = ALL_STEPS) -> float:
        """Return the mean wait over `steps`, and over all ranks but the last; share of the steps' time."""
        others = np.maximum((~np.isnan(self.ready_s[steps])).sum(axis=1) - 1, 1)
        waited_s = float((self.waiting.suffered_s[steps].sum(axis=1) / others).sum())
        return waited_s / float(self.step_s[steps].sum()) if self.used[steps].any() else np.nan

    @property
    def last_alike_steps(self) -> float:
        """Correlation time of being last, in steps: often the same rank is last in consecutive steps."""
        return correlation_time_of_events(self.waiting.last[self.used, None] == np.arange(self.ranks))

    def p_values(self) -> np.ndarray:
        """Return p-values of being last so often by chance, float64 [rank]; NaN: never known.

        The trials are independent steps.
        """
        known = ~np.isnan(self.ready_s)
        chances = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
        trials, counts, alike = known.sum(axis=0), self.last_count, self.last_alike_steps
        p_values = np.full(self.ranks, np.nan)
        for number in np.unique(trials[trials > 0]).tolist():
            same = trials == number
            chance = float(chances[:, same].sum()) / (number * int(same.sum()))
            p_values[same] = chance_of_at_least(*count_independent(counts[same], number, alike), chance)
        return p_values


class SingleStall(NamedTuple):
    """A step that one rank held up once."""

    rank: int  # the last one, which held up one step
    step: int
    wait_s: float  # how much later it was ready than the second last
    share: float  # of the waiting of all ranks in all steps; 0.1 is 10 %


class Attribution(NamedTuple):
    """The decomposition of the waiting by suspect. Waits are means over ranks, summed over all steps."""

    wait_s: float
    lasting_s: float  # its reduction without lasting differences between ranks; the rest is chance
    explained: tuple[float, ...]  # by each suspect: share of `lasting_s`
    saved_s: tuple[
        float, ...
    ]  # by replacing the arrivals of each suspect alone: all steps together end earlier by this
    all_saved_s: float  # the same for all suspects together
    credited_s: tuple[float, ...]  # of each: mean of `saved_s` and of the loss of `all_saved_s` without it

    @property
    def unexplained(self) -> float:
        """Share of `lasting_s` that no suspect explains; 0 if nothing lasts."""
        return max(0.0, 1 - sum(self.explained)) if self.lasting_s > 0 else 0.0


NOTHING = Attribution(0.0, 0.0, (), (), 0.0, ())


class Suspect(NamedTuple):
    """A rank, a node or a group of ranks that is slow."""

    kind: str  # RANK, NODE or GROUP
    ranks: tuple[int, ...]  # the rank, the late ranks of the node, or the slower of two groups
    node: int  # number of the node, as in nodes; -1: of several
    slower_by: float  # its lateness behind the median of the others in its late steps, of undisturbed_s; 0.1 is 10 %
    z: float  # the same in standard deviations of the noise; of a group in those within the groups
    last_share: float  # steps in which it, or one of its ranks, arrived last; 0.1 is 10 %
    explains_share: float  # what it explains of the lasting wait; 0.1 is 10 %
    # share of the time of all steps that is saved if its arrivals are replaced by the others' median
    cost_share: float
    saved_s: float  # the same over all steps
    step_with_s: float  # median of the steps in which it was slow
    step_without_s: float  # median of the same steps, its arrivals replaced by the others' median
    from_step: int  # first step in which it was slow
    to_step: int  # step after the last one
    waiting_share: float  # mean wait in the steps in which it was slow, of their time; 0.1 is 10 %
    # it belongs to the fewest suspects that explain 80 % of the lasting wait, which is worth a word
    is_cause: bool
    # if not it may be the last of a wide field
    stands_out: bool  # whether it stands out from the differences that ranks have anyway
    expected: float  # how many of so many ranks that differ as the others do are so late by chance
    late_share: float  # steps of its period in which it is late; 1: all
    every: int  # distance of its late steps where they are regular, in steps; 0: they are not


class StragglerReport(NamedTuple):
    """The results for the arrivals of one job. Shares are of the time of all steps, unless noted."""

    steps: int  # used ones, with at least two known ranks
    ranks: int
    last_count: np.ndarray  # int64 [rank]: steps in which it arrived last, alone
    p_value: np.ndarray  # of being last so often by chance (binomial)
    caused_s: np.ndarray  # sum of last minus second last over the steps in which it was last
    suffered_s: np.ndarray  # float64 [rank]: sum over steps of its wait for the last
    skew_s: np.ndarray  # float64 [step]: last minus first
    slower_by: np.ndarray  # as of suspects, for every rank; NaN: not known
    z: np.ndarray  # float64 [rank]
    step_s: float  # median step
    undisturbed_s: float  # median step as it would be were nobody later than the median rank: `slower_by` is its share;
    # where there are two groups, than the median rank of the faster one
    wait_share: float  # mean over ranks and steps of the wait
    waiting_share: float  # the same over those who wait: all ranks but the last of each step
    lasting_share: float  # part of `wait_share` due to lasting differences between ranks; the rest is chance
    idle_rank_s: float  # sum of all waits
    suspects: tuple[Suspect, ...]  # in descending order of explanation
    unexplained_share: float  # of the lasting wait, by no suspect
    cost_share: float  # time saved by replacing the arrivals of all suspects
    saved_s: float  # the same in seconds
    silence: str  # a code from above; empty with suspects
    clock_share: float  # three clock errors, of `undisturbed_s`: no smaller lateness is claimed
    noise_share: float  # the smallest detectable lateness, of `undisturbed_s`
    spread_share: float  # standard deviation between ranks (robust), of `undisturbed_s`
    worth_steps: float  # number of equivalent independent steps; NaN: not known
    steps_needed: float  # to tell the latest rank from noise, if it is late by LEAST_SLOWER, or else a rank that is
    stall: SingleStall | None  # one step that dominates the waiting

    @property
    def often_last(self) -> tuple[int, ...]:
        """Ranks that are last significantly often, the most frequent first."""
        too_often = np.flatnonzero(np.nan_to_num(self.p_value, nan=1.0) < SELDOM_BY_CHANCE)
        return tuple(sorted(too_often.tolist(), key=lambda rank: -int(self.last_count[rank])))

    @property
    def groups(self) -> tuple[Suspect, ...]:
        """Suspects that are groups of ranks."""
        return tuple(suspect for suspect in self.suspects if suspect.kind == GROUP)

    @property
    def causes(self) -> tuple[Suspect, ...]:
        """Suspects that are causes."""
        return tuple(suspect for suspect in self.suspects if suspect.is_cause)


def straggler_report(arrivals: Arrivals) -> StragglerReport:
    """Return who is slow, and the cost. Raises ValueError if the shapes of the arrivals do not fit.

    Steps of unknown duration, or with fewer than two known ranks, are left out.
    """
    job = job_of(arrivals)
    late: list[Late] = []
    stands, weighed = unknown_standing(job.ranks), NOTHING
    if not job.is_too_small:
        stands, late = localise(job.ready_s, job.node_of, job.undisturbed_s, job.clock_error_s)
        least_s = LEAST_COST * job.all_s
        late = [
            each
            for each in late
            if each.share == 1 or saved_s(job.ready_s, replace_arrivals(job.ready_s, [each])) >= least_s
        ]
        job = _compare_with_fast_group(job, late)
        weighed = attribution(job.ready_s, late, stands.alike_steps)
    report = StragglerReport(
        steps=job.steps,
        ranks=job.ranks,
        last_count=job.last_count,
        p_value=job.p_values(),
        caused_s=job.caused_s,
        suffered_s=job.waiting.suffered_s.sum(axis=0),
        skew_s=job.waiting.skew_s,
        slower_by=stands.late_s / job.undisturbed_s,
        z=stands.z,
        step_s=job.typical_s,
        undisturbed_s=job.undisturbed_s,
        wait_share=mean_wait_s(job.ready_s) / job.all_s,
        waiting_share=job.waiting_share(),
        lasting_share=weighed.lasting_s / job.all_s,
        idle_rank_s=float(job.waiting.suffered_s.sum()),
        suspects=_suspects(job, late, weighed),
        unexplained_share=weighed.unexplained,
        cost_share=weighed.all_saved_s / job.all_s,
        saved_s=weighed.all_saved_s,
        silence="",
        clock_share=CLOCK_ERRORS * job.clock_error_s / job.undisturbed_s,
        noise_share=stands.noise_s / job.undisturbed_s,
        spread_share=stands.spread_s / job.undisturbed_s,
        worth_steps=job.steps / stands.alike_steps,
        steps_needed=_steps_needed(job, stands),
        stall=single_stall(job),
    )
    return report._replace(silence=_silence(report, bool(np.isfinite(arrivals.ready_s).any())))


def _compare_with_fast_group(job: UsedSteps, late: list[Late]) -> UsedSteps:
    """Return the job with the undisturbed step of the faster of two groups, if there are two."""
    groups = [each for each in late if each.kind == GROUP]
    if not groups:
        return job
    moved_s = move_earlier(job.ready_s, groups)[job.used]
    waited_s = np.fmax.reduce(job.ready_s[job.used], axis=1) - np.fmax.reduce(moved_s, axis=1)
    undisturbed_s = undisturbed_step_s(job.step_s[job.used] - waited_s, moved_s)
    return job._replace(undisturbed_s=undisturbed_s) if undisturbed_s > 0 else job


def _steps_needed(job: UsedSteps, stands: Standing) -> float:
    """Return the number of steps needed: noise falls with their square root. NaN: not known."""
    if not np.isfinite(stands.noise_s):
        return np.nan
    latest_s = float(np.max(stands.late_s, initial=0.0, where=~np.isnan(stands.late_s)))
    lateness_s = max(latest_s, LEAST_SLOWER * job.undisturbed_s)
    return max(job.steps * (stands.noise_s / lateness_s) ** 2, FEWEST_WORTH * stands.alike_steps)


def _suspects(job: UsedSteps, late: list[Late], weighed: Attribution) -> tuple[Suspect, ...]:
    """Return the suspects in descending order of explanation."""
    do_explain = sum(weighed.explained) >= LEAST_EXPLAINED
    suspects, explained = [], 0.0
    for number in sorted(range(len(late)), key=lambda number: -weighed.explained[number]):
        suspect = _suspect(job, late[number], weighed, number)
        steps = late[number].steps(len(job.step_s))
        is_worth_it = (
            suspect.stands_out
            and (suspect.kind == GROUP or suspect.waiting_share >= LEAST_WAIT)
            and weighed.lasting_s >= LEAST_LASTING * float(job.step_s[steps].sum())
            and weighed.credited_s[number] >= LEAST_COST * job.all_s
        )
        suspects.append(suspect._replace(is_cause=do_explain and is_worth_it and explained < LEAST_EXPLAINED))
        explained += suspect.explains_share
    return tuple(suspects)


def _suspect(job: UsedSteps, late: Late, weighed: Attribution, number: int) -> Suspect:
    steps = late.steps(len(job.step_s))
    last_count = int(np.isin(job.waiting.last[steps], late.ranks).sum())
    step_s, used = job.step_s[steps], job.used[steps]
    without_s = step_s - earlier_s(job.ready_s, replace_arrivals(job.ready_s, [late]))[steps]
    return Suspect(
        kind=late.kind,
        ranks=late.ranks,
        node=late.node,
        slower_by=late.late_s / job.undisturbed_s,
        z=late.z,
        last_share=last_count / int(used.sum()),
        explains_share=weighed.explained[number],
        cost_share=weighed.saved_s[number] / job.all_s,
        saved_s=weighed.saved_s[number],
        step_with_s=float(np.median(step_s[used])),
        step_without_s=float(np.median(without_s[used])),
        from_step=late.from_step,
        to_step=late.to_step,
        waiting_share=job.waiting_share(steps),
        is_cause=False,
        stands_out=late.stands_out,
        expected=late.expected,
        late_share=late.share,
        every=late.every,
    )


def _silence(report: StragglerReport, has_ready_times: bool) -> str:
    """Return the reason why nobody is named; empty with suspects."""
    if report.suspects:
        return ""
    if report.ranks < 2:
        return ONE_RANK
    if not has_ready_times and len(report.skew_s):
        return NO_READY_TIMES
    if report.steps < FEWEST_STEPS:
        return TOO_FEW_STEPS
    if report.clock_share > LEAST_SLOWER and not np.nanmax(report.slower_by) >= report.clock_share:
        return BELOW_CLOCK
    if report.waiting_share < LEAST_WAIT:
        return SMALL_WAIT
    if report.worth_steps < FEWEST_WORTH:
        return TOO_ALIKE
    lasts = report.lasting_share >= 0.5 * report.wait_share
    return NO_SINGLE_CAUSE if lasts or report.often_last else BELOW_NOISE


def count_independent(counts: np.ndarray, trials: int, alike_steps: float) -> tuple[np.ndarray, int]:
    """Return counts and trials divided by the correlation time, conservatively rounded to integers."""
    independent = max(1, round(trials / alike_steps))
    return np.minimum((np.asarray(counts) / alike_steps).astype(int), independent), independent


def undisturbed_step_s(step_s: np.ndarray, ready_s: np.ndarray) -> float:
    """Return the median duration of steps without the wait for arrivals beyond the median rank, or the other of two;
    seconds.

    `step_s`: float64 [step], above 0; `ready_s`: float64 [step, rank]. Negative if steps do not contain their own ready
    times.
    """
    others_s = np.fmin.reduce if ready_s.shape[1] == 2 else median  # of two ranks the other one is the reference
    return float(np.median(step_s - (np.fmax.reduce(ready_s, axis=1) - others_s(ready_s, axis=1))))


def job_of(arrivals: Arrivals) -> UsedSteps:
    """Return the comparable steps of arrivals. Raises ValueError if the shapes do not fit."""
    ready_s, step_s = np.array(arrivals.ready_s, dtype=float), np.array(arrivals.step_s, dtype=float)
    if ready_s.shape != (len(step_s), len(arrivals.node_of)):
        raise ValueError(
            f"ready times {ready_s.shape} are not [step, rank] of {len(step_s)} steps and {len(arrivals.node_of)} ranks"
        )
    ready_s[~np.isfinite(ready_s)] = np.nan
    used = np.isfinite(step_s) & (step_s > 0) & ((~np.isnan(ready_s)).sum(axis=1) >= 2)
    ready_s[~used], step_s[~used] = np.nan, 0.0
    typical_s = undisturbed_s = all_s = np.nan
    if used.any():
        all_s, typical_s = float(step_s.sum()), float(np.median(step_s[used]))
        undisturbed_s = undisturbed_step_s(step_s[used], ready_s[used])
        if undisturbed_s <= 0:
            undisturbed_s = typical_s
    waiting = waits(ready_s)
    return UsedSteps(
        ready_s, used, arrivals.node_of, arrivals.clock_error_s, step_s, all_s, typical_s, undisturbed_s, waiting
    )


def single_stall(job: UsedSteps) -> SingleStall | None:
    """Return the step with at least STALL_LEAST_SHARE of all waiting, if one rank alone caused it; else None.

    None for fewer steps than can be judged: one of two steps always has half.
    """
    waits_s = job.waiting.suffered_s.sum(axis=1)
    all_s = float(waits_s.sum())
    if job.is_too_small or all_s <= 0:
        return None
    step = int(waits_s.argmax())
    rank, wait_s, share = int(job.waiting.last[step]), float(job.waiting.caused_s[step]), float(waits_s[step]) / all_s
    least_s = max(STALL_LEAST_OF_STEP * job.typical_s, CLOCK_ERRORS * job.clock_error_s)
    is_of_one = rank >= 0 and wait_s >= 0.5 * float(np.nan_to_num(job.waiting.skew_s[step]))
    return (
        SingleStall(rank, step, wait_s, share)
        if is_of_one and wait_s >= least_s and share >= STALL_LEAST_SHARE
        else None
    )


def attribution(ready_s: np.ndarray, suspects: Sequence[Late], alike_steps: float = 1.0) -> Attribution:
    """Attribute the waiting of `ready_s`: float64 [step, rank], seconds; NaN: not known; enough steps for
    `slow_units.measure_standing`.

    `alike_steps`: steps worth an independent one.

    Each of several suspects is credited with the mean of two replays: the gain without it alone, and the loss with it
    alone (Shapley's value for two suspects); scaled so that they add up to the gain without all suspects.
    """
    wait_s, without_s = mean_wait_s(ready_s), move_earlier(ready_s, suspects)
    left_s = mean_wait_s(without_s)
    lasting_s = max(0.0, wait_s - mean_wait_s(without_s - lasting_differences(without_s, alike_steps)))
    joint = min(1.0, max(0.0, wait_s - left_s) / lasting_s) if lasting_s > 0 else 0.0
    others = [[*suspects[:number], *suspects[number + 1 :]] for number in range(len(suspects))]
    credits = [1.0] * len(suspects)
    if len(suspects) > 1:
        without_it_s = [mean_wait_s(move_earlier(ready_s, [suspect])) for suspect in suspects]
        it_alone_s = [mean_wait_s(move_earlier(ready_s, rest)) for rest in others]
        credits = [
            max(0.0, 0.5 * (wait_s - without) + 0.5 * (alone - left_s))
            for without, alone in zip(without_it_s, it_alone_s)
        ]
    scale = joint / sum(credits) if sum(credits) > 0 else 0.0
    alone_s = tuple(saved_s(ready_s, replace_arrivals(ready_s, [suspect])) for suspect in suspects)
    all_s = saved_s(ready_s, replace_arrivals(ready_s, suspects)) if suspects else 0.0
    others_s = [saved_s(ready_s, replace_arrivals(ready_s, rest)) for rest in others]
    return Attribution(
        wait_s,
        lasting_s,
        tuple(credit * scale for credit in credits),
        alone_s,
        all_s,
        tuple(0.5 * alone + 0.5 * (all_s - of_others) for alone, of_others in zip(alone_s, others_s)),
    )


def lasting_differences(ready_s: np.ndarray, alike_steps: float = 1.0) -> np.ndarray:
    """Return the median distance of each rank from the median rank of a step, float64 [rank]; 0 if noise explains it.

    `alike_steps`: steps worth an independent one.
    """
    apart_s = ready_s - median(ready_s, axis=1)[:, None]
    blocks = number_of_blocks(len(ready_s))
    noise_s = spread_of_blocks(block_medians(apart_s, blocks)) / sqrt(blocks)
    centre_s = median(apart_s, axis=0)
    of_step_s = OF_NORMAL * np.nan_to_num(median(np.abs(apart_s - centre_s), axis=0))
    noise_s = np.maximum(noise_s, of_step_s * sqrt(alike_steps / len(ready_s)))
    lasting_s = np.nan_to_num(centre_s)
    ranks = len(lasting_s)
    return np.where(np.abs(lasting_s) > critical_z(2 * ranks / FALSE_ALARMS, blocks, ranks) * noise_s, lasting_s, 0.0)

"""Which ranks or nodes are slow, what waiting for them costs, and silence where nobody is."""

from typing import NamedTuple

import numpy as np

from .arrivals import Arrivals
from .attribution import Attribution, attribution
from .binomial import chance_of_at_least
from .job import Job, job_of, undisturbed, worth
from .localise import GROUP, Late, localise
from .single_stall import Stall, single_stall
from .slow_units import CLOCK_ERRORS, FEWEST_STEPS, FEWEST_WORTH, LEAST_SLOWER, Standing, nobody
from .what_if import earlier_s, mean_wait_s, moved_earlier, replaced, saved_s

ONE_RANK = "one rank"  # nobody to compare with
NO_READY_TIMES = "no ready times"  # only the durations of steps are known
TOO_FEW_STEPS = "too few steps"
BELOW_CLOCK = "below clock"  # the clocks of the ranks cannot be compared well enough
SMALL_WAIT = "small wait"  # ranks wait too little to look for a cause
TOO_ALIKE = "too alike"  # steps depend on each other for so long that they are worth too few independent ones
BELOW_NOISE = "below noise"  # ranks wait by chance, now for one and now for another
NO_SINGLE_CAUSE = "no single cause"  # ranks differ lastingly or arrive last too often for chance, and none stands out

LEAST_WAIT = 0.1  # of the steps of a suspect: what those who wait must wait, in the mean, before it is called the cause
LEAST_LASTING = 0.01  # of the time of these steps: the part of the wait that lasts
LEAST_EXPLAINED = 0.8  # of the lasting wait
LEAST_COST = 0.01  # of the time of all steps: what a cause costs, and what a rank costs that is late at times
SELDOM_BY_CHANCE = 1e-6  # a rank with a smaller p-value arrives last more often than chance
NOTHING = Attribution(0.0, 0.0, (), (), 0.0, ())


class Suspect(NamedTuple):
    """A rank, a node or a group of ranks that is slow."""

    kind: str  # RANK, NODE or GROUP
    ranks: tuple[int, ...]  # one, those of the node that are late, or those of the group
    node: int  # number of the node; -1: of several
    slower_by: float  # its lateness behind the median of the others, of the step that the median rank would have
    z: float  # the same, in standard deviations of the noise; of a group in those within the groups
    last_share: float  # of the steps in which it (one of them) arrived last
    p_value: float  # that it arrives last so often by chance
    explains_share: float  # of the lasting wait
    cost_share: float  # of the time of all steps: what is saved where its arrivals are replaced by the others' median
    saved_s: float  # the same in seconds, over all steps
    step_with_s: float  # median of the steps in which it was slow
    step_without_s: float  # the same steps replayed with its arrivals replaced
    caused_s: float  # in these steps: the sum over those that it ended of the distance to the second last
    from_step: int  # the first step in which it was slow
    to_step: int  # the step after the last one
    waiting_share: float  # of its steps: what the others wait for the last rank, in the mean
    is_cause: bool  # it belongs to the fewest suspects that explain 80 % of the lasting wait, which is worth a word
    stands_out: bool  # from the differences that ranks have anyway; if not it may be the last of a wide field
    expected: float  # how many of so many ranks that differ as the others do are so late by chance
    late_share: float  # of the steps of its period: in which it is late; 1: it is slow, in all of them
    every: int  # distance of its late steps, where they are regular; 0: they are not


class StragglerReport(NamedTuple):
    """What the arrivals of one job say. Shares are of the time of all steps, where nothing else is said."""

    steps: int  # that were used: those in which two ranks or more are known
    ranks: int
    last_count: np.ndarray  # int64 [rank]: steps in which it arrived last, alone
    p_value: np.ndarray  # float64 [rank]: that it is last so often by chance (binomial)
    caused_s: np.ndarray  # float64 [rank]: sum over the steps in which it was last of the distance to the second last
    suffered_s: np.ndarray  # float64 [rank]: sum over steps of its wait for the last
    skew_s: np.ndarray  # float64 [step]: last minus first
    slower_by: np.ndarray  # float64 [rank]: as of suspects, of everyone; NaN: not known
    z: np.ndarray  # float64 [rank]
    step_s: float  # median step
    undisturbed_s: float  # median step as it would be were nobody later than the median rank: `slower_by` is its share;
    # where there are two groups, than the median rank of the faster one
    wait_share: float  # mean over ranks and steps of the wait
    waiting_share: float  # the same over those who wait: all ranks but the last of each step
    lasting_share: float  # part of `wait_share` due to lasting differences between ranks; the rest is chance
    idle_rank_s: float  # sum of all waits
    suspects: tuple[Suspect, ...]  # the one that explains most first
    unexplained_share: float  # of the lasting wait: what the suspects together do not explain
    cost_share: float  # what is saved where the arrivals of all suspects are replaced
    saved_s: float  # the same in seconds
    silence: str  # a code of above; empty where there are suspects
    clock_share: float  # three clock errors, of `undisturbed_s`: no smaller lateness is claimed
    noise_share: float  # the least lateness that noise lets tell, of `undisturbed_s`
    spread_share: float  # standard deviation between ranks (robust), of `undisturbed_s`
    worth_steps: float  # so many independent steps say as much, since steps depend on each other; NaN: not known
    steps_needed: float  # to tell the latest rank from noise, if it is late by LEAST_SLOWER, or else a rank that is
    stall: Stall | None  # one step that makes most of the waiting

    @property
    def often_last(self) -> tuple[int, ...]:
        """The ranks that arrive last more often than chance lets them, the most frequent first."""
        too_often = np.flatnonzero(np.nan_to_num(self.p_value, nan=1.0) < SELDOM_BY_CHANCE)
        return tuple(sorted(too_often.tolist(), key=lambda rank: -int(self.last_count[rank])))

    @property
    def groups(self) -> tuple[Suspect, ...]:
        """The suspects that are groups of ranks."""
        return tuple(suspect for suspect in self.suspects if suspect.kind == GROUP)

    @property
    def causes(self) -> tuple[Suspect, ...]:
        """The suspects that are causes."""
        return tuple(suspect for suspect in self.suspects if suspect.is_cause)


def straggler_report(arrivals: Arrivals) -> StragglerReport:
    """Who is slow, and what it costs. Raises ValueError where the shapes of the arrivals do not fit.

    Steps of which the duration or all ranks but one are not known are left out.
    """
    job = job_of(arrivals)
    late: list[Late] = []
    stands, weighed = nobody(job.ranks), NOTHING
    if not job.is_too_small:
        stands, late = localise(job.ready_s, job.node_of, job.undisturbed_s, job.clock_error_s)
        late = [each for each in late if each.share == 1 or _costs_enough(job, each)]
        job = _against_fast_group(job, late)
        weighed = attribution(job.ready_s, [each.period for each in late], stands.alike_steps)
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


def _costs_enough(job: Job, late: Late) -> bool:
    return saved_s(job.ready_s, replaced(job.ready_s, [late.period])) >= LEAST_COST * job.all_s


def _against_fast_group(job: Job, late: list[Late]) -> Job:
    """The job with the undisturbed step of the faster one of two groups, where there are two."""
    groups = [each.period for each in late if each.kind == GROUP]
    if not groups:
        return job
    moved_s = moved_earlier(job.ready_s, groups)[job.used]
    waited_s = np.fmax.reduce(job.ready_s[job.used], axis=1) - np.fmax.reduce(moved_s, axis=1)
    undisturbed_s = undisturbed(job.step_s[job.used] - waited_s, moved_s)
    return job._replace(undisturbed_s=undisturbed_s) if undisturbed_s > 0 else job


def _steps_needed(job: Job, stands: Standing) -> float:
    """Noise falls with the root of the steps. NaN: not known."""
    if not np.isfinite(stands.noise_s):
        return np.nan
    latest_s = float(np.max(stands.late_s, initial=0.0, where=~np.isnan(stands.late_s)))
    told_s = max(latest_s, LEAST_SLOWER * job.undisturbed_s)
    return max(job.steps * (stands.noise_s / told_s) ** 2, FEWEST_WORTH * stands.alike_steps)


def _suspects(job: Job, late: list[Late], weighed: Attribution) -> tuple[Suspect, ...]:
    """Those who explain most first."""
    do_explain = sum(weighed.explained) >= LEAST_EXPLAINED
    suspects, explained = [], 0.0
    for number in sorted(range(len(late)), key=lambda number: -weighed.explained[number]):
        suspect = _suspect(job, late[number], weighed, number)
        steps = late[number].period.steps(len(job.step_s))
        is_worth_it = (
            suspect.stands_out
            and (suspect.kind == GROUP or suspect.waiting_share >= LEAST_WAIT)
            and weighed.lasting_s >= LEAST_LASTING * float(job.step_s[steps].sum())
            and weighed.credited_s[number] >= LEAST_COST * job.all_s
        )
        suspects.append(suspect._replace(is_cause=do_explain and is_worth_it and explained < LEAST_EXPLAINED))
        explained += suspect.explains_share
    return tuple(suspects)


def _suspect(job: Job, late: Late, weighed: Attribution, number: int) -> Suspect:
    period = late.period
    steps = period.steps(len(job.step_s))
    is_last = np.isin(job.waiting.last[steps], period.ranks)
    trials, count = int(job.used[steps].sum()), int(is_last.sum())
    step_s, used = job.step_s[steps], job.used[steps]
    without_s = step_s - earlier_s(job.ready_s, replaced(job.ready_s, [period]))[steps]
    chance = min(1.0, len(period.ranks) / job.ranks)
    return Suspect(
        kind=late.kind,
        ranks=period.ranks,
        node=late.node,
        slower_by=period.late_s / job.undisturbed_s,
        z=late.z,
        last_share=count / trials,
        p_value=float(chance_of_at_least(*worth(np.array(count), trials, job.last_alike_steps), chance)),
        explains_share=weighed.explained[number],
        cost_share=weighed.saved_s[number] / job.all_s,
        saved_s=weighed.saved_s[number],
        step_with_s=float(np.median(step_s[used])),
        step_without_s=float(np.median(without_s[used])),
        caused_s=float(job.waiting.caused_s[steps][is_last].sum()),
        from_step=period.from_step,
        to_step=period.to_step,
        waiting_share=job.waiting_share(steps),
        is_cause=False,
        stands_out=late.stands_out,
        expected=late.expected,
        late_share=late.share,
        every=late.every,
    )


def _silence(report: StragglerReport, has_ready_times: bool) -> str:
    """Why nobody is named; empty where there are suspects."""
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

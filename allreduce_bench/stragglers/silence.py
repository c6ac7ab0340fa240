"""Why nobody is named as slow, in sentences with the figures; and a step that was held up once."""

from collections.abc import Callable
from math import ceil, isfinite, log10
from operator import itemgetter

import numpy as np

from ..units import format_ranges, format_time
from .arrivals import Arrivals
from .single_stall import Stall
from .slow_units import FEWEST_WORTH, LEAST_SLOWER
from .verdict import (
    BELOW_CLOCK,
    BELOW_NOISE,
    LEAST_WAIT,
    NO_READY_TIMES,
    NO_SINGLE_CAUSE,
    ONE_RANK,
    SMALL_WAIT,
    TOO_ALIKE,
    TOO_FEW_STEPS,
    StragglerReport,
)

MOST_Z = 1000  # beyond, there is no noise
MOST_OFTEN = 4  # ranks that are named as often last
MUCH_ALIKE = 5.0  # steps that are worth one, from which on that is said: a lag-1 correlation of 2/3
MOST_STEPS = 1e6  # beyond, more steps are no advice


def silence_sentences(arrivals: Arrivals, report: StragglerReport) -> list[str]:
    """Why nobody is named. A step that makes most of the waiting is told first: it is what the table shows."""
    why = SILENCE[report.silence](arrivals, report)
    if report.stall and report.silence in (SMALL_WAIT, BELOW_NOISE, NO_SINGLE_CAUSE):
        return [f"no rank is slow in many steps, but {stall_words(report.stall)}", f"no rank is named as slow: {why}"]
    return [f"no rank is named: {why}"]


def stall_words(stall: Stall) -> str:
    """`rank 2 held up step 50 once, for 9.0 s: 99 % of all waiting`."""
    return (
        f"rank {stall.rank} held up step {stall.step} once, for {format_time(stall.wait_s)}: {percent(stall.share)} of"
        " all waiting"
    )


def percent(share: float) -> str:
    """`11.8 %`; below 1 % with one digit that counts."""
    value = 100 * share
    if not isfinite(value):
        return "an unknown share"
    return f"{value:.0f} %" if value >= 99.95 else f"{value:.3g} %" if value >= 1 else f"{value:.1g} %"


def z_words(z: float, digits: str = ".3g") -> str:
    """`29.6`; of data without noise `>1000`."""
    return f"{z:{digits}}" if abs(z) <= MOST_Z else f">{MOST_Z}" if z > 0 else f"<-{MOST_Z}"


def _few_steps(arrivals: Arrivals, report: StragglerReport) -> str:
    if not report.steps and len(arrivals.step_s):
        return "no step has the arrivals of two ranks or more"
    return f"{report.steps} steps are too few to tell a slow rank from chance"


def _no_ready_times(arrivals: Arrivals, report: StragglerReport) -> str:
    known_s = arrivals.step_s[np.isfinite(arrivals.step_s)]
    times = f" ({len(known_s)} steps, median {format_time(float(np.median(known_s)))})" if len(known_s) else ""
    return (
        "no step has the arrivals of two ranks, as where a program never calls ready(): only the times of steps are"
        f" known{times}"
    )


def _one_rank(arrivals: Arrivals, report: StragglerReport) -> str:
    return "one rank alone has nobody to be compared with"


def _below_clock(arrivals: Arrivals, report: StragglerReport) -> str:
    return (
        f"the clocks of the ranks agree to {format_time(arrivals.clock_error_s)} only; no rank is later than the others"
        f" by three times that, {_of_a_step(report.clock_share)}"
    )


def _small_wait(arrivals: Arrivals, report: StragglerReport) -> str:
    return (
        f"ranks wait {percent(report.waiting_share)} of the time of all steps for the last one; a cause is named where"
        f" that is {percent(LEAST_WAIT)} or more"
    )


def _below_noise(arrivals: Arrivals, report: StragglerReport) -> str:
    return (
        f"ranks wait {percent(report.waiting_share)} of the time of all steps for the last one, but none is late so"
        f" much and so steadily that it is not chance{_latest_words(report)}{_worth_words(report)}"
    )


def _too_alike(arrivals: Arrivals, report: StragglerReport) -> str:
    return (
        "ranks that are late in a step are late in the next ones, too, as ranks are that drift:"
        f" {report.steps} steps say as much as {report.worth_steps:.2g} independent ones, and {FEWEST_WORTH} are the"
        f" least{_needed_words(report)}"
    )


def _worth_words(report: StragglerReport) -> str:
    """What the steps are worth, and how many would do, where they depend on each other much; else empty."""
    if not report.worth_steps * MUCH_ALIKE < report.steps:
        return ""
    worth = f"{report.steps} of them say as much as {report.worth_steps:.2g} independent ones"
    return f"; a step is like the ones before: {worth}" + _needed_words(report) * (report.steps_needed > report.steps)


def _needed_words(report: StragglerReport) -> str:
    """`, and about 1,200 steps would tell`; empty where no number of steps would."""
    if not report.steps_needed <= MOST_STEPS:
        return ""
    digits = max(0, len(str(int(report.steps_needed))) - 2)
    return f", and about {round(report.steps_needed / 10**digits) * 10**digits:,} steps would tell"


def _no_single_cause(arrivals: Arrivals, report: StragglerReport) -> str:
    late = np.flatnonzero(np.nan_to_num(report.slower_by) >= LEAST_SLOWER).tolist()
    if report.ranks > 2 and 2 * len(late) >= report.ranks:
        return (
            f"ranks {format_ranges(late)} are late alike, half or more of all {report.ranks} ranks, so that nobody can"
            " say which half is slow"
        )
    often = _often_words(report)
    if often:
        alone = "but its median lateness does not stand out from that of the others"
        return f"{often}, {alone if len(report.often_last) == 1 else 'and no single rank stands out'}"
    return (
        f"ranks wait {percent(report.waiting_share)} of the time of all steps and differ lastingly, but no rank and no"
        f" node stands out from the others{_latest_words(report)}"
    )


def _often_words(report: StragglerReport) -> str:
    """`ranks 2 and 3 arrive last often (54 % and 45 % of steps, p < 1e-09)`; empty where nobody does."""
    ranks = report.often_last[:MOST_OFTEN]
    if not ranks:
        return ""
    shares = _listed([percent(float(report.last_count[rank]) / report.steps) for rank in ranks])
    p_value = float(report.p_value[list(ranks)].max())
    p_value_words = "p < 1e-09" if p_value < 1e-9 else f"p < {10 ** ceil(log10(p_value)):.0e}"
    names = _listed(list(map(str, ranks)))
    who = f"ranks {names} arrive" if len(ranks) > 1 else f"rank {names} arrives"
    return f"{who} last often ({shares} of steps, {p_value_words})"


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _latest_words(report: StragglerReport) -> str:
    """The rank that is the latest, and what would have to be exceeded."""
    late = [value if isfinite(value) else -1.0 for value in report.slower_by.tolist()]
    latest, most = max(enumerate(late), key=itemgetter(1), default=(0, -1.0))
    if most <= 0:
        return ""
    words = f"; the latest, rank {latest}, is late by {percent(most)} of a step"
    hidden = f", and what is below {_of_a_step(report.noise_share)} is not told from noise"
    return words + hidden * (most < report.noise_share)


def _of_a_step(share: float) -> str:
    return f"{percent(share)} of a step" if share <= 1 else "a whole step"


SILENCE: dict[str, Callable[[Arrivals, StragglerReport], str]] = {  # code -> why
    TOO_FEW_STEPS: _few_steps,
    NO_READY_TIMES: _no_ready_times,
    ONE_RANK: _one_rank,
    BELOW_CLOCK: _below_clock,
    TOO_ALIKE: _too_alike,
    SMALL_WAIT: _small_wait,
    BELOW_NOISE: _below_noise,
    NO_SINGLE_CAUSE: _no_single_cause,
}

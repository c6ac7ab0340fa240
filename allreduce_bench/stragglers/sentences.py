"""Sentences and a table on the arrivals of ranks: who is slow, the cost, since when; or why nobody is named."""

from collections.abc import Callable, Sequence
from math import ceil, exp, isfinite, log10
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..machine.core_load import DISTURBED, LOW_CLOCK
from ..runs.folder import RunFolder
from ..tables import Column, Screen, columns_of, fitted
from ..units import counted, format_ranges, format_time, three_digits
from .arrivals import Arrivals
from .localise import GROUP, NODE, RANK, nodes_of
from .of_run import Injected, NodeState, of_run
from .slow_units import FEWEST_WORTH, LEAST_SLOWER
from .verdict import (
    BELOW_CLOCK,
    BELOW_NOISE,
    LEAST_COST,
    LEAST_EXPLAINED,
    LEAST_WAIT,
    NO_READY_TIMES,
    NO_SINGLE_CAUSE,
    ONE_RANK,
    SMALL_WAIT,
    TOO_ALIKE,
    TOO_FEW_STEPS,
    Stall,
    StragglerReport,
    Suspect,
    straggler_report,
)

# Who is named
MOST_SUSPECTS = 4  # with sentences of their own
MOST_NAMED = 5  # suspects that are named in all
MOST_NODES = 4  # of a group that are named
LEAST_P = 1e-9  # smaller p-values are printed as less than this
MINUTE_S, HOUR_S = 60.0, 3600.0

# Why nobody is named
MOST_Z = 1000  # beyond, the data have no noise
MOST_OFTEN = 4  # ranks named as often last
MUCH_ALIKE = 5.0  # steps worth one, reported from here on: a lag-1 correlation of 2/3
MOST_STEPS = 1e6  # beyond, more steps are no useful advice
HOW_TO_MEASURE = (
    "a run says who arrives late only if ranks work before each call and are stamped before the common start: measure"
    " one with --compute 20ms, or inject lateness with --arrival one-late"
)

# The table
MOST_TABLE_RANKS = 16  # suspects are always among them
TABLE_HEAD = ("rank", "node", "late", "of a step", "z", "last", "p", "caused", "suffered")
SINCE_COLUMN = "since"  # one more column, where a suspect is slow for a stretch, or at times: its row is of these steps
LEFT_OUT_COLUMNS = (4, 6, 8, 7)  # columns, in this order, where a screen is narrow

NOT_INJECTED = Injected()


class Judged(NamedTuple):
    """Arrivals with their report."""

    what: str  # description: `ring, 1 MiB, 8 ranks`; empty: everything
    arrivals: Arrivals
    report: StragglerReport
    machines: tuple[NodeState, ...] = ()  # of each node; empty: not known
    injected: Injected = NOT_INJECTED  # what the run delayed on purpose


def judged(
    what: str, arrivals: Arrivals, machines: tuple[NodeState, ...] = (), injected: Injected = NOT_INJECTED
) -> Judged:
    """Return the arrivals with their report."""
    return Judged(what, arrivals, straggler_report(arrivals), machines, injected)


def sentences_of_run(folder: RunFolder) -> list[str]:
    """Return the first sentences of each part of a run: who arrived late, or why nobody is named. Raises RunError."""
    parts = [judged(*part) for part in of_run(folder)]
    told = [(part, verdict_sentences(part)[: 1 + len(injected_sentences(part))]) for part in parts]
    return [f"{part.what}: {sentence}" for part, sentences in told for sentence in sentences]


def verdict_sentences(judged: Judged) -> list[str]:
    """Return the verdict, what was injected, its reasons and its price; one sentence each, the verdict first."""
    first, *rest = _found_sentences(judged)
    return [first, *injected_sentences(judged), *rest]


def silence_sentences(arrivals: Arrivals, report: StragglerReport) -> list[str]:
    """Return why nobody is named, after a single step that dominates the waiting, which the table shows."""
    why = SILENCE[report.silence](arrivals, report)
    if report.stall and report.silence in (SMALL_WAIT, BELOW_NOISE, NO_SINGLE_CAUSE):
        return [
            f"no rank is slow in many steps, but {stall_words(report.stall)}",
            f"no rank is named as slow: {why}",
        ]
    return [f"no rank is named: {why}"]


def stall_words(stall: Stall) -> str:
    """Return `rank 2 held up step 50 once, for 9.0 s: 99 % of all waiting`."""
    return (
        f"rank {stall.rank} held up step {stall.step} once, for {format_time(stall.wait_s)}: {percent(stall.share)} "
        "of all waiting"
    )


def percent(share: float) -> str:
    """Format `11.8 %`; below 1 % with one significant digit."""
    value = 100 * share
    if not isfinite(value):
        return "an unknown share"
    return f"{value:.0f} %" if value >= 99.95 else f"{value:.3g} %" if value >= 1 else f"{value:.1g} %"


def z_words(z: float, digits: str = ".3g") -> str:
    """Return `29.6`; of data without noise `>1000`."""
    return f"{z:{digits}}" if abs(z) <= MOST_Z else f">{MOST_Z}" if z > 0 else f"<-{MOST_Z}"


def _few_steps(arrivals: Arrivals, report: StragglerReport) -> str:
    if not report.steps and len(arrivals.step_s):
        return "no step has the arrivals of two ranks or more"
    return f"{counted(report.steps, 'step')} cannot tell a slow rank from chance"


def _no_ready_times(arrivals: Arrivals, report: StragglerReport) -> str:
    known_s = arrivals.step_s[np.isfinite(arrivals.step_s)]
    times = (
        f" ({counted(len(known_s), 'step')}, median {format_time(float(np.median(known_s)))})" if len(known_s) else ""
    )
    return (
        "no step has the arrivals of two ranks, as where a program never calls ready(): only the times of steps are "
        f"known{times}"
    )


def _one_rank(arrivals: Arrivals, report: StragglerReport) -> str:
    return "one rank alone has nobody to be compared with"


def _below_clock(arrivals: Arrivals, report: StragglerReport) -> str:
    return (
        f"the clocks of the ranks agree to {format_time(arrivals.clock_error_s)} only; no rank is later than the "
        f"others by three times that, {_of_a_step(report.clock_share)}"
    )


def _small_wait(arrivals: Arrivals, report: StragglerReport) -> str:
    return (
        f"ranks wait {percent(report.waiting_share)} of the time of all steps for the last one; a cause is named "
        f"where that is {percent(LEAST_WAIT)} or more"
    )


def _below_noise(arrivals: Arrivals, report: StragglerReport) -> str:
    return (
        f"ranks wait {percent(report.waiting_share)} of the time of all steps for the last one, but none is late so "
        f"much and so steadily that it is not chance{_latest_words(report)}{_worth_words(report)}"
    )


def _too_alike(arrivals: Arrivals, report: StragglerReport) -> str:
    return (
        f"ranks that are late in a step are late in the next ones, too, as ranks are that drift: {report.steps} steps "
        f"say as much as {report.worth_steps:.2g} independent ones, and {FEWEST_WORTH} are the "
        f"least{_needed_words(report)}"
    )


def _worth_words(report: StragglerReport) -> str:
    """Say how many independent steps the steps are worth, and how many are needed, if strongly correlated; else
    empty.
    """
    if not report.worth_steps * MUCH_ALIKE < report.steps:
        return ""
    worth = f"{report.steps} of them say as much as {report.worth_steps:.2g} independent ones"
    return f"; a step is like the ones before: {worth}" + _needed_words(report) * (report.steps_needed > report.steps)


def _needed_words(report: StragglerReport) -> str:
    """Return `, and about 1,200 steps would tell`; empty if no number of steps would."""
    if not report.steps_needed <= MOST_STEPS:
        return ""
    digits = max(0, len(str(int(report.steps_needed))) - 2)
    steps_needed = round(report.steps_needed / 10**digits) * 10**digits
    return f", and about {steps_needed:,} steps would tell"


def _no_single_cause(arrivals: Arrivals, report: StragglerReport) -> str:
    late = np.flatnonzero(np.nan_to_num(report.slower_by) >= LEAST_SLOWER).tolist()
    if report.ranks > 2 and 2 * len(late) >= report.ranks:
        return (
            f"ranks {format_ranges(late)} are late alike, half or more of all {report.ranks} ranks, so that nobody "
            "can say which half is slow"
        )
    often = _often_words(report)
    if often:
        alone = "but its median lateness does not stand out from that of the others"
        return f"{often}, {alone if len(report.often_last) == 1 else 'and no single rank stands out'}"
    return (
        f"ranks wait {percent(report.waiting_share)} of the time of all steps and differ lastingly, but no rank and "
        f"no node stands out from the others{_latest_words(report)}"
    )


def _often_words(report: StragglerReport) -> str:
    """Return `ranks 2 and 3 arrive last often (54 % and 45 % of steps, p < 1e-09)`; empty where nobody does."""
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
    """Name the latest rank, and the threshold."""
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


def injected_sentences(judged: Judged) -> list[str]:
    """Say what the run injected, and whether it was found; empty without injection."""
    injected, report = judged.injected, judged.report
    if injected.pattern:
        return [f"delays were injected: --arrival {injected.pattern}"]
    suspects = {rank for suspect in report.suspects for rank in suspect.ranks}
    others = max((state.others for state in judged.machines), default=0.0)
    said = []
    for rank, share in injected.slowdowns:
        late_s = share * injected.compute_s
        of_step = f", {percent(late_s / report.undisturbed_s)} of a step" * isfinite(report.undisturbed_s)
        found = "found" if rank in suspects else "not found"
        if rank not in suspects and others >= DISTURBED:
            found += f": other processes used {percent(others)} of the cores"
        said.append(f"injected: rank {rank} by {format_time(late_s)}{of_step}; {found}")
    return said


def _found_sentences(judged: Judged) -> list[str]:
    report = judged.report
    if report.silence:
        return [*silence_sentences(judged.arrivals, report), *_wait_sentences(report)]
    causes = report.causes
    named = causes or report.suspects[:1]
    told = [sentence for suspect in named[:MOST_SUSPECTS] for sentence in _suspect_sentences(suspect, judged)]
    if len(named) > MOST_SUSPECTS:
        told.append(f"{len(named) - MOST_SUSPECTS} more are named in the table")
    if len(causes) > 1:
        told.append(f"without all of them steps would take {percent(report.cost_share)} less time")
    told += [
        *_other_sentences(judged, [each for each in report.suspects if each not in named]),
        *_half_sentences(report),
    ]
    if not causes:
        told.append(_why_no_cause(report))
    return [*told, *_wait_sentences(report), *_rest_sentences(report, len(named))]


def _other_sentences(judged: Judged, others: Sequence[Suspect]) -> list[str]:
    """Name the suspects without sentences of their own."""
    if not others:
        return []
    late_s = [each.slower_by * judged.report.undisturbed_s for each in others]
    named = [f"{name_of(each, judged.arrivals)} by {format_time(by)}" for each, by in zip(others, late_s)]
    most = MOST_NAMED - 1
    more = [f"{len(named) - most} more, which the table names"] if len(named) > most else []
    return [f"late, too: {', '.join([*named[:most], *more])}"]


def _half_sentences(report: StragglerReport) -> list[str]:
    """Say that the reference is late itself, so that the slow half is unknown."""
    late = {rank for suspect in report.suspects if suspect.kind == RANK for rank in suspect.ranks}
    if report.ranks < 3 or 2 * len(late) < report.ranks:
        return []
    return [
        (
            f"{_ranks(sorted(late))} are late alike: half or more of all {report.ranks} ranks. So the median rank is "
            "late itself, the times and shares above are too small, and the others may be fast instead"
        )
    ]


def _why_no_cause(report: StragglerReport) -> str:
    """Say why suspects are not called a cause."""
    if not any(suspect.stands_out for suspect in report.suspects):
        unlike = f"the {report.ranks} ranks differ by {percent(report.spread_share)} anyway (standard deviation)"
        chance = percent(1 - exp(-min(suspect.expected for suspect in report.suspects)))
        return f"it is not called a cause: {unlike}, and one of so many is so late by chance in {chance} of jobs"
    explained = 1 - report.unexplained_share
    waiting_share = max(suspect.waiting_share for suspect in report.suspects)
    if waiting_share < LEAST_WAIT:
        wait, least = percent(waiting_share), percent(LEAST_WAIT)
        return f"it is not called a cause: ranks wait {wait} of these steps for the last one, and {least} is the least"
    if explained < LEAST_EXPLAINED:
        least = percent(LEAST_EXPLAINED)
        all_explain = f"all suspects explain {percent(explained)} of the lasting wait"
        return f"no cause is named: {all_explain}, and {least} is the least"
    if report.cost_share < LEAST_COST:
        cost, least = percent(report.cost_share), percent(LEAST_COST)
        return f"it is not called a cause: it costs {cost} of the time of all steps, and {least} is the least"
    return f"it is not called a cause: all lasting waits are {percent(report.lasting_share)} of the time of all steps"


def name_of(suspect: Suspect, arrivals: Arrivals) -> str:
    """Return `rank 5 on node n3`, `node n3 (ranks 4-7)`; of a group `ranks 0-7`, `nodes n0, n1 (ranks 0-7)`."""
    if suspect.kind == GROUP:
        return group_words(suspect.ranks, arrivals)
    node = arrivals.nodes[suspect.node] if arrivals.nodes else str(suspect.node)
    several = len(set(arrivals.node_of)) > 1
    if suspect.kind == NODE:
        return f"node {node} ({_ranks(suspect.ranks)})"
    return f"{_ranks(suspect.ranks)} on node {node}" if several else _ranks(suspect.ranks)


def group_words(ranks: Sequence[int], arrivals: Arrivals) -> str:
    """Return `ranks 0-7`; where these are all ranks of some nodes `nodes n0, n1 (ranks 0-7)`."""
    nodes = nodes_of(tuple(ranks), arrivals.node_of)
    if not nodes or len(set(arrivals.node_of)) == 1:
        return _ranks(ranks)
    names = [arrivals.nodes[node] if arrivals.nodes else str(node) for node in nodes]
    more = [f"{len(names) - MOST_NODES} more"] if len(names) > MOST_NODES + 1 else []
    shown = [*names[:MOST_NODES], *more] if more else names
    return f"node{'s' * (len(names) > 1)} {', '.join(shown)} ({_ranks(ranks)})"


def often_words(suspect: Suspect) -> str:
    """Return `in every 10th step`, `in 33 % of steps`; empty where it is late in all of them."""
    if suspect.every:
        return f"in every {_ordinal(suspect.every)} step"
    return f"in {percent(suspect.late_share)} of steps" if suspect.late_share < 1 else ""


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def since_words(suspect: Suspect, judged: Judged) -> str:
    """Return `since step 420, minute 7.0`, `from step 420 to step 460`; empty if always."""
    begins, ends = suspect.from_step > 0, suspect.to_step < judged.report.steps
    first, last = _moment(suspect.from_step, judged.arrivals), _moment(suspect.to_step, judged.arrivals)
    if begins and ends:
        return f"from {first} to {last}"
    return f"since {first}" if begins else f"until {last}" if ends else ""


def p_words(p_value: float) -> str:
    """Return `p < 1e-09`, `p = 0.0032`."""
    return f"p < {LEAST_P:.0e}" if p_value < LEAST_P else f"p = {p_value:.2g}"


def idle_words(idle_rank_s: float) -> str:
    """Format `12.4 rank-hours`, or rank-seconds if little."""
    if idle_rank_s >= HOUR_S:
        return f"{three_digits(idle_rank_s / HOUR_S)} rank-hours"
    return f"{three_digits(idle_rank_s)} rank-seconds"


def _suspect_sentences(suspect: Suspect, judged: Judged) -> list[str]:
    if suspect.kind == GROUP:
        return _group_sentences(suspect, judged)
    return _at_times_sentences(suspect, judged) if suspect.late_share < 1 else _steady_sentences(suspect, judged)


def _cost_words(suspect: Suspect, without: str, these: str) -> str:
    with_s, without_s = format_time(suspect.step_with_s), format_time(suspect.step_without_s)
    return (
        f"costs {percent(suspect.cost_share)} of the time of all steps; without {without} the median step{these} "
        f"takes {without_s} instead of {with_s}, and all steps together {_duration(suspect.saved_s)} less"
    )


def _group_sentences(suspect: Suspect, judged: Judged) -> list[str]:
    """Describe two groups: the slower one, by how much, and its cost."""
    report, arrivals = judged.report, judged.arrivals
    late_s, others = suspect.slower_by * report.undisturbed_s, len(judged.arrivals.node_of) - len(suspect.ranks)
    fast = [rank for rank in range(report.ranks) if rank not in set(suspect.ranks)]
    return [
        (
            f"the ranks are two groups: {name_of(suspect, arrivals)} are {percent(suspect.slower_by)} slower than "
            f"{group_words(fast, arrivals)}, which {_cost_words(suspect, 'that', '')}"
        ),
        (
            f"the {len(suspect.ranks)} slower ranks are ready {format_time(late_s)} later than the other {others}, of "
            f"a step that takes {format_time(report.undisturbed_s)} without late ranks; the groups lie "
            f"{z_words(suspect.z)} standard deviations of their ranks apart"
        ),
        f"that explains {percent(suspect.explains_share)} of the lasting wait",
    ]


def _at_times_sentences(suspect: Suspect, judged: Judged) -> list[str]:
    """Describe a rank that is late in some of its steps."""
    report = judged.report
    late_s = suspect.slower_by * report.undisturbed_s
    regular = f", {percent(suspect.late_share)} of all," * bool(suspect.every)
    return [
        f"{name_of(suspect, judged.arrivals)} is late {often_words(suspect)} and"
        f" {_cost_words(suspect, 'that', ' of these steps')}",
        (
            f"in these steps{regular} it is ready {format_time(late_s)} later than usual, "
            f"{percent(suspect.slower_by)} of a step without late ranks ({format_time(report.undisturbed_s)}), and "
            f"arrives last in {percent(suspect.last_share)} of them; robust z {z_words(suspect.z)}"
        ),
        f"it explains {percent(suspect.explains_share)} of the wait that is no chance",
        *_machine_sentences(suspect, judged),
    ]


def _steady_sentences(suspect: Suspect, judged: Judged) -> list[str]:
    report = judged.report
    who, since = name_of(suspect, judged.arrivals), since_words(suspect, judged)
    slower_by = format_time(suspect.slower_by * report.undisturbed_s)
    late = f"it is ready {slower_by} later than the median rank"
    of_step = f"{percent(suspect.slower_by)} of a step without late ranks ({format_time(report.undisturbed_s)})"
    last = " ".join(filter(None, [f"arrives last in {percent(suspect.last_share)} of steps", since]))
    by_chance = f"by chance it would be last in {percent(len(suspect.ranks) / report.ranks)} of steps"
    return [
        f"{who} {last} and {_cost_words(suspect, 'it', ' of these steps' * bool(since))}",
        f"{late}: {of_step}; robust z {z_words(suspect.z)}; {by_chance}, {p_words(suspect.p_value)}",
        (
            f"it explains {percent(suspect.explains_share)} of the lasting wait: of the waits that stem from a rank "
            "that is late in most steps"
        ),
        *_machine_sentences(suspect, judged),
    ]


def _machine_sentences(suspect: Suspect, judged: Judged) -> list[str]:
    """Describe noteworthy counters of the kernel of its node."""
    state = judged.machines[suspect.node] if suspect.node < len(judged.machines) else NodeState()
    if judged.injected.pattern or not state.is_noteworthy:
        return []
    said = [
        f"its CPUs were throttled (heat or power), up to {state.throttled} times per core" * bool(state.throttled),
        f"a busy core ran at {percent(state.clock)} of its top frequency" * (state.clock < LOW_CLOCK),
        f"other processes used {percent(state.others)} of its hardware threads" * (state.others >= DISTURBED),
        f"the hypervisor took {percent(state.stolen)} of their time" * (state.stolen >= DISTURBED),
    ]
    return [f"on its node, while ranks ran: {'; '.join(filter(None, said))}"]


def _wait_sentences(report: StragglerReport) -> list[str]:
    if not isfinite(report.idle_rank_s) or report.idle_rank_s <= 0:
        return []
    share = f" ({percent(report.wait_share)} of the time of all ranks)" if isfinite(report.wait_share) else ""
    return [f"all ranks together waited {idle_words(report.idle_rank_s)}{share} in {counted(report.steps, 'step')}"]


def _rest_sentences(report: StragglerReport, named: int) -> list[str]:
    """Describe the waiting without a cause."""
    by_chance = report.wait_share - report.lasting_share
    rest = [stall_words(report.stall)] if report.stall else []
    if report.unexplained_share >= 0.005:
        rest.append(f"{percent(report.unexplained_share)} of the lasting wait is unexplained")
    if isfinite(by_chance) and by_chance > 0:
        without = "it" if named == 1 else "them"
        random = percent(by_chance / report.wait_share)
        rest.append(f"{random} of the waiting would remain without {without}: it is random")
    return rest


def _moment(step: int, arrivals: Arrivals) -> str:
    """Return `step 420, minute 7.0`; without a clock of the steps `step 420`."""
    if arrivals.begin_s is None or not 0 <= step < len(arrivals.begin_s):
        return f"step {step}"
    after_s = float(arrivals.begin_s[step] - arrivals.begin_s[0])
    when = f"minute {after_s / MINUTE_S:.1f}" if after_s >= MINUTE_S else f"second {after_s:.3g}"
    return f"step {step}, {when}" if isfinite(after_s) else f"step {step}"


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {format_ranges(ranks)}"


def _duration(seconds: float) -> str:
    return f"{seconds / HOUR_S:.3g} h" if seconds >= HOUR_S else format_time(seconds)


class RankOrder:
    """The ranks of a report, suspects first, then the latest."""

    def __init__(self, judged: Judged):
        report = judged.report
        self.suspects = [rank for suspect in report.suspects for rank in suspect.ranks]
        self.all_shown = {rank for suspect in report.suspects if suspect.kind != GROUP for rank in suspect.ranks}
        late = np.where(np.isfinite(report.slower_by), report.slower_by, -np.inf)
        others = [int(rank) for rank in np.argsort(-late, kind="stable") if rank not in self.suspects]
        first = sorted(dict.fromkeys(self.suspects), key=lambda rank: rank not in self.all_shown)
        self.ranks = [*first, *others]


def table_head(judged: Judged) -> tuple[str, ...]:
    """Return the names of the columns."""
    return (
        (*TABLE_HEAD, SINCE_COLUMN)
        if any(when_words(suspect, judged) for suspect in judged.report.suspects)
        else TABLE_HEAD
    )


def when_words(suspect: Suspect, judged: Judged) -> str:
    """Say in which steps it is slow; empty: in all."""
    return often_words(suspect) or since_words(suspect, judged)


def rank_rows(judged: Judged, most: int = MOST_TABLE_RANKS) -> tuple[list[list[str]], int]:
    """Return the rows below `table_head`, and the number of ranks left out; empty without ready times."""
    if judged.report.silence == NO_READY_TIMES:
        return [], 0
    order = RankOrder(judged)
    shown = order.ranks[: max(most, len(order.all_shown))]
    own = {suspect.ranks[0]: suspect for suspect in judged.report.suspects if suspect.kind == RANK}
    since = {rank: when_words(each, judged) for each in judged.report.suspects for rank in each.ranks}
    has_since = table_head(judged) != TABLE_HEAD
    rows = [_row(judged, rank, own.get(rank)) + [since.get(rank, "")] * has_since for rank in shown]
    return rows, len(order.ranks) - len(shown)


def _row(judged: Judged, rank: int, suspect: Suspect | None) -> list[str]:
    """Return the row of a rank over all steps; of a suspect with the figures of its sentence."""
    report, arrivals = judged.report, judged.arrivals
    node = arrivals.node_of[rank]
    late, z = (suspect.slower_by, suspect.z) if suspect else (float(report.slower_by[rank]), float(report.z[rank]))
    last = suspect.last_share if suspect else float(report.last_count[rank]) / max(1, report.steps)
    p_value = suspect.p_value if suspect else float(report.p_value[rank])
    known = isfinite(late)
    return [
        str(rank),
        arrivals.nodes[node] if arrivals.nodes else str(node),
        _signed_time(late * report.undisturbed_s) if known else "unknown",
        f"{100 * late + 0.0:.1f} %".replace("-0.0 ", "0.0 ") if known else "",
        z_words(z, ".3g" if suspect else ".1f") if isfinite(z) else "",
        f"{100 * last:.3g} %" if suspect else f"{100 * last:.0f} %",
        "" if not isfinite(p_value) else "<1e-9" if p_value < LEAST_P else f"{p_value:.1g}",
        _time(suspect.caused_s if suspect else float(report.caused_s[rank])),
        _time(float(report.suffered_s[rank])) if known else "",
    ]


def _time(time_s: float) -> str:
    return format_time(time_s) if time_s else "0"


def _signed_time(time_s: float) -> str:
    return f"-{format_time(-time_s)}" if time_s < 0 else format_time(time_s)


def left_words(judged: Judged, left: int) -> str:
    """Describe the ranks without a row: `48 ranks more, all less late`; those of a group may be as late."""
    return counted(left, "more rank") + ", all less late" * (not judged.report.groups)


def rank_table(judged: Judged, screen: Screen) -> list[str]:
    """Return the lines of the table, fitted to the screen."""
    rows, left = rank_rows(judged)
    if not rows:
        return []
    columns: list[Column] = columns_of([list(table_head(judged)), *rows], left=(1,), left_out=LEFT_OUT_COLUMNS)
    more = [f"and {left_words(judged, left)}; --format json has every rank"] if left else []
    return [*fitted(columns, screen, "--format json"), *more]

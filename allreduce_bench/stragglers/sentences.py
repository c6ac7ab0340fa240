"""Who arrives late, in a table of suspects and one sentence; or why nobody is named."""

from collections.abc import Sequence
from math import ceil, exp, isfinite, log10
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..machine.core_load import DISTURBED, LOW_CLOCK
from ..runs.folder import RunFolder
from ..tables import Column, Screen, columns_of, fitted
from ..units import counted, few, format_ranges, format_time
from . import verdict
from .arrivals import Arrivals
from .localise import nodes_of
from .run_arrivals import Injected, NodeState, parts_of_run
from .slow_units import FEWEST_WORTH, GROUP, LEAST_SLOWER, NODE
from .verdict import LEAST_COST, LEAST_EXPLAINED, LEAST_WAIT, SingleStall, StragglerReport, Suspect, straggler_report

# Who is named
MOST_NAMED = 4  # suspects in a sentence
MOST_ROWS = 16  # suspects in the table
MOST_NODES = 4  # of a group that are named
TABLE_HEAD = ("suspect", "late", "of a step", "costs", "in all", "cause", "when")
ALWAYS = "in all steps"
LEFT_OUT_COLUMNS = (4, 2, 5)  # columns, in this order, where a screen is narrow
MINUTE_S, HOUR_S = 60.0, 3600.0

# Why nobody is named
MUCH_ALIKE = 5.0  # steps worth one, reported from here on: a lag-1 correlation of 2/3
MOST_STEPS = 1e6  # beyond, more steps are no useful advice
LEAST_P = 1e-9  # smaller p-values are printed as less than this
BESIDE_STALL = (
    verdict.SMALL_WAIT,
    verdict.BELOW_NOISE,
    verdict.NO_SINGLE_CAUSE,
)  # reasons beside which a stall is what the verdict says
HOW_TO_MEASURE = (
    "a run says who arrives late only if ranks work before each call and are stamped before the common start: measure"
    " one with --compute 20ms, or inject lateness with --arrival one-late"
)


class JudgedArrivals(NamedTuple):
    """Arrivals with their report."""

    what: str  # description: `ring, 1 MiB, 8 ranks`; empty: everything
    arrivals: Arrivals
    report: StragglerReport
    machines: tuple[NodeState, ...] = ()  # of each node; empty: not known
    injected: Injected = Injected()  # what the run delayed on purpose
    path: str = ""  # the first of its files
    kind: str = ""


def judge_arrivals(what: str, arrivals: Arrivals, *source: Any) -> JudgedArrivals:
    """Return the arrivals with their report; `source`: the other fields of `ArrivalSource`."""
    return JudgedArrivals(what, arrivals, straggler_report(arrivals), *source)


def sentences_of_run(folder: RunFolder) -> list[str]:
    """Return the verdict on each part of a run, and what was injected. Raises RunError."""
    parts = [judge_arrivals(*part) for part in parts_of_run(folder)]
    told = [(part, [verdict_sentence(part), *injected_sentences(part)]) for part in parts]
    return [f"{part.what}: {sentence}" for part, sentences in told for sentence in sentences]


def verdict_sentences(judged: JudgedArrivals) -> list[str]:
    """Return the verdict, then what a reader must know beside it, where there is something; one sentence each."""
    return [
        verdict_sentence(judged),
        *injected_sentences(judged),
        *([stall_words(stall)] if (stall := judged.report.stall) and judged.report.silence not in BESIDE_STALL else []),
        *machine_sentences(judged),
    ]


def verdict_sentence(judged: JudgedArrivals) -> str:
    """Say who is late and the cost, or why nobody is named."""
    report, arrivals = judged.report, judged.arrivals
    if report.silence:
        if report.stall and report.silence in BESIDE_STALL:
            return f"no rank is slow in many steps, but {stall_words(report.stall)}"
        return f"no rank is named: {silence_words(arrivals, report)}"
    named = report.causes or report.suspects
    names = few((name_of(suspect, arrivals) for suspect in named), MOST_NAMED)
    if not report.causes:
        are = "are late, but not called causes" if len(named) > 1 else "is late, but not called a cause"
        return f"{names} {are}: {_why_no_cause(report)}"
    if len(named) > 1:
        return f"the others wait for {names}; without their lateness steps take {percent(report.cost_share)} less time"
    return f"{_late_words(named[0], judged)} {_cost_words(named[0], judged)}"


def _late_words(suspect: Suspect, judged: JudgedArrivals) -> str:
    """Return `rank 2 arrives last in 83 % of steps since step 40 and`; the verb of the cost follows."""
    name = name_of(suspect, judged.arrivals)
    if suspect.kind == GROUP:
        slow = set(suspect.ranks)
        fast = [rank for rank in range(judged.report.ranks) if rank not in slow]
        others = group_words(fast, judged.arrivals)
        return f"the ranks are two groups: {name} are {percent(suspect.slower_by)} slower than {others}, which"
    if suspect.late_share < 1:
        return f"{name} is late {often_words(suspect)} and"
    last = f"arrives last in {percent(suspect.last_share)} of steps"
    return " ".join(filter(None, [name, last, since_words(suspect, judged), "and"]))


def _cost_words(suspect: Suspect, judged: JudgedArrivals) -> str:
    with_s, without_s = format_time(suspect.step_with_s), format_time(suspect.step_without_s)
    median = "median step" if when_words(suspect, judged) == ALWAYS else "median of these steps"
    return (
        f"costs {percent(suspect.cost_share)} of the time of all steps; without that the {median} takes {without_s} "
        f"instead of {with_s}, and all steps together {_duration(suspect.saved_s)} less"
    )


def _why_no_cause(report: StragglerReport) -> str:
    """Say why suspects are not called a cause."""
    if not any(suspect.stands_out for suspect in report.suspects):
        unlike = f"the {report.ranks} ranks differ by {percent(report.spread_share)} anyway (standard deviation)"
        chance = percent(1 - exp(-min(suspect.expected for suspect in report.suspects)))
        return f"{unlike}, and one of so many is so late by chance in {chance} of jobs"
    explained = 1 - report.unexplained_share
    waiting_share = max(suspect.waiting_share for suspect in report.suspects)
    if waiting_share < LEAST_WAIT:
        wait, least = percent(waiting_share), percent(LEAST_WAIT)
        return f"ranks wait {wait} of these steps for the last one, and {least} is the least"
    if explained < LEAST_EXPLAINED:
        least = percent(LEAST_EXPLAINED)
        return f"all suspects explain {percent(explained)} of the lasting wait, and {least} is the least"
    if report.cost_share < LEAST_COST:
        return f"it costs {percent(report.cost_share)} of the time of all steps, and {percent(LEAST_COST)} is the least"
    return f"all lasting waits are {percent(report.lasting_share)} of the time of all steps"


# What a reader must know beside the verdict


def injected_sentences(judged: JudgedArrivals) -> list[str]:
    """Say what the run injected; empty without injection."""
    injected = judged.injected
    delays = [f"rank {rank} by {format_time(share * injected.compute_s)}" for rank, share in injected.slowdowns]
    delays += [f"--arrival {injected.pattern}"] * bool(injected.pattern)
    return [f"delays were injected: {', '.join(delays)}"] if delays else []


def stall_words(stall: SingleStall) -> str:
    """Return `rank 2 held up step 50 once, for 9.0 s: 99 % of all waiting`."""
    return (
        f"rank {stall.rank} held up step {stall.step} once, for {format_time(stall.wait_s)}: {percent(stall.share)} "
        "of all waiting"
    )


def machine_sentences(judged: JudgedArrivals) -> list[str]:
    """Return what the kernels of the suspects' nodes counted, where that explains lateness; a sentence a node."""
    nodes = dict.fromkeys(suspect.node for suspect in judged.report.suspects if suspect.node >= 0)
    states = [(node, judged.machines[node]) for node in nodes if node < len(judged.machines)]
    return [
        f"on node {_node_name(node, judged.arrivals)}, while ranks ran: {_machine_words(state)}"
        for node, state in states
        if state.is_noteworthy and not judged.injected.pattern
    ]


def _machine_words(state: NodeState) -> str:
    counted = [
        f"CPUs were throttled (heat or power), up to {state.throttled} times per core" * bool(state.throttled),
        f"a busy core ran at {percent(state.clock)} of its top frequency" * (state.clock < LOW_CLOCK),
        f"other processes used {percent(state.others)} of its hardware threads" * (state.others >= DISTURBED),
        f"the hypervisor took {percent(state.stolen)} of their time" * (state.stolen >= DISTURBED),
    ]
    return "; ".join(filter(None, counted))


# Why nobody is named


def silence_words(arrivals: Arrivals, report: StragglerReport) -> str:
    """Say why nobody is named, by the code in `report.silence`."""
    waiting = f"ranks wait {percent(report.waiting_share)} of the time of all steps"
    match report.silence:
        case verdict.ONE_RANK:
            return "one rank alone has nobody to be compared with"
        case verdict.NO_READY_TIMES:
            return "no step has the arrivals of two ranks, as where a program never calls ready()"
        case verdict.TOO_FEW_STEPS:
            return f"{counted(report.steps, 'step')} with the arrivals of two ranks cannot tell a slow rank from chance"
        case verdict.BELOW_CLOCK:
            return (
                f"the clocks of the ranks agree to {format_time(arrivals.clock_error_s)} only; no rank is later than "
                f"the others by three times that, {_of_a_step(report.clock_share)}"
            )
        case verdict.TOO_ALIKE:
            return (
                "ranks that are late in a step are late in the next ones, too, as ranks are that drift: "
                f"{report.steps} steps say as much as {report.worth_steps:.2g} independent ones, and {FEWEST_WORTH} "
                f"are the least{_needed_words(report)}"
            )
        case verdict.SMALL_WAIT:
            return f"{waiting} for the last one; a cause is named where that is {percent(LEAST_WAIT)} or more"
        case verdict.BELOW_NOISE:
            return (
                f"{waiting} for the last one, but none is late so much and so steadily that it is not chance"
                f"{_latest_words(report)}{_worth_words(report)}"
            )
    late = np.flatnonzero(np.nan_to_num(report.slower_by) >= LEAST_SLOWER).tolist()
    if report.ranks > 2 and 2 * len(late) >= report.ranks:
        return (
            f"ranks {format_ranges(late)} are late alike, half or more of all {report.ranks} ranks, so that nobody "
            "can say which half is slow"
        )
    if report.often_last:
        alone = "but its median lateness does not stand out from that of the others"
        return f"{_often_last_words(report)}, {alone if len(report.often_last) == 1 else 'and no rank stands out'}"
    return f"{waiting} and differ lastingly, but no rank and no node stands out from the others{_latest_words(report)}"


def _worth_words(report: StragglerReport) -> str:
    """Say how many independent steps the steps are worth, and how many are needed; empty if nearly independent."""
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


def _often_last_words(report: StragglerReport) -> str:
    """Return `ranks 2, 3 arrive last often (54 %, 45 % of steps, p < 1e-09)`."""
    ranks = report.often_last[:MOST_NAMED]
    shares = ", ".join(percent(float(report.last_count[rank]) / report.steps) for rank in ranks)
    p_value = max(LEAST_P, float(report.p_value[list(ranks)].max()))
    who = f"ranks {', '.join(map(str, ranks))} arrive" if len(ranks) > 1 else f"rank {ranks[0]} arrives"
    return f"{who} last often ({shares} of steps, p < {10 ** ceil(log10(p_value)):.0e})"


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


# Names, times and shares


def percent(share: float) -> str:
    """Format `11.8 %`; below 1 % with one significant digit."""
    value = 100 * share
    if not isfinite(value):
        return "an unknown share"
    return f"{value:.0f} %" if value >= 99.95 else f"{value:.3g} %" if value >= 1 else f"{value:.1g} %"


def name_of(suspect: Suspect, arrivals: Arrivals) -> str:
    """Return `rank 5 on node n3`, `node n3 (ranks 4-7)`; of a group `ranks 0-7`, `nodes n0, n1 (ranks 0-7)`."""
    if suspect.kind == GROUP:
        return group_words(suspect.ranks, arrivals)
    node = _node_name(suspect.node, arrivals)
    if suspect.kind == NODE:
        return f"node {node} ({_ranks(suspect.ranks)})"
    return f"{_ranks(suspect.ranks)} on node {node}" if len(set(arrivals.node_of)) > 1 else _ranks(suspect.ranks)


def group_words(ranks: Sequence[int], arrivals: Arrivals) -> str:
    """Return `ranks 0-7`; where these are all ranks of some nodes `nodes n0, n1 (ranks 0-7)`."""
    nodes = nodes_of(tuple(ranks), arrivals.node_of)
    if not nodes or len(set(arrivals.node_of)) == 1:
        return _ranks(ranks)
    most = MOST_NODES + (len(nodes) == MOST_NODES + 1)
    names = few((_node_name(node, arrivals) for node in nodes), most, more=", {more} more")
    return f"node{'s' * (len(nodes) > 1)} {names} ({_ranks(ranks)})"


def _node_name(node: int, arrivals: Arrivals) -> str:
    return arrivals.nodes[node] if arrivals.nodes else str(node)


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {format_ranges(ranks)}"


def when_words(suspect: Suspect, judged: JudgedArrivals) -> str:
    """Say in which steps it is slow."""
    return often_words(suspect) or since_words(suspect, judged) or ALWAYS


def often_words(suspect: Suspect) -> str:
    """Return `in every 10th step`, `in 33 % of steps`; empty where it is late in all of them."""
    if suspect.every:
        return f"in every {_ordinal(suspect.every)} step"
    return f"in {percent(suspect.late_share)} of steps" if suspect.late_share < 1 else ""


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def since_words(suspect: Suspect, judged: JudgedArrivals) -> str:
    """Return `since step 420, minute 7.0`, `from step 420 to step 460`; empty if always."""
    begins, ends = suspect.from_step > 0, suspect.to_step < judged.report.steps
    first, last = _moment(suspect.from_step, judged.arrivals), _moment(suspect.to_step, judged.arrivals)
    if begins and ends:
        return f"from {first} to {last}"
    return f"since {first}" if begins else f"until {last}" if ends else ""


def _moment(step: int, arrivals: Arrivals) -> str:
    """Return `step 420, minute 7.0`; without a clock of the steps `step 420`."""
    if arrivals.begin_s is None or not 0 <= step < len(arrivals.begin_s):
        return f"step {step}"
    after_s = float(arrivals.begin_s[step] - arrivals.begin_s[0])
    when = f"minute {after_s / MINUTE_S:.1f}" if after_s >= MINUTE_S else f"second {after_s:.3g}"
    return f"step {step}, {when}" if isfinite(after_s) else f"step {step}"


def _duration(seconds: float) -> str:
    return f"{seconds / HOUR_S:.3g} h" if seconds >= HOUR_S else format_time(seconds)


# The table


def suspect_rows(judged: JudgedArrivals) -> list[list[str]]:
    """Return a row of TABLE_HEAD for each suspect, what explains most of the wait first."""
    return [
        [
            name_of(suspect, judged.arrivals),
            format_time(suspect.slower_by * judged.report.undisturbed_s),
            percent(suspect.slower_by),
            percent(suspect.cost_share),
            _duration(suspect.saved_s) if suspect.saved_s else "0",
            "yes" if suspect.is_cause else "no",
            when_words(suspect, judged),
        ]
        for suspect in judged.report.suspects[:MOST_ROWS]
    ]


def left_words(judged: JudgedArrivals) -> str:
    """Return `12 more suspects`; empty if the table has all of them."""
    left = len(judged.report.suspects) - MOST_ROWS
    return counted(left, "more suspect") if left > 0 else ""


def suspect_table(judged: JudgedArrivals, screen: Screen) -> list[str]:
    """Return the lines of the table, fitted to the screen; empty without suspects."""
    rows = suspect_rows(judged)
    if not rows:
        return []
    columns: list[Column] = columns_of([list(TABLE_HEAD), *rows], left=(0, 5, 6), text=6, left_out=LEFT_OUT_COLUMNS)
    left = left_words(judged)
    return [*fitted(columns, screen, "--format json"), *([f"and {left}; --format json has every one"] if left else [])]

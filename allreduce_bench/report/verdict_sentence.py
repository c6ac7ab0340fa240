"""Sentences of verdicts and grades; for a single algorithm, about its times alone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log2, sqrt
from pathlib import Path
from typing import Any, NamedTuple

from ..evaluation.grade import ENOUGH_LAUNCHES, GOOD, MOST_FACTOR, Grade, Reason
from ..evaluation.rounds import FEWEST_ROUNDS, NEGLIGIBLE
from ..evaluation.single_algorithm import Contrast, Performance, contrasts, directions_words
from ..evaluation.summary_row import Noise, SummaryRow
from ..evaluation.verdict import (
    ALL_EQUAL,
    ALONE,
    DOUBTED,
    FEW_LAUNCHES,
    NOISE,
    ONE,
    UNRELIABLE,
    Advantage,
    Change,
    HandOver,
    Probable,
    Stretch,
    Verdict,
)
from ..runs.competitor import NATIVE, NATIVES
from ..stats import launch_confidence
from ..units import as_printed, few, format_size, format_time, in_ranks, printable, three_digits

# words
MOST_NAMED = 4  # algorithms in one sentence
CROSSOVER = "crossover"
MARGIN = f"{NEGLIGIBLE - 1:.0%}".replace("%", " %")
REASONS = {
    ONE: "fewer than two algorithms have a time that can be ranked",
    ALONE: "no algorithm is the fastest at two neighbouring sizes",
    FEW_LAUNCHES: f"{FEWEST_ROUNDS} launches or more are needed (--launches {FEWEST_ROUNDS})",
    ALL_EQUAL: f"all algorithms are equal within {MARGIN}",
    UNRELIABLE: "the times are not reliable (see the grade)",
    DOUBTED: "an algorithm that is not ranked may be the fastest",
    NOISE: "the difference between launches exceeds that between algorithms; use more launches (--launches)",
}
MOST_OF_LATENCY = 4096  # bytes: the time of a larger size is mostly bandwidth, not latency


class Line(NamedTuple):
    """A sentence of a verdict."""

    lead: str  # set in bold by a page
    rest: str = ""

    def __str__(self) -> str:
        return f"{self.lead}{self.rest}"


def lines(verdict: Verdict) -> list[Line]:
    """Return `ring at 8 B: 2.00 times as fast as native (1.81 in the worst of 5 launches), 10.0 us`, and so on."""
    changes = [_change_line(change) for change in verdict.changes]
    if verdict.native:
        one_of = "one of " if len(verdict.native) > 1 else ""
        changes = [Line(NATIVE, f" ran {one_of}{few(verdict.native, MOST_NAMED)}")]
    if verdict.alone:
        return [Line(verdict.alone.algorithm, f": {performance_words(verdict.alone)}"), *changes]
    if not verdict.stretches:
        probably = f"; probably {', '.join(map(_probable_words, verdict.probable))}" if verdict.probable else ""
        return [Line("no winner", f": {REASONS[verdict.reason]}{probably}"), *_single_lines(verdict), *changes]
    unclear = ", ".join(map(format_size, verdict.unclear))
    return [
        *(_stretch_line(stretch, verdict.grade) for stretch in verdict.stretches),
        *(
            _hand_over_line(over, before, after)
            for over, before, after in zip(verdict.hand_overs, verdict.stretches, verdict.stretches[1:])
            if over
        ),
        *changes,
        *_single_lines(verdict),
        *([Line("no winner", f" at {unclear}")] if unclear else []),
    ]


def _single_lines(verdict: Verdict) -> list[Line]:
    """Return `fastest at a single size: ring at 1 MiB`."""
    named = ", ".join(f"{name} at {format_size(size_bytes)}" for size_bytes, name in verdict.single)
    return [Line("fastest at a single size", f": {named}")] if named else []


def _stretch_line(stretch: Stretch, grade: str) -> Line:
    first, *near = stretch.leaders
    where = f" {sizes_words(stretch)}"
    ratio = advantage_words(stretch.advantage, grade, first in NATIVES)
    time = f"{format_time(stretch.time_s)} at {format_size(stretch.high)}"
    note = f" (not ranked at all of these sizes: {few(stretch.absent, MOST_NAMED)})" if stretch.absent else ""
    if stretch.is_won:
        return Line(first, f"{where}: {', '.join(filter(None, [ratio, time]))}{note}")
    then = f"{first} is {ratio}, {time}" if ratio else f"{first} takes {time}"
    if not near:
        return Line("no winner", f"{where}, but every algorithm except {first} is slower at some size; {then}{note}")
    relation = f"equal within {MARGIN}" if stretch.is_equal else "which cannot be distinguished"
    among = f" among {few(stretch.leaders, MOST_NAMED)}, {relation}"
    return Line("no single winner", f"{where}{among}; {then}{note}")


def _probable_words(probable: Probable) -> str:
    """Return `ring from 1 MiB to 16 MiB`, `native at 8 B`."""
    low, high = format_size(probable.low), format_size(probable.high)
    return f"{probable.name} {f'at {low}' if low == high else f'from {low} to {high}'}"


def _hand_over_line(over: HandOver, before: Stretch, after: Stretch) -> Line:
    at = f"about {_rounded_size(over.size_bytes)}, between {format_size(over.low)} and {format_size(over.high)}"
    return Line(CROSSOVER, f" from {leaders_words(before)} to {leaders_words(after)}: {at}")


def _change_line(change: Change) -> Line:
    before, after = either(change.before), either(change.after)
    low, high = format_size(change.low), format_size(change.high)
    return Line(NATIVE, f" changes from {before} to {after} between {low} and {high}")


def either(names: Sequence[str]) -> str:
    """Return `ring`, `ring or tree`, `ring, tree or recexch`."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def advantage_words(advantage: Advantage | None, grade: str, is_second: bool = False) -> str:
    """Return `1.60 to 2.00 times as fast as native (1.30 in the worst of 5 launches)`; empty without a rival.

    `is_second`: the rival is the second fastest, and is called so. Beyond MOST_FACTOR, a grade that is not good
    withholds the number.
    """
    if advantage is None:
        return ""

    def text(factor: float) -> str:
        return f"more than {MOST_FACTOR}" if factor > MOST_FACTOR and grade != GOOD else three_digits(factor)

    second = "the second fastest" if advantage.rival else "the second fastest at each size"
    rival = ", ".join(filter(None, [advantage.rival, second])) if is_second or not advantage.rival else advantage.rival
    factors = [printed_factor(*times_s) for times_s in advantage.times_s]
    times = " to ".join(dict.fromkeys((text(min(factors)), text(max(factors)))))
    worst = f"{text(min(advantage.worst, *factors))} in the worst of {advantage.launches} launches"
    return f"{times} times as fast as {rival} ({worst})"


def printed_factor(slower_s: float, faster_s: float) -> float:
    """Return how many times longer the first time takes than the second.

    Computed from the times as tables print them, so that readers get the same digits.
    """
    return as_printed(slower_s) / as_printed(faster_s)


def confidence(launches: int) -> str:
    """Return the confidence of an interval over launches: `94 %` of 5."""
    return f"{launch_confidence(launches):.0%}".replace("%", " %")


def sizes_words(stretch: Stretch) -> str:
    """Return `at 8 B`, `from 32 B to 4 KiB except 1 KiB`."""
    return f"{'at' if stretch.low == stretch.high else 'from'} {span_words(stretch)}"


def span_words(stretch: Stretch) -> str:
    """Return `8 B`, `32 B to 4 KiB except 1 KiB`."""
    low, high = format_size(stretch.low), format_size(stretch.high)
    but = f" except {', '.join(map(format_size, stretch.exceptions))}" if stretch.exceptions else ""
    return low if low == high else f"{low} to {high}{but}"


def leaders_words(stretch: Stretch) -> str:
    """Return the winner; of several leaders `ring or tree`, of many `others`."""
    if stretch.is_won:
        return stretch.leaders[0]
    return " or ".join(stretch.leaders) if len(stretch.leaders) <= MOST_NAMED else "others"


def _rounded_size(size_bytes: float) -> str:
    """Format `13 KiB`: two digits, as precise as it is known."""
    unit = 1024 ** (int(log2(size_bytes)) // 10)
    return format_size(unit * (round(size_bytes / unit) if size_bytes >= 10 * unit else round(size_bytes / unit, 1)))


def performance_words(found: Performance) -> str:
    """Return `latency 17.9 us at 8 B, peak bus bandwidth 123 GB/s at 128 MiB`."""
    time = f"{format_time(found.latency_s)} at {format_size(found.latency_nbytes)}"
    latency = f"latency {time}" if found.latency_nbytes <= MOST_OF_LATENCY else time
    rate = f"{three_digits(found.peak_busbw_bytes_per_s / 1e9)} GB/s"
    some = f" (of {found.ranked} of {found.sizes} sizes: times of the others are not ranked)"
    beside = some if found.ranked < found.sizes else ""
    return f"{latency}, peak bus bandwidth {rate} at {format_size(found.peak_nbytes)}{beside}"


def contrast_sentences(rows: Sequence[SummaryRow], attempts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each contrast of the rows; `attempts`: the facts of the launches."""
    return list(map(_contrast_sentence, contrasts(rows, sources_of(attempts))))


def _contrast_sentence(contrast: Contrast) -> str:
    """Return `new.log compared with old.log: 25 of 25 slower, 1.6 to 25 times (most: 32 MiB); no interval`."""
    words = directions_words(contrast.directions, NEGLIGIBLE - 1)
    return f"{contrast.other} compared with {contrast.base}: {words}; no interval"


def sources_of(attempts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return launch -> name of its log, of an imported run; if logs share names, what identifies the launch."""
    sources = {fact["launch"]: fact["source"] for fact in attempts if fact.get("source")}
    names = {launch: Path(str(source["files"][0])).name for launch, source in sources.items() if source.get("files")}
    if len(set(names.values())) < len(sources):
        names = {launch: str(source["launch"]) for launch, source in sources.items()}
    return {launch: printable(name) for launch, name in names.items()}


# A grade as a sentence: all its reasons, each with advice


TAKE_MORE = f"use {ENOUGH_LAUNCHES} launches or more"
MEASURE_ALL = f"measure all of them in {ENOUGH_LAUNCHES} launches or more"
UNKNOWN = {"load": "load unknown", "ports": "port counters unknown"}
LOOKED_AT = "have the cables, the cards and the switch checked"


def sentence(grade: Grade) -> str:
    """Return `grade: provisional: 1 launch (use 5 launches or more); other processes used 8 % of the cores (...)`."""
    return f"grade: {grade.level}{reasons_words(grade)}"


def reasons_words(grade: Grade) -> str:
    """Return `: 1 launch (use 5 launches or more); 2 nodes pretended (...)`, every reason; empty: no reason."""
    parts = [f"{text} ({advice})" for text, advice in map(reason_words, grade.reasons)]
    parts += [UNKNOWN[name] for name in grade.unknown]
    return f": {'; '.join(parts)}" if parts else ""


def noise_sentence(noise: Noise) -> str:
    """Return `noise: other activity took 1.2 % of the time of a test loop; a step of 50.1 us took up to 3.10 ms`."""
    quantum, longest = format_time(noise.quantum_s), format_time(noise.max_s)
    took = f"other activity took {100 * noise.lost:.2g} % of the time of a test loop"
    return f"noise: {took}; a step of {quantum} took up to {longest}"


def noise_of_all(rows: Iterable[SummaryRow]) -> str:
    """Return the sentence of the rank count that lost most, and that count: for a page; empty: none was measured."""
    noises = {row["ranks"]: noise for row in rows if (noise := row["grading"].noise)}
    if not noises:
        return ""
    ranks = max(noises, key=lambda ranks: noises[ranks].lost)
    return f"{noise_sentence(noises[ranks])} ({in_ranks([ranks])})"


class GradeLine(NamedTuple):
    """The line of a page about rank counts that have one grade for the same reasons."""

    level: str
    where: str  # `2, 4 ranks`
    reasons: str  # as `reasons_words` has them


def grade_lines(rows: Iterable[SummaryRow]) -> list[GradeLine]:
    """Return a line for every grade with its reasons, in the order of the rank counts."""
    ranks_of: dict[tuple[str, str], list[int]] = {}
    for ranks, grade in {row["ranks"]: row["grading"] for row in rows}.items():
        ranks_of.setdefault((grade.level, reasons_words(grade)), []).append(ranks)
    return [GradeLine(level, in_ranks(ranks), reasons) for (level, reasons), ranks in ranks_of.items()]


def reason_words(reason: Reason) -> tuple[str, str]:
    """Return the finding and the advice."""
    finding, advice = WORDS[reason.code]
    return finding(reason), advice(reason) if callable(advice) else advice


def _count(number: float, noun: str) -> str:
    """Return `1 launch`, `2 launches`."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:g} {noun if number == 1 else plural}"


def _per_cent(share: float) -> str:
    return f"{100 * share:.{1 if share < 0.01 else 0}f} %"


def _too_many_ranks(reason: Reason) -> str:
    if reason.limit is None:
        return f"{_count(reason.value, 'rank')}, more than the number of cores"
    return f"{_count(reason.value, 'rank')} on {_count(reason.limit, 'usable core')}"


def _launches(reason: Reason) -> str:
    if reason.limit is None:
        return _count(reason.value, "launch")
    return f"some cells have {reason.value:g} of {_count(reason.limit, 'launch')}"


def _more_launches(reason: Reason) -> str:
    return TAKE_MORE if reason.limit is None else MEASURE_ALL


def _fewer_ranks(reason: Reason) -> str:
    return "start fewer ranks" if reason.limit is None else f"start at most {max(1, int(reason.limit))} per node"


def _median_interval(reason: Reason) -> str:
    """Return `median confidence interval ±14 %`, of an upper end that is 1.29 times the lower one.

    The half-width is that about the geometric middle of the interval, `sqrt(upper / lower) - 1`: the time may be that
    much more, or less by the same factor. From 100 % on it is said as this factor. How confident it is stands beside
    the times: it depends on their number of launches.
    """
    factor = sqrt(reason.value)
    half = f" ±{_per_cent(factor - 1)}" if factor < 2 else f": a factor of {three_digits(factor)} either way"
    return f"median confidence interval{half}"


Words = str | Callable[[Reason], str]
WORDS: dict[str, tuple[Callable[[Reason], str], Words]] = {  # for each of CRITERIA: what was found, what to do
    "wrong": (
        lambda reason: f"{_count(reason.value, 'cell')} with wrong results",
        "do not use them; report them to the author of the algorithm",
    ),
    "refused": (
        lambda reason: f"{_count(reason.value, 'cell')} refused, whose steps are no all-reduce",
        "correct the algorithm; verify shows where it fails",
    ),
    "unmeasured": (lambda reason: "no cell has a time", "see the reasons below"),
    "others": (
        lambda reason: f"other processes used {_per_cent(reason.value)} of the cores",
        "stop them, or add --wait-idle 10m",
    ),
    "stolen": (
        lambda reason: f"the hypervisor took {_per_cent(reason.value)} of the CPU time (steal)",
        "measure on a host with dedicated cores",
    ),
    "few_launches": (_launches, _more_launches),
    "oversubscribed": (_too_many_ranks, _fewer_ranks),
    "pretended": (
        lambda reason: f"{_count(reason.value, 'node')} pretended, not physical",
        "use it to compare schedules, not networks",
    ),
    "doubted": (
        lambda reason: f"{_per_cent(reason.value)} of the cells are doubtful",
        "see the warnings of the report",
    ),
    "launch_states": (
        lambda reason: f"bimodal launches (two levels) at {_per_cent(reason.value)} of the cells",
        "find out what changes from launch to launch",
    ),
    "wide": (
        _median_interval,
        "use more --launches or --iters",
    ),
    "calls": (lambda reason: f"{_count(reason.value, 'call')} per cell and launch", "use more --iters"),
    "throttled": (
        lambda reason: f"CPUs were throttled on {_count(reason.value, 'node')}",
        "check the cooling and the power limits",
    ),
    "port_errors": (lambda reason: f"network port errors on {_count(reason.value, 'node')}", LOOKED_AT),
    "degraded": (lambda reason: f"a degraded link on {_count(reason.value, 'node')}", LOOKED_AT),
    "launches": (_launches, _more_launches),
    "size_sets": (
        lambda reason: f"sizes in {_count(reason.value, 'set')}, long ones later, not all in random order",
        "leave --within out, or allow more time",
    ),
}

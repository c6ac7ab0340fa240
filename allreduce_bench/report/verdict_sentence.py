"""Sentences of a verdict: who is the fastest at which sizes, by how much, and what of it a user can set."""

from collections.abc import Sequence
from math import log2

from ..evaluation.grade import GOOD, MOST_FACTOR
from ..evaluation.rounds import FEWEST_ROUNDS, NEGLIGIBLE
from ..evaluation.settable import Settable
from ..evaluation.single_algorithm import Performance
from ..evaluation.verdict import (
    ALL_EQUAL,
    ALONE,
    DOUBTED,
    FEW_LAUNCHES,
    NOISE,
    ONE,
    UNRELIABLE,
    Advantage,
    HandOver,
    Stretch,
    Verdict,
)
from ..identifying.evidence import either
from ..runs.competitor import NATIVES
from ..stats import launch_confidence
from ..units import as_printed, counted, few, format_size, format_time, in_ranks, significant, three_digits

MOST_NAMED = 4  # algorithms in one sentence
MOST_OF_LATENCY = 4096  # bytes: the time of a larger size is mostly bandwidth, not latency
DIGITS = 2  # of a factor
MARGIN = f"{NEGLIGIBLE - 1:.0%}".replace("%", " %")
REASONS = {
    ONE: "fewer than two algorithms have a time that can be ranked",
    ALONE: "no algorithm is the fastest at two neighbouring sizes",
    FEW_LAUNCHES: f"{FEWEST_ROUNDS} launches or more are needed (--launches {FEWEST_ROUNDS})",
    ALL_EQUAL: f"all algorithms are equal within {MARGIN}",
    UNRELIABLE: "the times are not reliable (see the grade)",
    DOUBTED: "an algorithm that is not ranked may be the fastest",
    NOISE: "launches differ by more than algorithms do; use more launches (--launches)",
}


def verdict_sentence(verdict: Verdict) -> str:
    """Return `4 ranks: native up to 128 B. ring from 1 KiB to 2 MiB: 1.6 to 2.0 times as fast as native (...). ...`."""
    return f"{in_ranks([verdict.ranks])}: {' '.join(verdict_sentences(verdict))}"


def verdict_sentences(verdict: Verdict) -> list[str]:
    """Return a sentence for each stretch, then one about the other sizes; of a single algorithm one about its times."""
    if verdict.alone:
        return [f"{verdict.alone.algorithm}: {performance_words(verdict.alone)}."]
    found = [_stretch_sentence(stretch, verdict) for stretch in verdict.stretches]
    if not found:
        probable = ", ".join(f"{one.name} {range_words(one.low, one.high)}" for one in verdict.probable)
        found = [f"No winner: {REASONS[verdict.reason]}.", *([f"Probably {probable}."] if probable else [])]
    if verdict.single:
        singles = ", ".join(f"{name} at {format_size(size_bytes)}" for size_bytes, name in verdict.single)
        found.append(f"At one size only: {singles}.")
    if verdict.stretches and verdict.unclear:
        found.append(f"No winner: {', '.join(map(format_size, verdict.unclear))}.")
    return found


def performance_words(found: Performance) -> str:
    """Return `latency 17.9 us at 8 B, peak bus bandwidth 123 GB/s at 128 MiB`."""
    time = f"{format_time(found.latency_s)} at {format_size(found.latency_nbytes)}"
    latency = f"latency {time}" if found.latency_nbytes <= MOST_OF_LATENCY else time
    rate = f"{three_digits(found.peak_busbw_bytes_per_s / 1e9)} GB/s"
    some = f" (of {found.ranked} of {found.sizes} sizes: times of the others are not ranked)"
    beside = some if found.ranked < found.sizes else ""
    return f"{latency}, peak bus bandwidth {rate} at {format_size(found.peak_nbytes)}{beside}"


def _stretch_sentence(stretch: Stretch, verdict: Verdict) -> str:
    """Return `ring from 128 KiB to 2 MiB: 1.6 to 2.0 times as fast as native (1.3 in the worst of 5 launches).`."""
    where = _sizes_words(stretch, verdict.sizes)
    absent = f" (at some sizes without a ranked time: {few(stretch.absent, MOST_NAMED)})" if stretch.absent else ""
    advantage = advantage_words(stretch.advantage, verdict.grade)
    is_contradicted = not stretch.is_won and stretch.advantage and stretch.advantage.worst <= 1
    if stretch.leaders[0] in NATIVES or is_contradicted:
        advantage = ""  # whoever does nothing has native; a factor that some launch contradicts is none
    how_much = f": {advantage}" if advantage else ""
    if stretch.is_won:
        return f"{stretch.leaders[0]} {where}{absent}{how_much}."
    if len(stretch.leaders) == 1:
        return f"No winner {where}: {stretch.leaders[0]} is nowhere slower{absent}{how_much.replace(':', ',', 1)}."
    relation = "equal" if stretch.is_equal else "not told apart"
    return f"{join_with_or(stretch.leaders)} ({relation}) {where}{absent}{how_much}."


def join_with_or(names: Sequence[str]) -> str:
    """Return `ring`, `ring or tree`, `ring, tree or recexch`; of many `a, b, c, d and 2 more`."""
    return few(names, MOST_NAMED) if len(names) > MOST_NAMED else either(names)


def advantage_words(advantage: Advantage | None, grade: str) -> str:
    """Return `1.6 to 2.0 times as fast as native (1.3 in the worst of 5 launches)`; empty without a rival.

    Beyond MOST_FACTOR, a grade that is not good withholds the number.
    """
    if advantage is None:
        return ""
    factors = [printed_factor(*times_s) for times_s in advantage.times_s]
    rival = advantage.rival or "the second fastest"
    return times_as_fast(min(factors), max(factors), rival, advantage.worst, advantage.launches, grade)


def times_as_fast(least: float, most: float, rival: str, worst: float, launches: int, grade: str) -> str:
    """Return how many times as fast as `rival`: from `least` to `most`, and in the worst launch."""

    def text(factor: float) -> str:
        return f"more than {MOST_FACTOR}" if factor > MOST_FACTOR and grade != GOOD else significant(factor, DIGITS)

    times = " to ".join(dict.fromkeys((text(least), text(most))))
    return f"{times} times as fast as {rival} ({text(min(worst, least))} in the worst of {counted(launches, 'launch')})"


def printed_factor(slower_s: float, faster_s: float) -> float:
    """Return how many times longer the first time takes than the second.

    Computed from the times as tables print them, so that readers get the same digits.
    """
    return as_printed(slower_s) / as_printed(faster_s)


def confidence(launches: int) -> str:
    """Return the confidence of an interval over launches: `94 %` of 5."""
    return f"{launch_confidence(launches):.0%}".replace("%", " %")


def _sizes_words(stretch: Stretch, sizes: Sequence[int]) -> str:
    """Return `up to 4 KiB except 1 KiB`, `from 128 KiB to 2 MiB`, `at 8 B`, `at all sizes`; `sizes`: all that count."""
    if len(sizes) > 1 and (stretch.low, stretch.high, stretch.exceptions) == (sizes[0], sizes[-1], ()):
        return "at all sizes"
    is_first = bool(sizes) and stretch.low == sizes[0] < stretch.high
    but = f" except {', '.join(map(format_size, stretch.exceptions))}" if stretch.exceptions else ""
    return f"{range_words(0 if is_first else stretch.low, stretch.high)}{but}"


def range_words(low: int, high: int) -> str:
    """Return `at 8 B`, `from 8 B to 4 KiB`, for a `low` of 0 `up to 4 KiB`; bytes."""
    if low == high:
        return f"at {format_size(high)}"
    return f"from {format_size(low)} to {format_size(high)}" if low else f"up to {format_size(high)}"


def crossover_words(over: HandOver) -> str:
    """Return `native to ring: about 25 KiB, between 1 KiB and 128 KiB`."""
    between = f"between {format_size(over.low)} and {format_size(over.high)}"
    return f"{over.before} to {over.after}: about {_rounded_size(over.size_bytes)}, {between}"


def _rounded_size(size_bytes: float) -> str:
    """Format `13 KiB`: two digits, as precise as it is known."""
    unit = 1024 ** (int(log2(size_bytes)) // 10)
    return format_size(unit * round(size_bytes / unit, 0 if size_bytes >= 10 * unit else 1))


def settable_sentence(found: Settable | None) -> str:
    """Return `What you can set: native:ring from 1 MiB to 16 MiB: 1.5 times as fast as native:default (...).`.

    `found`: None, if the library's own algorithms were not measured.
    """
    if found is None:
        return "What you can set: not measured; add -a native:all."
    if not found.gains:
        tried = counted(found.tried, "algorithm")
        return f"What you can set: none of the library's {tried} is shown to be faster than {found.control}."
    gains = [
        f"{gain.name} {range_words(gain.sizes[0], gain.sizes[-1])}: "
        + times_as_fast(gain.least, gain.most, found.control, gain.worst, gain.launches, GOOD)
        for gain in found.gains
    ]
    return f"What you can set: {'; '.join(gains)}."

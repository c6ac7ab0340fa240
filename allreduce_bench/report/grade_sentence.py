"""A grade as a sentence: its two main reasons, each with advice."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..evaluation.grade import ENOUGH_LAUNCHES, Grade, Reason
from ..evaluation.summary_row import Noise, SummaryRow
from ..units import format_time, in_ranks, three_digits

MOST_REASONS = 2
TAKE_MORE = f"use {ENOUGH_LAUNCHES} launches or more"
MEASURE_ALL = f"measure all of them in {ENOUGH_LAUNCHES} launches or more"
UNKNOWN = {"load": "load unknown", "ports": "port counters unknown"}
LOOKED_AT = "have the cables, the cards and the switch checked"


def sentence(grade: Grade) -> str:
    """`grade: provisional: 1 launch (use 5 launches or more); other processes used 8 % of the cores (...)`."""
    return f"grade: {grade.level}{reasons_words(grade)}"


def reasons_words(grade: Grade) -> str:
    """`: 1 launch (use 5 launches or more); and 2 further reasons`; empty: no reason."""
    parts = [f"{text} ({advice})" for text, advice in map(reason_words, grade.reasons[:MOST_REASONS])]
    if (more := len(grade.reasons) - MOST_REASONS) > 0:
        parts.append(f"and {_count(more, 'further reason')}")
    parts += [UNKNOWN[name] for name in grade.unknown]
    return f": {'; '.join(parts)}" if parts else ""


def noise_sentence(noise: Noise) -> str:
    """`noise: other activity took 1.2 % of the time of a test loop; a step of 50.1 us took up to 3.10 ms`."""
    quantum, longest = format_time(noise.quantum_s), format_time(noise.max_s)
    took = f"other activity took {100 * noise.lost:.2g} % of the time of a test loop"
    return f"noise: {took}; a step of {quantum} took up to {longest}"


def noise_of_all(rows: Iterable[SummaryRow]) -> str:
    """The same of the rank count that lost most, with that: for a page; empty: none was measured."""
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
    """A line for every grade with its reasons, in the order of the rank counts."""
    ranks_of: dict[tuple[str, str], list[int]] = {}
    for ranks, grade in {row["ranks"]: row["grading"] for row in rows}.items():
        ranks_of.setdefault((grade.level, reasons_words(grade)), []).append(ranks)
    return [GradeLine(level, in_ranks(ranks), reasons) for (level, reasons), ranks in ranks_of.items()]


def reason_words(reason: Reason) -> tuple[str, str]:
    """What was found, and what to do."""
    say, advice = WORDS[reason.code]
    return say(reason), advice(reason) if callable(advice) else advice


def _count(number: float, noun: str) -> str:
    """`1 launch`, `2 launches`."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:g} {noun if number == 1 else plural}"


def _per_cent(share: float) -> str:
    return f"{100 * share:.{1 if share < 0.01 else 0}f} %"


def _too_many_ranks(reason: Reason) -> str:
    if reason.limit is None:
        return f"{_count(reason.value, 'rank')}, more than the number of cores"
    return f"{_count(reason.value, 'rank')} on {_count(reason.limit, 'hardware thread')}"


def _launches(reason: Reason) -> str:
    if reason.limit is None:
        return _count(reason.value, "launch")
    return f"some cells have {reason.value:g} of {_count(reason.limit, 'launch')}"


def _more_launches(reason: Reason) -> str:
    return TAKE_MORE if reason.limit is None else MEASURE_ALL


def _fewer_ranks(reason: Reason) -> str:
    return "start fewer ranks" if reason.limit is None else f"start at most {reason.limit:g} per node"


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
        lambda reason: f"launches are in two states at {_per_cent(reason.value)} of the cells",
        "find out what changes from launch to launch",
    ),
    "wide": (
        lambda reason: f"half of the intervals span a factor of {three_digits(reason.value)} or more",
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

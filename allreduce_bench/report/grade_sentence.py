"""A grade as a sentence: all its reasons, each with advice."""

from collections.abc import Callable
from math import sqrt

from ..evaluation.grade import ENOUGH_LAUNCHES, Grade, Reason
from ..units import few, three_digits

TAKE_MORE = f"use {ENOUGH_LAUNCHES} launches or more"
MEASURE_ALL = f"measure all of them in {ENOUGH_LAUNCHES} launches or more"
UNKNOWN = {"load": "load unknown"}
LOOKED_AT = "have the cables, the cards and the switch checked"


def grade_sentence(grade: Grade, most: int | None = None) -> str:
    """Return `grade: provisional: 1 launch (use 5 launches or more); other processes used 8 % of the cores (...)`.

    `most`: reasons, the weightiest first; None: all.
    """
    reasons = reasons_words(grade, most)
    return f"grade: {grade.level}{f': {reasons}' if reasons else ''}"


def reasons_words(grade: Grade, most: int | None = None) -> str:
    """Return `1 launch (use 5 launches or more); 2 nodes pretended (...)`, at most so many; empty: no reason."""
    parts = [f"{text} ({advice})" for text, advice in map(reason_words, grade.reasons)]
    parts += [UNKNOWN[name] for name in grade.unknown]
    return few(parts, len(parts) if most is None else most, comma="; ", more=", and {more} more")


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
    """Return `times known to ±14 %`, of an upper end that is 1.29 times the lower one.

    The half-width is that about the geometric middle of the interval, `sqrt(upper / lower) - 1`: the time may be that
    much more, or less by the same factor. From 100 % on it is said as this factor. How confident it is stands beside
    the times: it depends on their number of launches.
    """
    factor = sqrt(reason.value)
    half = f" ±{_per_cent(factor - 1)}" if factor < 2 else f" a factor of {three_digits(factor)} either way"
    return f"times known to{half}"


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
    "launches": (_launches, _more_launches),
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
    "size_sets": (
        lambda reason: f"sizes in {_count(reason.value, 'set')}, long ones later, not all in random order",
        "leave --within out, or allow more time",
    ),
}

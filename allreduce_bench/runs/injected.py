"""What the ranks of a run do before they enter a call: a phase of work, and delays that are injected.

`run --compute` gives every rank a phase of work before each call, `--inject-slowdown 5:12%` makes it 12 % longer on
rank 5. `run --arrival` delays ranks after the common start of a call by a pattern, of which s is the largest delay:

* one-late: the last rank by s (Faraj, Patarasuk and Yuan, "A study of process arrival patterns for MPI collective
  operations", ICS 2006; "last delayed" of Salimi Beni, Cosenza and Hunold, CLUSTER 2024)
* ramp: rank r of p by s r / (p - 1)
* random: each rank in each call by a number drawn evenly from 0 to s, the same numbers for all algorithms
* half-late: the upper half of the ranks by s
* the path of a trace, see `arrival_trace`: its delays as they are, its steps one after the other and again

s is what `--late-by` says: a time, or a multiple of the median time of the library's own all-reduce of that size.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..units import nearest, parse_duration

NONE, ONE_LATE, RAMP, RANDOM, HALF_LATE = "none", "one-late", "ramp", "random", "half-late"
PATTERNS = (ONE_LATE, RAMP, RANDOM, HALF_LATE)
TRACE = ".csv"  # how the name of a trace ends


class Slowdown(NamedTuple):
    """One rank whose phase of work takes longer."""

    rank: int
    share: float  # of the phase, by which it is longer


def parse_slowdown(text: str) -> str:
    """`text` as it is kept: `5:12%`. Raises ValueError."""
    match = re.fullmatch(r"\s*0*(\d{1,8})\s*:\s*(\d{1,6}(?:\.\d{1,6})?)\s*%\s*", text)
    if not match or not float(match[2]):
        raise ValueError(f"'{text}' is not a slowdown; expected a rank and a share above 0 %, such as 5:12%")
    return f"{match[1]}:{float(match[2]):g}%"


def slowdown_of(word: str) -> Slowdown:
    """The slowdown that `parse_slowdown` wrote."""
    rank, share = word.removesuffix("%").split(":")
    return Slowdown(int(rank), float(share) / 100)


def factor_of(slowdowns: Sequence[str], rank: int) -> float:
    """How many times as long the phase of work of `rank` takes as that of a rank without a slowdown."""
    return 1.0 + sum(slowdown.share for slowdown in map(slowdown_of, slowdowns) if slowdown.rank == rank)


def parse_phase(text: str) -> float:
    """Seconds of a duration with its unit, such as `20ms`. Raises ValueError, also for a number alone."""
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) and float(text):
        raise ValueError(
            f"'{text}' has no unit; expected such as {text.strip()}ms, {text.strip()}us or {text.strip()}s"
        )
    return parse_duration(text)


def longest_phase_s(compute_s: float, slowdowns: Sequence[str]) -> float:
    """The phase of work of the slowest rank, seconds."""
    return compute_s * (1 + max((slowdown_of(word).share for word in slowdowns), default=0.0))


def refuse_slowdowns(compute_s: float, slowdowns: Sequence[str], ranks: Sequence[int]) -> None:
    """Raises ValueError where a slowdown has no phase of work, or no such rank in a launch of so many `ranks`."""
    if not slowdowns:
        return
    if not compute_s:
        raise ValueError("--inject-slowdown makes the phase of work longer; add one with --compute, such as 10ms")
    named = [slowdown_of(word).rank for word in slowdowns]
    for size in sorted(ranks):
        if outside := [rank for rank in named if rank >= size]:
            raise ValueError(
                f"--inject-slowdown {outside[0]}: a launch of {size} rank{'s' if size > 1 else ''} has no rank "
                f"{outside[0]}; name one of 0 to {size - 1}, or use more ranks with -n"
            )
    if len({*named}) < len(named):
        raise ValueError("--inject-slowdown names one rank twice; name each rank once")


class LateBy(NamedTuple):
    """The largest delay of a pattern: one of the two."""

    factor: float | None = None  # of the median time of the library's own all-reduce
    seconds: float | None = None


def parse_arrivals(text: str) -> tuple[str, ...]:
    """The patterns and absolute paths of traces in `none,one-late,steps.csv`, each once; nobody is delayed anyway.

    Raises ValueError.
    """
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in (NONE, *PATTERNS) and not word.endswith(TRACE):
            known = ", ".join((NONE, *PATTERNS))
            meant = nearest(word, (NONE, *PATTERNS)) if word else ""
            advice = meant or f"expected {known}, or the path of a trace that ends in {TRACE}"
            raise ValueError(f"'{word}' is not an arrival pattern; {advice}")
    kept = [word if word in PATTERNS else str(Path(word).resolve()) for word in words if word != NONE]
    return tuple(dict.fromkeys(kept))


def parse_late_by(text: str) -> str:
    """`text` as it is kept: `1x`, or seconds such as `0.001s`. Raises ValueError."""
    match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*x\s*", text)
    is_number = re.fullmatch(r"\s*[\d.]+\s*", text)
    try:
        amount = float(match[1]) if match else parse_duration(text) if not is_number else 0.0
    except ValueError:
        amount = 0.0
    if not amount:
        raise ValueError(
            f"'{text}' is not a lateness; expected a time with its unit, such as 1ms or 20us, or a factor, such as 1x"
        )
    return f"{amount:g}x" if match else f"{amount:.9f}".rstrip("0").rstrip(".") + "s"


def late_by_of(word: str) -> LateBy:
    """What `parse_late_by` wrote."""
    return LateBy(factor=float(word[:-1])) if word.endswith("x") else LateBy(seconds=float(word[:-1]))


def refuse_arrivals(compute_s: float, arrivals: Sequence[str], late_by: str) -> None:
    """Raises ValueError where patterns have nothing to delay, no name of their own, or work that makes ranks late."""
    if not arrivals:
        if late_by != "1x":
            raise ValueError("--late-by is how late the patterns of --arrival are; name one, such as one-late")
        return
    if compute_s:
        raise ValueError("--compute lets ranks become late, --arrival delays them; use one of the two")
    names = [Path(name).name for name in arrivals]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"--arrival names two traces that are both called {twice[0]}; rename one of them")


def longest_delay_s(arrivals: Sequence[str], late_by: str) -> float:
    """The largest delay that a pattern injects, as far as that is known before the run, seconds."""
    return (late_by_of(late_by).seconds or 0.0) if set(arrivals) & {*PATTERNS} else 0.0

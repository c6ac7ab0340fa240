"""Injected work and delays of ranks before they enter a call, and traces of arrivals.

`run --compute` gives every rank a phase of work before each call, `--inject-slowdown 5:12%` makes it 12 % longer on
rank 5. `run --arrival` delays ranks after the common start of a call by a pattern, of which s is the largest delay:

* one-late: the last rank by s (Faraj, Patarasuk and Yuan, "A study of process arrival patterns for MPI collective
  operations", ICS 2006; "last delayed" of Salimi Beni, Cosenza and Hunold, CLUSTER 2024)
* ramp: rank r of p by s r / (p - 1)
* random: each rank in each call by a number drawn uniformly from 0 to s, the same numbers for all algorithms
* half-late: the upper half of the ranks by s
* the path of a trace of arrivals: its delays, step by step, cyclically

s is the value of `--late-by`: a time, or a multiple of the median time of the library's own all-reduce of that size.

A trace holds how late each rank was ready in each step of a job: a CSV with the header `step,rank,late_s` and one line
per step and rank; `late_s` counts from the step's first rank.
"""

import csv
import re
from collections.abc import Sequence
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..units import nearest, parse_duration
from .files import read_given

if TYPE_CHECKING:
    import numpy as np

# patterns
NONE, ONE_LATE, RAMP, RANDOM, HALF_LATE = "none", "one-late", "ramp", "random", "half-late"
PATTERNS = (ONE_LATE, RAMP, RANDOM, HALF_LATE)


# traces
TRACE = ".csv"  # file extension of a trace
HEADER = ["step", "rank", "late_s"]
LARGEST_NBYTES = 64 * 2**20
LONGEST_S = 3600.0  # of a delay


class Slowdown(NamedTuple):
    """A rank whose phase of work takes longer."""

    rank: int
    share: float  # of the phase, added to it


class LateBy(NamedTuple):
    """The largest delay of a pattern, as a factor or in seconds."""

    factor: float | None = None  # of the median time of the library's own all-reduce
    seconds: float | None = None


class TraceError(ValueError):
    """A trace that cannot be replayed, in words."""


def parse_phase(text: str) -> float:
    """Return the seconds of a duration with its unit, such as `20ms`. Raises ValueError, also for a number alone."""
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) and float(text):
        text_2 = text.strip()
        raise ValueError(f"'{text}' has no unit; expected such as {text_2}ms, {text_2}us or {text_2}s")
    return parse_duration(text)


def parse_slowdown(text: str) -> str:
    """Normalise `text` for the plan: `5:12%`. Raises ValueError."""
    match = re.fullmatch(r"\s*0*(\d{1,8})\s*:\s*(\d{1,6}(?:\.\d{1,6})?)\s*%\s*", text)
    if not match or not float(match[2]):
        raise ValueError(f"'{text}' is not a slowdown; expected a rank and a share above 0 %, such as 5:12%")
    return f"{match[1]}:{float(match[2]):g}%"


def slowdown_of(word: str) -> Slowdown:
    """Parse the output of `parse_slowdown`."""
    rank, share = word.removesuffix("%").split(":")
    return Slowdown(int(rank), float(share) / 100)


def factor_of(slowdowns: Sequence[str], rank: int) -> float:
    """Return the ratio of the phase of work of `rank` to that of a rank without a slowdown."""
    return 1.0 + sum(slowdown.share for slowdown in map(slowdown_of, slowdowns) if slowdown.rank == rank)


def longest_phase_s(compute_s: float, slowdowns: Sequence[str]) -> float:
    """Return the phase of work of the slowest rank, seconds."""
    return compute_s * (1 + max((slowdown_of(word).share for word in slowdowns), default=0.0))


def refuse_slowdowns(compute_s: float, slowdowns: Sequence[str], ranks: Sequence[int]) -> None:
    """Raise ValueError if a slowdown has no phase of work, or its rank is missing in a launch of so many `ranks`."""
    if not slowdowns:
        return
    if not compute_s:
        raise ValueError("--inject-slowdown makes the phase of work longer; add one with --compute, such as 10ms")
    named = [slowdown_of(word).rank for word in slowdowns]
    for size in sorted(ranks):
        if outside := [rank for rank in named if rank >= size]:
            plural = "s" if size > 1 else ""
            raise ValueError(
                f"--inject-slowdown {outside[0]}: a launch of {size} rank{plural} has no rank {outside[0]}; name one "
                f"of 0 to {size - 1}, or use more ranks with -n"
            )
    if len({*named}) < len(named):
        raise ValueError("--inject-slowdown names one rank twice; name each rank once")


def parse_arrival(text: str) -> str:
    """Return the pattern, or the absolute path of a trace; empty for `none`. Raises ValueError."""
    word = text.strip()
    if word in (NONE, *PATTERNS):
        return "" if word == NONE else word
    if not word.endswith(TRACE):
        known = ", ".join((NONE, *PATTERNS))
        meant = nearest(word, (NONE, *PATTERNS)) if word else ""
        advice = meant or f"expected {known}, or the path of a trace that ends in {TRACE}"
        raise ValueError(f"'{word}' is not an arrival pattern; {advice}")
    return str(Path(word).resolve())


def parse_late_by(text: str) -> str:
    """Normalise `text` for the plan: `1x`, or seconds such as `0.001s`. Raises ValueError."""
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
    """Parse the output of `parse_late_by`."""
    return LateBy(factor=float(word[:-1])) if word.endswith("x") else LateBy(seconds=float(word[:-1]))


def refuse_arrival(compute_s: float, arrival: str) -> None:
    """Raise ValueError if work already makes ranks late."""
    if arrival and compute_s:
        raise ValueError("--compute lets ranks become late, --arrival delays them; use one of the two")


def longest_delay_s(arrival: str, late_by: str) -> float:
    """Return the largest delay that a pattern injects, as far as known before the run, seconds."""
    return (late_by_of(late_by).seconds or 0.0) if arrival in PATTERNS else 0.0


def refuse_trace(arrival: str, digest: str, ranks: Sequence[int]) -> float:
    """Return the largest delay of a trace, seconds; 0 of a pattern.

    Raises TraceError for one that cannot be replayed by a launch of each of `ranks`.
    """
    return float(trace_for(arrival, digest, ranks).max()) if arrival.endswith(TRACE) else 0.0


def trace_for(path: str, digest: str, ranks: Sequence[int]) -> "np.ndarray":
    """Return the trace, unchanged since the run was planned, of as many ranks as each of `ranks`.

    Raises TraceError.
    """
    if digest_of_trace(path) != digest:
        raise TraceError(f"{path}: changed since the run was planned; restore it, or start a new run")
    trace = read_trace(Path(path))
    if other := [size for size in ranks if size != trace.shape[1]]:
        shape = trace.shape[1]
        raise TraceError(f"{path}: a trace of {shape} ranks, expected {other[0]}; use -n {shape}")
    return trace


def digest_of_trace(path: str) -> str:
    """Return the SHA-256 of its content. Raises TraceError."""
    return sha256(_content(Path(path))).hexdigest()


def read_trace(path: Path) -> "np.ndarray":
    """Return float64 [step, rank]: seconds by which each rank is late, steps in ascending order. Raises TraceError."""
    rows = list(csv.reader(_content(path).decode(errors="replace").splitlines()))
    if not rows or [word.strip() for word in rows[0]] != HEADER:
        header = ",".join(rows[0] if rows else [])
        raise TraceError(f"{path}: expected the header {','.join(HEADER)}, found {header!r:.60}")
    late_s: dict[tuple[int, int], float] = {}
    for line, fields in enumerate(rows[1:], start=2):
        step, rank, late = _fields(path, line, fields)
        if (step, rank) in late_s:
            raise TraceError(f"{path}, line {line}: step {step} of rank {rank} is there twice; each belongs there once")
        late_s[step, rank] = late
    if not late_s:
        raise TraceError(f"{path}: holds no step; expected one line per step and rank")
    steps, size = sorted({step for step, _ in late_s}), 1 + max(rank for _, rank in late_s)
    if len(late_s) != len(steps) * size:
        step, rank = next((step, rank) for step in steps for rank in range(size) if (step, rank) not in late_s)
        raise TraceError(f"{path}: step {step} lacks rank {rank}; expected each rank in each step")
    import numpy as np  # late: the helps of commands need none

    return np.array([[late_s[step, rank] for rank in range(size)] for step in steps])


def _content(path: Path) -> bytes:
    """Return the bytes of a trace. Raises TraceError."""
    try:
        return read_given(path, LARGEST_NBYTES)
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise TraceError(f"{path}: {reason}; expected a trace of arrivals") from error


def _fields(path: Path, line: int, fields: Sequence[str]) -> tuple[int, int, float]:
    """Parse step, rank and seconds of one line. Raises TraceError."""
    try:
        (step, rank), late_s = map(int, fields[:2]), float(fields[2])
        is_time = isfinite(late_s) and 0 <= late_s <= LONGEST_S
        if len(fields) == len(HEADER) and step >= 0 and 0 <= rank < 10**7 and is_time:
            return step, rank, late_s
    except (ValueError, IndexError):
        pass
    raise TraceError(
        f"{path}, line {line}: found {','.join(fields)!r:.60}, expected step, rank and seconds of 0 to {LONGEST_S:g}"
    )

"""A trace of arrivals: how late each rank was ready in each step of a job, to be replayed by `run --arrival FILE.csv`.

A CSV with the header `step,rank,late_s` and one line per step and rank; `late_s` counts from the step's first rank.
"""

import csv
from collections.abc import Sequence
from hashlib import sha256
from math import isfinite
from pathlib import Path

import numpy as np

from .injected import TRACE

HEADER = ["step", "rank", "late_s"]
LARGEST_NBYTES = 64 * 2**20
LONGEST_S = 3600.0  # of a delay


class TraceError(ValueError):
    """A trace that cannot be replayed, in words."""


def read_trace(path: Path) -> np.ndarray:
    """float64 [step, rank]: seconds by which each rank is late, steps in the order of their numbers. TraceError."""
    rows = list(csv.reader(_content(path).decode(errors="replace").splitlines()))
    if not rows or [word.strip() for word in rows[0]] != HEADER:
        raise TraceError(
            f"{path}: expected the header {','.join(HEADER)}, found {','.join(rows[0] if rows else [])!r:.60}"
        )
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
    return np.array([[late_s[step, rank] for rank in range(size)] for step in steps])


def trace_for(path: str, digest: str, ranks: Sequence[int]) -> np.ndarray:
    """The trace, which must be what it was when the run was planned, of as many ranks as each of `ranks`.

    Raises TraceError.
    """
    if digest_of_trace(path) != digest:
        raise TraceError(f"{path}: changed since the run was planned; restore it, or start a new run")
    trace = read_trace(Path(path))
    if other := [size for size in ranks if size != trace.shape[1]]:
        raise TraceError(f"{path}: a trace of {trace.shape[1]} ranks, expected {other[0]}; use -n {trace.shape[1]}")
    return trace


def refuse_traces(arrivals: Sequence[str], digests: Sequence[str], ranks: Sequence[int]) -> float:
    """The largest delay of the traces among `arrivals`, seconds; 0: there is none.

    Raises TraceError for one that cannot be replayed by a launch of each of `ranks`.
    """
    traces = [trace_for(path, digest, ranks) for path, digest in zip(traces_of(arrivals), digests, strict=True)]
    return max((float(trace.max()) for trace in traces), default=0.0)


def traces_of(arrivals: Sequence[str]) -> list[str]:
    """The paths of the traces among the patterns of a plan."""
    return [name for name in arrivals if name.endswith(TRACE)]


def digest_of_trace(path: str) -> str:
    """SHA-256 of its content. Raises TraceError."""
    return sha256(_content(Path(path))).hexdigest()


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_NBYTES + 1)
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise TraceError(f"{path}: {reason}; expected a trace of arrivals") from error
    if len(content) > LARGEST_NBYTES:
        raise TraceError(f"{path}: larger than {LARGEST_NBYTES >> 20} MiB; keep fewer steps")
    return content


def _fields(path: Path, line: int, fields: Sequence[str]) -> tuple[int, int, float]:
    try:
        (step, rank), late_s = map(int, fields[:2]), float(fields[2])
        if (
            len(fields) == len(HEADER)
            and step >= 0
            and 0 <= rank < 10**7
            and isfinite(late_s)
            and 0 <= late_s <= LONGEST_S
        ):
            return step, rank, late_s
    except (ValueError, IndexError):
        pass
    raise TraceError(
        f"{path}, line {line}: found {','.join(fields)!r:.60}, expected step, rank and seconds of 0 to {LONGEST_S:g}"
    )

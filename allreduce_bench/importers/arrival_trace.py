"""An arrival trace: a CSV with `step,rank,late_s`, how late each rank was in each step behind the earliest one.

`run --arrival FILE.csv` replays one, `stragglers SOURCE --trace FILE.csv` writes one.
"""

import csv
import io
from pathlib import Path

import numpy as np

from ..lateness.arrivals import Arrivals
from ..units import MAX_RANKS
from .row import LogError
from .values import real, whole

HEADER = ("step", "rank", "late_s")


def recognises(text: str) -> bool:
    """Whether a text begins as a trace."""
    first = text.lstrip("\ufeff").partition("\n")[0]
    return [word.strip() for word in first.split(",")] == [*HEADER]


def lateness_of(path: Path, text: str) -> np.ndarray:
    """float64 [step, rank], seconds. Raises LogError: damaged, or a step without some rank."""
    reader = csv.reader(text.lstrip("\ufeff").splitlines())
    next(reader)
    values: dict[tuple[int, int], float] = {}
    try:
        for row in reader:
            place = f"{path}, line {reader.line_num}"
            if not row:
                continue
            if len(row) != len(HEADER):
                raise LogError(f"{place}: {len(row)} values, expected {','.join(HEADER)}")
            key = whole(row[0].strip(), "step", place), whole(row[1].strip(), "rank", place, 0, MAX_RANKS - 1)
            if key in values:
                raise LogError(f"{place}: step {key[0]} has rank {key[1]} twice")
            values[key] = real(row[2].strip(), "late_s", place)
    except csv.Error as error:
        raise LogError(f"{path}, line {reader.line_num}: damaged: {error}") from error
    if not values:
        raise LogError(f"{path}, line 2: no steps; expected lines of {','.join(HEADER)}")
    steps, ranks = sorted({step for step, _ in values}), 1 + max(rank for _, rank in values)
    for step in steps:
        for rank in range(ranks):
            if (step, rank) not in values:
                raise LogError(f"{path}: step {step} has no rank {rank}; every step needs ranks 0 to {ranks - 1}")
    return np.array([[values[step, rank] for rank in range(ranks)] for step in steps])


def trace_text(arrivals: Arrivals) -> str:
    """The trace of arrivals, in steps from 0; a step in which some rank is not known is left out."""
    whole_steps = ~np.isnan(arrivals.ready_s).any(axis=1)
    late_s = arrivals.ready_s[whole_steps]
    late_s = late_s - late_s.min(axis=1, keepdims=True) if late_s.size else late_s
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for step, of_step in enumerate(late_s.tolist()):
        writer.writerows((step, rank, f"{time_s:.9g}") for rank, time_s in enumerate(of_step))
    return out.getvalue()

"""Arrivals as a trace, `step,rank,late_s`, which `run --arrival FILE.csv` replays; see `runs.arrival_trace`."""

import csv
import io

import numpy as np

from ..importers.row import LogError
from ..runs.arrival_trace import HEADER
from .arrivals import Arrivals


def recognises(text: str) -> bool:
    """Whether a text begins as a trace."""
    first = text.lstrip("\ufeff").partition("\n")[0]
    return [word.strip() for word in first.split(",")] == HEADER


def trace_text(arrivals: Arrivals) -> str:
    """The trace of arrivals, in steps from 0; a step in which some rank is not known is left out.

    Raises LogError: there is no step of which every rank is known.
    """
    whole_steps = ~np.isnan(arrivals.ready_s).any(axis=1)
    late_s = arrivals.ready_s[whole_steps]
    if not late_s.size:
        raise LogError("--trace: no step has the arrivals of all ranks, so there is no trace to write; leave it out")
    late_s = late_s - late_s.min(axis=1, keepdims=True)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for step, of_step in enumerate(late_s.tolist()):
        writer.writerows((step, rank, f"{time_s:.9g}") for rank, time_s in enumerate(of_step))
    return out.getvalue()

"""When the ranks of a communicator were ready for each call, on a common clock: see `lateness.arrivals`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..lateness.arrivals import Arrivals, aligned_by_common_end
from .inspector import (
    MEETING,
    VERBOSE,
    CallTable,
    Communicator,
    call_table,
    chosen_communicator,
    logs_of,
)
from .row import LogError

BEGIN, READY, ENTRY, EXIT = range(4)  # of stamps, as runs with --compute keep them


def arrivals_of_logs(paths: Sequence[Path], communicator: str | None) -> tuple[Communicator, Arrivals]:
    """The arrivals of files of NCCL Inspector, and the communicator that they are of. Raises LogError."""
    chosen = chosen_communicator(logs_of(paths), communicator, MEETING)
    table = call_table(chosen, MEETING)
    stamps = stamps_of_calls(chosen, table)
    if stamps is None:
        raise LogError(f"{chosen.place}: no stamps of kernels, so nobody can be said to be late; record with {VERBOSE}")
    is_known = table.has_stamps & ~np.isnan(stamps[BEGIN]).all(axis=1)
    begin_s, end_s = (np.nanmax(stamps[which][is_known], axis=1) for which in (BEGIN, EXIT))
    ready_s, clock_error_s = _aligned(table)
    numbers = {host: number for number, host in enumerate(dict.fromkeys(chosen.hosts))}
    return chosen, Arrivals(
        ready_s=ready_s[is_known[table.has_stamps]],
        step_s=end_s - begin_s,
        clock_error_s=clock_error_s,
        node_of=tuple(numbers[host] for host in chosen.hosts),
        nodes=tuple(numbers),
        begin_s=begin_s - begin_s[0] if len(begin_s) else begin_s,
    )


def stamps_of_calls(communicator: Communicator, table: CallTable) -> np.ndarray | None:
    """float64 [4, call, rank]: begin, ready, entry and exit in seconds on the common clock.

    begin: the end of the call before, NaN where that is not known. None: no call has stamps of every rank with a file.
    """
    is_known = table.has_stamps
    if not is_known.any():
        return None
    stamps = np.full((4, *table.ready_s.shape), np.nan)
    ready_s, _ = _aligned(table)
    end_s = ready_s + (table.end_s - table.ready_s)[is_known]
    stamps[READY, is_known], stamps[ENTRY, is_known], stamps[EXIT, is_known] = ready_s, ready_s, end_s
    ends_s = np.full(len(table.nbytes), np.nan)
    ends_s[is_known] = np.nanmax(end_s, axis=1)
    begin_s = np.where(table.is_next[1:], ends_s[:-1], np.nan)
    stamps[BEGIN, 1:] = np.where(np.isnan(table.time_s).all(axis=0), np.nan, begin_s[:, None])
    return stamps


def _aligned(table: CallTable) -> tuple[np.ndarray, float]:
    """Of the calls with stamps, the ranks with a file: the times at which ranks were ready, and the clock's error."""
    is_known = table.has_stamps
    known = np.flatnonzero(~np.isnan(table.time_s).all(axis=0))
    ready_s = np.full((int(is_known.sum()), table.time_s.shape[1]), np.nan)
    rows = table.ready_s[is_known][:, known], table.end_s[is_known][:, known]
    ready_s[:, known], clock_error_s = aligned_by_common_end(*rows)
    return ready_s, clock_error_s

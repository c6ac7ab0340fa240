"""When the ranks of a communicator were ready for each call, on a common clock: see `lateness.arrivals`."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..importers.inspector import MEETING, VERBOSE, CallTable, Communicator, call_table, chosen_communicator, logs_of
from ..importers.row import LogError
from ..runs.schema import STAMPS
from .arrivals import Arrivals, aligned_by_common_end

BEGIN, READY, ENTRY, EXIT = range(len(STAMPS))


class CallStamps(NamedTuple):
    """The stamps of all calls on a common clock."""

    times_s: np.ndarray  # float64 [4, call, rank]: STAMPS; begin is the end of the call before; NaN: not known
    clock_error_s: float


def arrivals_of_logs(paths: Sequence[Path], communicator: str | None) -> tuple[Communicator, Arrivals]:
    """The arrivals of files of NCCL Inspector, and the communicator that they are of. Raises LogError."""
    chosen = chosen_communicator(logs_of(paths), communicator, MEETING)
    stamps = stamps_of_calls(call_table(chosen, MEETING))
    if stamps is None:
        raise LogError(f"{chosen.place}: no stamps of kernels, so nobody can be said to be late; record with {VERBOSE}")
    has_rank = np.isin(np.arange(chosen.ranks), list(chosen.of_rank))
    begin_s = stamps.times_s[BEGIN, :, has_rank].T[:, 0]
    end_s = stamps.times_s[EXIT, :, has_rank].T.max(axis=1)
    known = np.isfinite(begin_s) & np.isfinite(end_s)
    if not known.any():
        raise LogError(f"{chosen.place}: no two successive calls were recorded by every rank")
    return chosen, Arrivals(
        ready_s=stamps.times_s[READY, known],
        step_s=(end_s - begin_s)[known],
        clock_error_s=stamps.clock_error_s,
        node_of=chosen.node_of,
        nodes=tuple(host or "unknown" for host in dict.fromkeys(chosen.hosts)),
        begin_s=begin_s[known] - begin_s[known][0],
    )


def stamps_of_calls(table: CallTable) -> CallStamps | None:
    """The stamps of the calls of which every rank with a file has some; None: there is no such call."""
    is_known = table.has_stamps
    if not is_known.any():
        return None
    has_rank = ~np.isnan(table.time_s).all(axis=0)
    chosen = np.ix_(is_known, has_rank)
    ready_s, clock_error_s = aligned_by_common_end(table.ready_s[chosen], table.end_s[chosen])
    times_s = np.full((len(STAMPS), *table.ready_s.shape), np.nan)
    times_s[READY][chosen] = times_s[ENTRY][chosen] = ready_s
    times_s[EXIT][chosen] = ready_s + (table.end_s - table.ready_s)[chosen]
    ends_s = np.full(len(table.nbytes), np.nan)
    ends_s[is_known] = times_s[EXIT][chosen].max(axis=1)
    times_s[BEGIN][1:, has_rank] = np.where(table.is_next[1:], ends_s[:-1], np.nan)[:, None]
    return CallStamps(times_s, clock_error_s)

"""When the kernels of all ranks of a communicator began and ended, on a common clock."""

from typing import NamedTuple

import numpy as np

from ..runs.schema import STAMPS
from .common_ends import aligned_by_common_end
from .inspector import CallTable

BEGIN, READY, ENTRY, EXIT = range(len(STAMPS))


class CallStamps(NamedTuple):
    """The stamps of all calls on a common clock."""

    times_s: np.ndarray  # float64 [4, call, rank]: STAMPS; begin is the end of the call before; NaN: not known
    clock_error_s: float


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

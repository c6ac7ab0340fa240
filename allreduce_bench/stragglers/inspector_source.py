"""When the ranks of a communicator were ready for each call, on a common clock: see `arrivals`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..importers.inspector import MEETING, VERBOSE, Communicator, call_table, chosen_communicator, logs_of
from ..importers.inspector_stamps import BEGIN, EXIT, READY, stamps_of_calls
from ..importers.row import LogError
from .arrivals import Arrivals


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

"""NCCL Inspector: the JSON lines of all ranks, a file a process, or a folder of them.

The time of a call is the maximum over ranks of coll_exec_time_us, from the rank's first channel to its last: a rank
that waits for another one counts the wait. Where the lines have stamps (NCCL_INSPECTOR_DUMP_VERBOSE=1), those of every
rank are kept on a common clock, so that `stragglers` and `report` say who arrives last. Only all-reduces are taken.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runs.cell import NATIVE
from ..importer import Importer
from ..inspector import (
    ALLREDUCE,
    TITLE,
    CallStamps,
    CallTable,
    Communicator,
    call_table,
    chosen_communicator,
    files_of,
    logs_of,
    recognises,
    stamps_of_calls,
)
from ..lines import Log
from ..row import Asked, Imported


def read(log: Log, asked: Asked) -> list[Imported]:
    """The rows of one file, or of a folder. Raises LogError."""
    return read_together([log] if log.text else logs_of([log.path]), asked)


def read_together(logs: Sequence[Log], asked: Asked) -> list[Imported]:
    """A row for each size and algorithm of the communicator that these files have in common. Raises LogError."""
    communicator = chosen_communicator(logs, asked.communicator, (ALLREDUCE,))
    table = call_table(communicator, (ALLREDUCE,))
    stamps = stamps_of_calls(table)
    cells = dict.fromkeys(zip(table.nbytes.tolist(), table.algorithm))
    return [_row(communicator, table, stamps, nbytes, algorithm) for nbytes, algorithm in cells]


IMPORTER = Importer(
    name="nccl-inspector",
    title=TITLE,
    turn=5,
    recognises=recognises,
    read=read,
    read_together=read_together,
    files_of=files_of,
    has_communicators=True,
)


def _row(
    communicator: Communicator, table: CallTable, stamps: CallStamps | None, nbytes: int, algorithm: str
) -> Imported:
    """The calls of one size and algorithm, without those that took no microsecond."""
    longest_s = np.nanmax(table.time_s, axis=1)
    is_of_cell = (table.nbytes == nbytes) & np.array([name == algorithm for name in table.algorithm])
    calls = np.flatnonzero(is_of_cell & (longest_s > 0))
    state: dict[str, Any] = {"state": "left out", "reason": "the log has times of 0"} if not len(calls) else {}
    first = next(iter(communicator.of_rank.values()))
    return Imported(
        file=first.file,
        line=min(call.line for key, call in first.calls.items() if key[0] == ALLREDUCE and call.nbytes == nbytes),
        tool=TITLE,
        version=", ".join(sorted({part.version for part in communicator.of_rank.values() if part.version})) or None,
        launch=f"communicator {communicator.id}",
        algorithm=f"{NATIVE}:{algorithm}" if algorithm else NATIVE,
        ranks=communicator.ranks,
        nodes=communicator.nodes,
        nbytes=nbytes,
        iterations=1,
        time_definition="nccl_inspector",
        times_s=tuple(longest_s[calls].tolist()),
        stamps=stamps.times_s[:, calls, :] if stamps and len(calls) else None,
        clock_error_s=stamps.clock_error_s if stamps and len(calls) else None,
        files=tuple(dict.fromkeys(part.file for part in communicator.of_rank.values())),
        facts={"hosts": [host or "unknown" for host in communicator.hosts], "node_of": list(communicator.node_of)},
        **state,
    )

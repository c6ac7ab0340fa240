"""Times of messages between hosts, for `order`: of a check of `health`, or of one column of another tool's table."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..importers.row import LogError
from ..runs.rows import RunError
from ..units import shell_word
from .judgement import tables_of_rows
from .pair_folder import PAIRS, PairFolder, failed_pairs
from .pair_tables import read_pair_tables

LEAST_TIME = 1e-18  # seconds a byte


class PairTimes(NamedTuple):
    """What a message between two nodes took, by direction; NaN: not measured."""

    nodes: tuple[str, ...]
    latency_s: np.ndarray  # float64 [source, dest]; 0: only rates are known
    time_per_byte: np.ndarray  # float64 [source, dest]; 0: only latencies are known
    failed: frozenset[frozenset[str]]
    in_seconds: bool  # False: in a unit of the table, so that times can only be compared
    of: str  # the folder or file, and its column
    left_out: tuple[str, ...] = ()  # nodes of the check without any pair


def read_pair_times(path: Path, value: str = "", kind: str = "") -> PairTimes:
    """Return the times of a check's folder, of the pairs.csv in it, or of one column of another tool's table.

    `value` and `kind` are as of `read_pair_tables`; without them the column with the most pairs, rates first. Raises
    LogError, RunError, OSError.
    """
    folder = PairFolder(path.parent if path.name == PAIRS else path)
    if not folder.asked_json.exists() and not path.is_dir():
        return _times_of_table(path, value, kind)
    if value or kind:
        raise LogError(f"{path}: is the folder of a check; leave --failed, --value and --value-is out")
    if not folder.asked_json.exists():
        raise LogError(f"{path}: holds no check; expected the folder of a check, or a CSV of pairs")
    return _times_of_check(folder)


def _times_of_check(folder: PairFolder) -> PairTimes:
    asked, rows = folder.read_settings(), folder.rows()
    named = {name for row in rows for name in (row.source, row.dest)}
    nodes = tuple(name for name in asked.nodes if name in named)
    if len(nodes) < 2:
        raise RunError(
            f"{folder.path}: no pair was measured; continue the check with health -o {shell_word(folder.path)}"
        )
    latency, bandwidth = tables_of_rows(nodes, rows, (asked.small_nbytes, asked.large_nbytes))
    latency_s, large_s = np.exp(latency.either_way), np.exp(bandwidth.either_way)
    time_per_byte = np.maximum(large_s - latency_s, LEAST_TIME) / asked.large_nbytes
    timed = {frozenset((row.source, row.dest)) for row in rows if row.size_bytes == asked.large_nbytes}
    failed = frozenset(failed_pairs(rows).keys() - timed)
    left_out = tuple(name for name in asked.nodes if name not in named)
    return PairTimes(nodes, latency_s, time_per_byte, failed, True, str(folder.path), left_out)


def _times_of_table(path: Path, value: str, kind: str) -> PairTimes:
    found = read_pair_tables(path, value, kind)
    if not found.tables:
        raise LogError(f"{path}, line 1: no column of rates or times; name it with --value and --value-is")
    table = max(found.tables, key=lambda each: (each.is_rate, np.count_nonzero(~np.isnan(each.log_time))))
    times, nothing = np.exp(table.either_way), np.zeros_like(table.log_time)
    of = f"{path}, {table.name}"
    if table.is_rate:
        return PairTimes(table.nodes, nothing, times, frozenset(found.failed), False, of)
    return PairTimes(table.nodes, times, nothing, frozenset(found.failed), False, of)

"""The files of rank 0, and its stderr. Files are written in a thread: a slow file system does not delay the steps.

Lines of JSON are appended whole, one write each. The textfile for Prometheus is replaced atomically, so that a
collector never reads half of one. A write error is reported once, and the program goes on.
"""

import contextlib
import json
import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from math import isfinite
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

import numpy as np

# The textfile
TEXTFILE_S = 1.0  # between two writes: collectors poll every 15 s
MOST_RANKS = 64  # in it; if more, the latest ones
METRIC_PREFIX = "allreduce_bench_"

# Lines of JSON
MOST_WAITING = 10_000  # lines; further ones are dropped, or a hanging file system would fill the memory
DIGITS = 7  # of seconds, after the point

CLOSE_S = 5.0  # longest wait for a slow file system at the end of a program


@dataclass
class Metrics:
    """The current figures. Expensive ones are computed when the file is written, in the writing thread."""

    names_of_nodes: tuple[str, ...]  # of each rank
    late_s: deque[np.ndarray]  # float64 [step, rank]: the last blocks that are known, the longest ago first
    steps: int = 0
    step_s: float = 0.0  # median of the last block
    alerts: Counter[str] = field(default_factory=Counter)
    slow: frozenset[int] = frozenset()  # the ranks that are slow now
    stalled: bool = False
    last_step_time: float = 0.0  # seconds since 1970; 0: no step has ended


class OutputThread(threading.Thread):
    """The writer thread of both files; None: not written. `metrics` are read whenever the textfile is written."""

    def __init__(self, log: Path | None, textfile: Path | None, metrics: Metrics):
        super().__init__(name="StepMonitor output", daemon=True)
        self._log, self._textfile, self._metrics = log, textfile, metrics
        self._lines: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
        self._has_news = False
        self._written = 0.0
        self._job = os.urandom(8).hex()  # in each line: two jobs may append to one file
        self.start()

    def line(self, **values: Any) -> None:
        """Append a line of these values; thread-safe."""
        if self._log is not None and self._lines.qsize() < MOST_WAITING:
            self._lines.put({**values, "job": self._job})

    def news(self) -> None:
        """Note that the metrics have changed."""
        self._has_news = True

    def close(self) -> None:
        """Write pending lines, for at most CLOSE_S."""
        self._lines.put(None)
        self.join(CLOSE_S)

    def run(self) -> None:
        """Write until `close`."""
        values: Mapping[str, Any] | None = {}
        while values is not None:
            values = {}
            with contextlib.suppress(Empty):
                values = self._lines.get(timeout=TEXTFILE_S)
            if values:
                self._log = _try_write(_append, self._log, json_line(values))
            if self._has_news and (values is None or monotonic() - self._written > TEXTFILE_S):
                self._has_news, self._written = False, monotonic()
                self._textfile = _try_write(_replace, self._textfile, metrics_text(self._metrics))


def now() -> str:
    """Return the time in the format of the lines."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def warn(sentence: str) -> None:
    """Print one line on stderr in one write, so that lines of ranks do not mix."""
    with contextlib.suppress(OSError, ValueError):  # stderr is closed
        sys.stderr.write(f"StepMonitor: {sentence}\n")
        sys.stderr.flush()


def metrics_text(metrics: Metrics) -> str:
    """Return the content of the textfile: the text exposition format 0.0.4, without timestamps.

    https://prometheus.io/docs/instrumenting/exposition_formats
    """
    kinds = [(f'{{kind="{kind}"}}', metrics.alerts[kind]) for kind in ("slow", "recovered", "groups", "stall")]
    stamp = metrics.last_step_time
    families: list[tuple[str, str, str, Iterable[tuple[str, float]]]] = [
        ("steps_total", "counter", "Steps that have ended.", [("", metrics.steps)]),
        ("step_seconds", "gauge", "Median time of the last steps.", [("", metrics.step_s)]),
        ("stalled", "gauge", "1 while no step ends.", [("", int(metrics.stalled))]),
        ("last_step_timestamp_seconds", "gauge", "When the last step ended that is known.", [("", stamp)]),
        ("alerts_total", "counter", "Alerts since the start.", kinds),
    ]
    if blocks := [np.nan_to_num(late_s, nan=0.0) for late_s in tuple(metrics.late_s)]:
        came_last = np.concatenate([late_s.argmax(axis=1) for late_s in blocks])
        last_share = np.bincount(came_last, minlength=len(metrics.names_of_nodes)) / len(came_last)
        late_s = np.median(blocks[-1], axis=0)
        ranks = np.sort(np.argsort(-late_s, kind="stable")[:MOST_RANKS]).tolist()
        labels = [f'{{rank="{rank}",node="{metrics.names_of_nodes[rank]}"}}' for rank in ranks]
        of_ranks: list[tuple[str, str, Iterable[float]]] = [
            ("rank_late_seconds", "Median time from the first rank that is ready to this one.", late_s[ranks]),
            ("rank_last_share", "Share of the last steps to which this rank came last.", last_share[ranks]),
            ("rank_slow", "1 while an alert says that this rank is slow.", [rank in metrics.slow for rank in ranks]),
        ]
        families += [(name, "gauge", words, zip(labels, map(float, values))) for name, words, values in of_ranks]
    lines = []
    for name, kind, words, samples in families:
        name = METRIC_PREFIX + name
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{label} {value!r}" for label, value in samples]
    return "\n".join(lines) + "\n"


def json_line(values: Mapping[str, Any]) -> str:
    """Return one line of JSON: arrays as lists, seconds with DIGITS digits, null if not known."""
    return json.dumps({key: _plain(value) for key, value in values.items()}, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return round(value, DIGITS) if isfinite(value) else None
    return value


def _try_write(write: Callable[[Path, str], None], path: Path | None, text: str) -> Path | None:
    """Write; return the path, or None once it cannot be written."""
    if path is None:
        return None
    try:
        write(path, text)
    except OSError as error:
        warn(f"cannot write '{path}': {error.strerror or error}; the program goes on without this file")
        return None
    return path


def _append(path: Path, line: str) -> None:
    with open(path, "ab", buffering=0) as file:
        file.write(line.encode())


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise

"""The files that rank 0 writes, in a thread: a slow file system does not delay the steps.

Lines of JSON are appended whole, one write each. The textfile for Prometheus is written beside its place and renamed,
so that a collector never reads half of one. What cannot be written is told once, and the program goes on.
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

from . import words

# The textfile
TEXTFILE_S = 1.0  # between two writes: collectors come every 15 s
MOST_RANKS = 64  # in it; of more, those that are late most
METRIC_PREFIX = "allreduce_bench_"

# Lines of JSON
MOST_WAITING = 10_000  # lines; more are left out, or a file system that hangs would fill the memory
DIGITS = 7  # of seconds, behind the point

CLOSE_S = 5.0  # how long the end of a program waits for a slow file system


@dataclass
class Metrics:
    """The figures as they are now. What costs time is computed when the file is written, in the thread that does."""

    names_of_nodes: tuple[str, ...]  # of each rank
    late_s: deque[np.ndarray]  # float64 [step, rank]: the last blocks that are known, the longest ago first
    steps: int = 0
    step_s: float = 0.0  # median of the last block
    alerts: Counter[str] = field(default_factory=Counter)
    slow: frozenset[int] = frozenset()  # the ranks that are slow now
    stalled: bool = False
    last_step_time: float = 0.0  # seconds since 1970; 0: no step has ended


class Output(threading.Thread):
    """Both files; None: none of this kind. `metrics` are read whenever the textfile is written."""

    def __init__(self, log: Path | None, textfile: Path | None, metrics: Metrics):
        super().__init__(name="StepMonitor output", daemon=True)
        self._log, self._textfile, self._metrics = log, textfile, metrics
        self._lines: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
        self._has_news = False
        self._written = 0.0
        self._job = os.urandom(8).hex()  # in each line: two jobs may append to one file
        self.start()

    def line(self, **values: Any) -> None:
        """Append a line of these values; may be called from any thread."""
        if self._log is not None and self._lines.qsize() < MOST_WAITING:
            self._lines.put({**values, "job": self._job})

    def news(self) -> None:
        """The metrics have changed."""
        self._has_news = True

    def close(self) -> None:
        """Write what waits, for a moment at most."""
        self._lines.put(None)
        self.join(CLOSE_S)

    def run(self) -> None:
        """Until `close`."""
        values: Mapping[str, Any] | None = {}
        while values is not None:
            values = {}
            with contextlib.suppress(Empty):
                values = self._lines.get(timeout=TEXTFILE_S)
            if values:
                self._log = _tried(_append, self._log, json_line(values))
            if self._has_news and (values is None or monotonic() - self._written > TEXTFILE_S):
                self._has_news, self._written = False, monotonic()
                self._textfile = _tried(_replace, self._textfile, metrics_text(self._metrics))


def now() -> str:
    """The time as the lines have it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def say(sentence: str) -> None:
    """One line on stderr, in one write: those of other ranks stay apart."""
    with contextlib.suppress(OSError, ValueError):  # stderr is closed: nobody listens
        sys.stderr.write(f"StepMonitor: {sentence}\n")
        sys.stderr.flush()


def metrics_text(metrics: Metrics) -> str:
    """Return what a textfile collector reads: the text exposition format 0.0.4, without times of its own.

    https://prometheus.io/docs/instrumenting/exposition_formats
    """
    plain = [
        ("steps_total", "counter", "Steps that have ended.", metrics.steps),
        ("step_seconds", "gauge", "Median time of the last steps.", metrics.step_s),
        ("stalled", "gauge", "1 while no step ends.", int(metrics.stalled)),
        ("last_step_timestamp_seconds", "gauge", "When the last step ended that is known.", metrics.last_step_time),
    ]
    lines = [line for name, kind, words, value in plain for line in _family(name, kind, words, [("", value)])]
    kinds = [(f'{{kind="{kind}"}}', metrics.alerts[kind]) for kind in ("slow", "recovered", "groups", "stall")]
    lines += _family("alerts_total", "counter", "Alerts since the start.", kinds)
    blocks = [np.nan_to_num(late_s, nan=0.0) for late_s in tuple(metrics.late_s)]
    if not blocks:
        return "\n".join(lines) + "\n"
    came_last = np.concatenate([late_s.argmax(axis=1) for late_s in blocks])
    last_share = np.bincount(came_last, minlength=len(metrics.names_of_nodes)) / len(came_last)
    median_s = np.median(blocks[-1], axis=0)
    ranks = np.sort(np.argsort(-median_s, kind="stable")[:MOST_RANKS]).tolist()
    labels = {rank: f'{{rank="{rank}",node="{escaped(metrics.names_of_nodes[rank])}"}}' for rank in ranks}
    families: list[tuple[str, str, Iterable[float]]] = [
        ("rank_late_seconds", "Median time from the first rank that is ready to this one.", median_s[ranks]),
        ("rank_last_share", "Share of the last steps to which this rank came last.", last_share[ranks]),
        ("rank_slow", "1 while an alert says that this rank is slow.", [rank in metrics.slow for rank in ranks]),
    ]
    for name, meaning, values in families:
        lines += _family(name, "gauge", meaning, zip(labels.values(), map(float, values)))
    return "\n".join(lines) + "\n"


def escaped(label: str) -> str:
    """A label's value as the format wants it."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _family(name: str, kind: str, words: str, values: Iterable[tuple[str, float]]) -> list[str]:
    name = METRIC_PREFIX + name
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}", *(f"{name}{label} {value!r}" for label, value in values)]


def json_line(values: Mapping[str, Any]) -> str:
    """One line of JSON: arrays as lists, seconds with DIGITS digits, null for what is not known."""
    return json.dumps({key: _plain(value) for key, value in values.items()}, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return round(value, DIGITS) if isfinite(value) else None
    return value


def _tried(write: Callable[[Path, str], None], path: Path | None, text: str) -> Path | None:
    """The path, or None once it cannot be written."""
    if path is None:
        return None
    try:
        write(path, text)
    except OSError as error:
        say(words.unwritten_sentence(path, error))
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

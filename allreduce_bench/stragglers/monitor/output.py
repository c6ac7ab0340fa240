"""The output of StepMonitor: plain sentences on stderr, and files. Ranks, nodes and times come in as values."""

import contextlib
import json
import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from math import isfinite
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

import numpy as np

from ...units import counted
from ..step_alarm import FEWEST_BLOCKS, GROUPS, RECOVERED, STEPS_OF_BLOCK, Alert, TooLittle
from .watchdog import Stall, Unasked

MOST_NAMED = 8  # ranks in one sentence
MOST_ALONE = 4  # alerts of a block with sentences of their own

NO_READY = (
    "no rank calls ready(), so that nobody knows who is late; the times of steps are kept. "
    "Call ready() before the all-reduce of each step"
)
LOST = "RankLost"  # what ended the watch of these ranks
UNFINISHED = "the last steps are not known: not all ranks have come to the end of the `with`"


def namer(node_of: Sequence[int], nodes: Sequence[str], devices: Sequence[str] = ()) -> Callable[[int], str]:
    """Return a formatter of ranks as `rank 5 on node n3 (CUDA 1)`; without the only node, and unknown devices."""

    def name(rank: int) -> str:
        node = f" on node {nodes[node_of[rank]]}" if len(nodes) > 1 else ""
        device = f" ({devices[rank]})" if devices and devices[rank] else ""
        return f"rank {rank}{node}{device}"

    return name


def alert_sentences(alerts: Sequence[Alert], name: Callable[[int], str]) -> list[str]:
    """Return one sentence per alert, or one for all ranks that became slow, or recovered, at once if these are many."""
    told: list[str] = []
    for kind in dict.fromkeys(alert.kind for alert in alerts):
        alike = [alert for alert in alerts if alert.kind == kind]
        told += [_joint_sentence(alike, name)] if len(alike) > MOST_ALONE else [alert_sentence(a, name) for a in alike]
    return told


def alert_sentence(alert: Alert, name: Callable[[int], str]) -> str:
    """Say that a rank became or is no longer slow; or that the ranks are two groups."""
    since, share = f"since step {alert.since_step}", f"{alert.slower_by * 100:.0f} %"
    if alert.kind == GROUPS:
        return (
            f"step {alert.step}: the ranks are two groups: {_name_ranks(alert.ranks, name)} {_verb(alert.ranks)} "
            f"{share} slower than the others {since} (z {alert.z:.1f}); which of them is as it should be is not known"
        )
    who = f"step {alert.step}: {name(alert.rank)} is"
    if alert.kind == RECOVERED:
        return f"{who} as fast as the others again {since}"
    others = "; so are most ranks of its node" if alert.node >= 0 else ""
    return f"{who} {share} slower than the others {since} (z {alert.z:.1f}){others}"


def _joint_sentence(alerts: Sequence[Alert], name: Callable[[int], str]) -> str:
    who = f"step {alerts[0].step}: {_name_ranks([alert.rank for alert in alerts], name)} are"
    since = f"since step {min(alert.since_step for alert in alerts)}"
    if alerts[0].kind == RECOVERED:
        return f"{who} as fast as the others again {since}"
    low, *_, high = sorted(f"{alert.slower_by * 100:3.0f}" for alert in alerts)
    share = f"{high.strip()} %" if low == high else f"{low.strip()} to {high.strip()} %"
    least_z = min(alert.z for alert in alerts)
    return f"{who} {share} slower than the others {since} (z {least_z:.1f} or more)"


def too_little_sentence(little: TooLittle) -> str:
    """Say why a slow rank might have been missed."""
    if little.ranks == 1:
        return "1 rank: there is no other one that it could be later than; the times of its steps are kept"
    begin = f"{little.steps} steps of {little.ranks} ranks"
    if little.least_told is None:
        return f"{begin} are too little to say who is slow; {FEWEST_BLOCKS * STEPS_OF_BLOCK} steps are the fewest"
    least = f"{little.least_told * 100:.0f} % of a step"
    if little.by_clocks:
        return f"{begin}: the clocks of the nodes agree so badly that a rank is told only where it is {least} slower"
    return f"{begin} are too little to say of a rank that it is slow by less than {least}, by the noise of the job"


def stall_sentence(stall: Stall, name: Callable[[int], str]) -> str:
    """Say that no step ends, and who is behind; or that a step has ended again."""
    if stall.is_over:
        return f"step {stall.step} has ended after {stall.stall_s:.0f} s: the stall is over"
    causes = []
    if stall.behind:
        causes.append(f"{_name_ranks(stall.behind, name)} {_verb(stall.behind)} not ready")
    if stall.silent:
        either = "do" if len(stall.silent) > 1 else "does"
        causes.append(
            f"{_name_ranks(stall.silent, name)} {either} not answer (stopped, ended, or busy in a call that holds "
            "Python's lock)"
        )
    if not causes:
        causes.append(_nobody_words(stall))
    if stall.unreached:
        causes.append(f"{_name_ranks(stall.unreached, name)} cannot be asked: no connection to rank 0 since the start")
    return f"no step has ended for {stall.stall_s:.0f} s, step {stall.step} is in progress: {'; '.join(causes)}"


def unasked_sentence(unasked: Unasked, name: Callable[[int], str]) -> str:
    """Say that no step ends, from a rank that rank 0 did not ask."""
    if unasked.is_over:
        return f"{name(unasked.rank)}: step {unasked.step} has ended after {unasked.stall_s:.0f} s: the stall is over"
    return (
        f"{name(unasked.rank)}: no step has ended for {unasked.stall_s:.0f} s, step {unasked.step} is in progress, "
        "and rank 0 does not ask: it is stopped, has ended, or cannot be reached"
    )


def twice_sentence(step: int, rank: int) -> str:
    """Say that a rank calls ready() several times in a step; reported once."""
    return f"step {step}: rank {rank} called ready() twice; the last call counts. Call it once in each step"


def unwritten_sentence(path: object, error: OSError) -> str:
    """Say that a file cannot be written; reported once."""
    return f"cannot write '{path}': {error.strerror or error}; the program goes on without this file"


def _nobody_words(stall: Stall) -> str:
    if not stall.says_ready:
        return "which rank is late is not known, the program does not call ready()"
    if stall.all_ready and stall.unreached:
        return "the ranks that answer are ready"
    if stall.all_ready:
        return "all ranks are ready, the all-reduce itself does not end"
    return "no rank is ready"


def _verb(ranks: Sequence[int]) -> str:
    return "are" if len(ranks) > 1 else "is"


def _name_ranks(ranks: Sequence[int], name: Callable[[int], str]) -> str:
    named = [name(rank) for rank in ranks[:MOST_NAMED]]
    if len(ranks) > MOST_NAMED:
        named.append(counted(len(ranks) - MOST_NAMED, "more rank"))
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


# The files of rank 0, written in a thread: a slow file system does not delay the steps
#
# Lines of JSON are appended whole, one write each. The textfile for Prometheus is replaced atomically, so that a
# collector never reads half of one. A write error is reported once, and the program goes on.


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
    labels = {rank: f'{{rank="{rank}",node="{escape_label(metrics.names_of_nodes[rank])}"}}' for rank in ranks}
    families: list[tuple[str, str, Iterable[float]]] = [
        ("rank_late_seconds", "Median time from the first rank that is ready to this one.", median_s[ranks]),
        ("rank_last_share", "Share of the last steps to which this rank came last.", last_share[ranks]),
        ("rank_slow", "1 while an alert says that this rank is slow.", [rank in metrics.slow for rank in ranks]),
    ]
    for name, meaning, values in families:
        lines += _family(name, "gauge", meaning, zip(labels.values(), map(float, values)))
    return "\n".join(lines) + "\n"


def escape_label(label: str) -> str:
    """Escape a label's value for the format."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _family(name: str, kind: str, words: str, values: Iterable[tuple[str, float]]) -> list[str]:
    name = METRIC_PREFIX + name
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}", *(f"{name}{label} {value!r}" for label, value in values)]


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
        warn(unwritten_sentence(path, error))
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

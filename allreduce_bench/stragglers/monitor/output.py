"""What StepMonitor says, one plain sentence each. Ranks, nodes and times come in as values."""

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

from ...message import say
from ..step_alarm import FEWEST_BLOCKS, GROUPS, RECOVERED, STEPS_OF_BLOCK, Alert, TooLittle
from .watchdog import Stall, Unasked

MOST_NAMED = 8  # ranks in one sentence
MOST_ALONE = 4  # alerts of a block that have sentences of their own

NO_READY = (
    "no rank calls ready(), so that nobody knows who is late; the times of steps are kept. "
    "Call ready() before the all-reduce of each step"
)
UNFINISHED = "the last steps are not known: not all ranks have come to the end of the `with`"


def namer(node_of: Sequence[int], nodes: Sequence[str], devices: Sequence[str] = ()) -> Callable[[int], str]:
    """`rank 5 on node n3 (CUDA 1)` of a rank; without the node where there is one only, and without unknown devices."""

    def name(rank: int) -> str:
        node = f" on node {nodes[node_of[rank]]}" if len(nodes) > 1 else ""
        device = f" ({devices[rank]})" if devices and devices[rank] else ""
        return f"rank {rank}{node}{device}"

    return name


def alert_sentences(alerts: Sequence[Alert], name: Callable[[int], str]) -> list[str]:
    """One of each alert; one of all ranks that became slow, or recovered, at once where these are many."""
    told: list[str] = []
    for kind in dict.fromkeys(alert.kind for alert in alerts):
        alike = [alert for alert in alerts if alert.kind == kind]
        told += [_joint_sentence(alike, name)] if len(alike) > MOST_ALONE else [alert_sentence(a, name) for a in alike]
    return told


def alert_sentence(alert: Alert, name: Callable[[int], str]) -> str:
    """A rank became slow, or is not slow any more; or the ranks are two groups."""
    since, share = f"since step {alert.since_step}", f"{alert.slower_by * 100:.0f} %"
    if alert.kind == GROUPS:
        return say(
            "stragglers.step_ranks_two_groups",
            step=alert.step,
            ranks=_listed(alert.ranks, name),
            ranks_2=_is(alert.ranks),
            share=share,
            since=since,
            z=alert.z,
        )
    who = f"step {alert.step}: {name(alert.rank)} is"
    if alert.kind == RECOVERED:
        return say("stragglers.fast_others_again", who=who, since=since)
    others = say("stragglers.most_ranks_node") if alert.node >= 0 else ""
    return say("stragglers.slower_others", who=who, share=share, since=since, z=alert.z, others=others)


def _joint_sentence(alerts: Sequence[Alert], name: Callable[[int], str]) -> str:
    who = f"step {alerts[0].step}: {_listed([alert.rank for alert in alerts], name)} are"
    since = f"since step {min(alert.since_step for alert in alerts)}"
    if alerts[0].kind == RECOVERED:
        return say("stragglers.fast_others_again", who=who, since=since)
    low, *_, high = sorted(f"{alert.slower_by * 100:3.0f}" for alert in alerts)
    share = f"{high.strip()} %" if low == high else f"{low.strip()} to {high.strip()} %"
    return say(
        "stragglers.slower_others_more", who=who, share=share, since=since, alerts=min(alert.z for alert in alerts)
    )


def too_little_sentence(little: TooLittle) -> str:
    """Why a rank that is slow might not have been told."""
    if little.ranks == 1:
        return say("stragglers.rank_no_other_could")
    begin = f"{little.steps} steps of {little.ranks} ranks"
    if little.least_told is None:
        return say("stragglers.too_little_say_slow", begin=begin, fewest_blocks=FEWEST_BLOCKS * STEPS_OF_BLOCK)
    least = f"{little.least_told * 100:.0f} % of a step"
    if little.by_clocks:
        return say("stragglers.clocks_nodes_agree_badly", begin=begin, least=least)
    return say("stragglers.too_little_say_rank", begin=begin, least=least)


def stall_sentence(stall: Stall, name: Callable[[int], str]) -> str:
    """No step ends, and who is behind; or a step has ended again."""
    if stall.is_over:
        return say("stragglers.step_ended_after_stall", step=stall.step, stall_s=stall.stall_s)
    causes = []
    if stall.behind:
        causes.append(f"{_listed(stall.behind, name)} {_is(stall.behind)} not ready")
    if stall.silent:
        causes.append(
            say(
                "stragglers.not_answer_stopped_ended",
                silent=_listed(stall.silent, name),
                either="do" if len(stall.silent) > 1 else "does",
            )
        )
    if not causes:
        causes.append(_nobody(stall))
    if stall.unreached:
        causes.append(say("stragglers.cannot_asked_no_connection", unreached=_listed(stall.unreached, name)))
    return say("stragglers.no_step_ended_step", stall_s=stall.stall_s, step=stall.step, causes="; ".join(causes))


def unasked_sentence(unasked: Unasked, name: Callable[[int], str]) -> str:
    """Say that no step ends, from a rank that rank 0 did not ask."""
    if unasked.is_over:
        return say(
            "stragglers.step_ended_after_stall_over",
            name=name(unasked.rank),
            step=unasked.step,
            stall_s=unasked.stall_s,
        )
    return say(
        "stragglers.no_step_ended_step_progress", name=name(unasked.rank), stall_s=unasked.stall_s, step=unasked.step
    )


def twice_sentence(step: int, rank: int) -> str:
    """One rank calls ready() several times in a step; said once."""
    return say("stragglers.step_rank_called_ready", step=step, rank=rank)


def unwritten_sentence(path: object, error: OSError) -> str:
    """A file cannot be written; said once."""
    return say("stragglers.cannot_write_program_goes", path=path, strerror=error.strerror or error)


def _nobody(stall: Stall) -> str:
    if not stall.says_ready:
        return say("stragglers.rank_late_not_known")
    if stall.all_ready and stall.unreached:
        return say("stragglers.ranks_answer_ready")
    if stall.all_ready:
        return say("stragglers.ranks_ready_reduce_itself")
    return say("stragglers.no_rank_ready")


def _is(ranks: Sequence[int]) -> str:
    return "are" if len(ranks) > 1 else "is"


def _listed(ranks: Sequence[int], name: Callable[[int], str]) -> str:
    named = [name(rank) for rank in ranks[:MOST_NAMED]]
    if len(ranks) > MOST_NAMED:
        named.append(f"{len(ranks) - MOST_NAMED} more ranks")
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


# The files that rank 0 writes, in a thread: a slow file system does not delay the steps.
#
# Lines of JSON are appended whole, one write each. The textfile for Prometheus is written beside its place and renamed,
# so that a collector never reads half of one. What cannot be written is told once, and the program goes on.


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


def warn(sentence: str) -> None:
    """One line on stderr, in one write: those of other ranks stay apart."""
    with contextlib.suppress(OSError, ValueError):  # stderr is closed: nobody listens
        sys.stderr.write(f"StepMonitor: {sentence}\n")
        sys.stderr.flush()


def metrics_text(metrics: Metrics) -> str:
    """Return what a textfile collector reads: the text exposition format 0.0.4, without times of its own.

    https://prometheus.io/docs/instrumenting/exposition_formats
    """
    plain = [
        ("steps_total", "counter", say("stragglers.steps_ended"), metrics.steps),
        ("step_seconds", "gauge", say("stragglers.median_time_last_steps"), metrics.step_s),
        ("stalled", "gauge", say("stragglers.while_no_step_ends"), int(metrics.stalled)),
        ("last_step_timestamp_seconds", "gauge", say("stragglers.when_last_step_ended"), metrics.last_step_time),
    ]
    lines = [line for name, kind, words, value in plain for line in _family(name, kind, words, [("", value)])]
    kinds = [(f'{{kind="{kind}"}}', metrics.alerts[kind]) for kind in ("slow", "recovered", "groups", "stall")]
    lines += _family("alerts_total", "counter", say("stragglers.alerts_since_start"), kinds)
    blocks = [np.nan_to_num(late_s, nan=0.0) for late_s in tuple(metrics.late_s)]
    if not blocks:
        return "\n".join(lines) + "\n"
    came_last = np.concatenate([late_s.argmax(axis=1) for late_s in blocks])
    last_share = np.bincount(came_last, minlength=len(metrics.names_of_nodes)) / len(came_last)
    median_s = np.median(blocks[-1], axis=0)
    ranks = np.sort(np.argsort(-median_s, kind="stable")[:MOST_RANKS]).tolist()
    labels = {rank: f'{{rank="{rank}",node="{escaped(metrics.names_of_nodes[rank])}"}}' for rank in ranks}
    families: list[tuple[str, str, Iterable[float]]] = [
        ("rank_late_seconds", say("stragglers.median_time_first_rank"), median_s[ranks]),
        ("rank_last_share", say("stragglers.share_last_steps_rank"), last_share[ranks]),
        ("rank_slow", say("stragglers.while_alert_says_rank"), [rank in metrics.slow for rank in ranks]),
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

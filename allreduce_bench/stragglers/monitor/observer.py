"""Evaluation of the steps: alerts, the same on all ranks that want them; files and sentences on rank 0."""

from collections import deque
from collections.abc import Callable
from math import inf
from pathlib import Path
from time import time
from typing import NamedTuple

import numpy as np

from ..step_alarm import GROUPS, RECOVERED, Alert, StepAlarm, TooLittle
from . import words
from .blocks import Block
from .output import Metrics, OutputThread, now, warn
from .watchdog import Stall

SCHEMA = "allreduce-bench-steps-1"
TOLD = 0.2  # of a step: if no smaller lateness was detectable, that is reported at the end
SHARE_BLOCKS = 10  # last blocks by which the metrics name the last rank


class MonitoredJob(NamedTuple):
    """The ranks of a program, as known to all of them."""

    rank: int
    node_of: tuple[int, ...]  # of each rank the number of its node, in order of first rank
    nodes: tuple[str, ...]  # names
    every: int | None  # steps of a block, as the user says
    clock_error_s: float = 0.0  # of two ranks at the start


class Observer:
    """The consumer of blocks; calls `on_alert` with each Alert on all ranks, and with each Stall in a thread of
    rank 0.
    """

    def __init__(
        self, job: MonitoredJob, log: Path | None, textfile: Path | None, on_alert: Callable[..., object] | None
    ):
        self.job, self.on_alert = job, on_alert
        self.name = words.namer(job.node_of, job.nodes)
        self.alarm = StepAlarm(len(job.node_of), job.node_of)
        last_blocks: deque[np.ndarray] = deque(maxlen=SHARE_BLOCKS)
        self.metrics = Metrics(tuple(job.nodes[node] for node in job.node_of), last_blocks)
        self._output = OutputThread(log, textfile, self.metrics) if job.rank == 0 and (log or textfile) else None
        self._says_ready = True
        if self._output:
            facts = {"ranks": len(job.node_of), "node_of": job.node_of, "nodes": job.nodes, "every": job.every}
            self._output.line(kind="start", schema=SCHEMA, **facts, clock_error_s=job.clock_error_s, time=now())

    def take(self, block: Block) -> None:
        """Process the next block, on all ranks. Raises what `on_alert` raises."""
        if not len(block.step_s):
            return
        has_ready = not np.isnan(block.ready_s).all()
        alerts: list[Alert] = []
        if has_ready and len(self.job.node_of) > 1 and (self.job.rank == 0 or self.on_alert):  # else nobody needs it
            self.alarm.clock_error_s = block.clock_error_s
            alerts = [self._place_alert(alert) for alert in self.alarm.update(block.ready_s, block.step_s)]
        if self.job.rank == 0:
            if self._says_ready and not has_ready and len(self.job.node_of) > 1:
                warn(words.NO_READY)
            self._says_ready = has_ready
            self._count(block, has_ready, alerts)
            for sentence in words.alert_sentences(alerts, self.name):
                warn(sentence)
            self._write(block, has_ready, alerts)
        for alert in alerts if self.on_alert else ():
            self.on_alert(alert)  # type: ignore[misc]  # not None here

    def tell(self, fact: Stall) -> None:
        """Report a stall, in a watchdog's thread; an exception of `on_alert` is reported in one line."""
        warn(words.stall_sentence(fact, self.name))
        if fact.told_by:
            return
        self.metrics.stalled = not fact.is_over
        self.metrics.alerts["stall"] += not fact.is_over
        if self._output:
            self._output.line(kind="stall", **fact._asdict(), time=now())
            self._output.news()
        try:
            if self.on_alert:
                self.on_alert(fact)
        except Exception as error:  # of the program's own function; a thread has no caller
            warn(f"on_alert raised {type(error).__name__}: {error}")

    def close(self, *, complete: bool, raised: str) -> None:
        """Finish. `complete`: all steps of all ranks are known; `raised`: the name of an exception, or empty."""
        if self.job.rank == 0 and not complete and not raised:
            warn(words.UNFINISHED)
        little = self._too_little() if self.job.rank == 0 and complete else None
        if little:
            warn(words.too_little_sentence(little))
        if self._output:
            end: dict[str, object] = {
                "steps": self.metrics.steps,
                "complete": complete,
                "raised": raised or None,
                "time": now(),
            }
            if little:
                end |= {"too_little": little._asdict()}
            self._output.line(kind="end", **end)
            self._output.news()
            self._output.close()

    def _place_alert(self, alert: Alert) -> Alert:
        """Add the host of its rank."""
        return alert._replace(host=self.job.nodes[self.job.node_of[alert.rank]])

    def _too_little(self) -> TooLittle | None:
        """Return why a slow rank might have been missed; None if it would have been detected, or without ready
        times.
        """
        is_judged = self._says_ready or len(self.job.node_of) == 1
        little = self.alarm.too_little(self.metrics.steps) if self.metrics.steps and is_judged else None
        return little if little and (little.least_told or inf) > TOLD else None

    def _count(self, block: Block, has_ready: bool, alerts: list[Alert]) -> None:
        metrics = self.metrics
        metrics.steps = block.first_step + len(block.step_s)
        metrics.step_s, metrics.last_step_time = block.median_step_s, time()
        for alert in alerts:
            metrics.alerts[alert.kind] += 1
            if alert.kind == GROUPS:
                continue
            metrics.slow = metrics.slow - {alert.rank} if alert.kind == RECOVERED else metrics.slow | {alert.rank}
        if has_ready:
            metrics.late_s.append(block.late_s)

    def _write(self, block: Block, has_ready: bool, alerts: list[Alert]) -> None:
        if not self._output:
            return
        late_s = block.late_s.T if has_ready else None
        times = {"step_s": block.step_s, "late_s": late_s, "ready_s": None, "clock_error_s": block.clock_error_s}
        self._output.line(kind="steps", first_step=block.first_step, **times)
        for alert in alerts:
            self._output.line(**alert._asdict(), time=now())
        self._output.news()

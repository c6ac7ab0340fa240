"""Evaluation of the steps: alerts, the same on all ranks that want them; the log and sentences on rank 0."""

from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..step_alarm import Alert, StepAlarm, TooLittle
from . import words
from .blocks import Block
from .output import LogThread, now, warn
from .watchdog import Stall

SCHEMA = "allreduce-bench-steps-1"
TOLD = 0.2  # of a step: if no smaller lateness was detectable, that is reported at the end


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

    def __init__(self, job: MonitoredJob, log: Path | None, on_alert: Callable[..., object] | None):
        self.job, self.on_alert = job, on_alert
        self.name = words.namer(job.node_of, job.nodes)
        self.alarm = StepAlarm(len(job.node_of), job.node_of)
        self._log = LogThread(log) if job.rank == 0 and log else None
        self._says_ready, self._steps = True, 0
        if self._log:
            facts = {"ranks": len(job.node_of), "node_of": job.node_of, "nodes": job.nodes, "every": job.every}
            self._log.line(kind="start", schema=SCHEMA, **facts, clock_error_s=job.clock_error_s, time=now())

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
            self._says_ready, self._steps = has_ready, block.first_step + len(block.step_s)
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
        if self._log:
            self._log.line(kind="stall", **fact._asdict(), time=now())
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
        if self._log:
            why = {"too_little": little._asdict()} if little else {}
            self._log.line(kind="end", steps=self._steps, complete=complete, raised=raised or None, time=now(), **why)
            self._log.close()

    def _place_alert(self, alert: Alert) -> Alert:
        """Add the host of its rank."""
        return alert._replace(host=self.job.nodes[self.job.node_of[alert.rank]])

    def _too_little(self) -> TooLittle | None:
        """Return why a slow rank might have been missed; None if it would have been detected, or without ready
        times.
        """
        is_judged = self._says_ready or len(self.job.node_of) == 1
        little = self.alarm.too_little(self._steps) if self._steps and is_judged else None
        return little if little and (little.least_told or inf) > TOLD else None

    def _write(self, block: Block, has_ready: bool, alerts: list[Alert]) -> None:
        if not self._log:
            return
        late_s = block.late_s.T if has_ready else None
        times = {"step_s": block.step_s, "late_s": late_s, "clock_error_s": block.clock_error_s}
        self._log.line(kind="steps", first_step=block.first_step, **times)
        for alert in alerts:
            self._log.line(**alert._asdict(), time=now())

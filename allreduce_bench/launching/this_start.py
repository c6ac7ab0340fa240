"""What belongs to this start of `run` and is not kept: its runs, its limits, its launches, and the warning."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..runs.control import Control
from ..runs.folder import RunFolder
from ..runs.plan import Launch, Plan
from ..watching.lifeline import WarningFlag
from ..watching.progress import LaunchPosition, ProgressLines
from .idle_wait import IdleWait
from .launcher import Launcher, on_one_node


@dataclass(eq=False)
class Run:
    """A run that is measured, and its launches that did not complete as planned."""

    folder: RunFolder
    plan: Plan
    launcher: Launcher
    left_out: list[Launch] = field(default_factory=list)  # not started: time used up, or a warning
    in_vain: list[Launch] = field(default_factory=list)  # time used up before a cell was measured
    failed: dict[Launch, str] = field(default_factory=dict)  # -> the reason, with the launch's name
    given_up: list[Launch] = field(default_factory=list)  # after failures of such launches
    hopeless: set[tuple[int, str]] = field(default_factory=set)  # ranks, and what the library is told: see `Launch`

    def gives_up(self, launch: Launch) -> bool:
        """Return whether launches with as many ranks failed before, told the same algorithm or none."""
        return bool(self.hopeless & {(launch.ranks, ""), (launch.ranks, launch.forced)})


@dataclass(kw_only=True)
class ThisStart:
    """This start of one run, or of several which differ in conditions and whose launches alternate."""

    control: Control  # its time limit covers all launches, from `started`
    started: float = field(default_factory=time.time)  # seconds since the epoch
    warning: WarningFlag = field(default_factory=WarningFlag)  # no launch is started, the current one ends early
    show: Callable[[LaunchPosition], ProgressLines] = ProgressLines
    idle_wait: IdleWait = field(default_factory=lambda: IdleWait(0.0))  # its time does not count as `within_s`
    runs: Sequence[Run] = ()
    launches: Sequence[Launch] = ()  # of the plan of each, for this start
    after_first: Callable[[RunFolder], object] | None = None  # called after the first measured launch if others follow

    @property
    def left_s(self) -> float | None:
        """Return the seconds left of `within_s`, or None without a limit."""
        within_s = self.control.within_s
        return None if within_s is None else self.started + self.idle_wait.waited_s + within_s - time.time()

    @property
    def is_on_one_node(self) -> bool:
        """Return whether all ranks of all launches run on one node."""
        runs = [(run.launcher, max(run.plan.ranks), run.plan.start) for run in self.runs]
        return all(on_one_node(launcher, ranks, start, os.environ) for launcher, ranks, start in runs)

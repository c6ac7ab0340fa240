"""Without a launcher around it: starts mpirun itself for every planned launch that has cells left."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from .environment import program
from .launch import Launcher, mpirun_command
from .lifeline import COMMAND_VARIABLE, end_with_parent
from .plan import Launch, Plan
from .runfolder import RunFolder
from .started import ranks_a_node, thread_level

SHORTEST_LAUNCH_S = 5.0  # below, a launch is mostly its own start


class Stopped(RuntimeError):
    """A launch that did not end well, in words."""


def drive(
    folder: RunFolder, plan: Plan, launcher: Launcher, within_s: float | None, say: Callable[[str], None]
) -> list[Launch]:
    """Start the pending launches one after the other; return those for which `within_s` left no time.

    Raises Stopped when a launch fails: what was measured is kept.
    """
    launches, left_out = _that_fit(folder.pending(plan), len(plan.ranks), within_s)
    started = time.time()
    for number, launch in enumerate(launches):
        left = None if within_s is None else within_s - (time.time() - started)
        if left is not None and left <= 0:
            return launches[number:] + left_out
        deadline = None if left is None else time.time() + left / (len(launches) - number)
        command = _command(folder, plan, launcher, launch, deadline, (number + 1, len(launches), started))
        if number < len(plan.ranks):
            say(shlex.join(command))
        status = _start(command)
        if status:
            raise Stopped(f"launch {launch.name} {_how_it_ended(status)}; finished cells are kept")
    return left_out


def _that_fit(launches: list[Launch], rank_counts: int, within_s: float | None) -> tuple[list[Launch], list[Launch]]:
    """The launches worth starting in `within_s`, one for every rank count at least, and the others."""
    if within_s is None:
        return launches, []
    rounds = max(1, int(within_s / (SHORTEST_LAUNCH_S * rank_counts)))
    return launches[: rounds * rank_counts], launches[rounds * rank_counts :]


def _command(folder, plan: Plan, launcher: Launcher, launch: Launch, deadline, place) -> list[str]:
    number, planned, started = place
    inner = [*program(), "measure", "--launch", launch.name]
    inner += ["--place", f"{number}/{planned}", "--started", f"{started:.0f}"]
    inner += ["--thread-level", thread_level(plan.thread_level, ranks_a_node(launch.ranks))]
    if deadline is not None:
        inner += ["--deadline", f"{deadline:.1f}"]
    inner += ["--", str(folder.path)]  # a name may begin with a dash
    return mpirun_command(launcher, launch.ranks, plan.start, inner)


def _start(command: list[str]) -> int:
    environ = {**os.environ, COMMAND_VARIABLE: shlex.join(command)}
    sys.stdout.flush()
    ended = subprocess.run(  # without stdin: mpirun would swallow what is meant for others
        command, env=environ, preexec_fn=end_with_parent, stdin=subprocess.DEVNULL, check=False
    )
    return ended.returncode


def _how_it_ended(status: int) -> str:
    number = -status if status < 0 else status - 128
    try:
        return f"was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended with status {status}"

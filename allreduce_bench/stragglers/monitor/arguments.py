"""The arguments of `StepMonitor`: invalid ones are refused in one sentence."""

from collections.abc import Callable
from math import inf
from os import PathLike
from pathlib import Path

from ...units import parse_duration

MOST_EVERY = 10_000  # steps of a block, if specified


def check_every(every: int | None) -> int | None:
    """Return the validated steps of a block. Raises ValueError."""
    if every is None:
        return None
    if isinstance(every, bool) or not isinstance(every, int) or not 1 <= every <= MOST_EVERY:
        raise ValueError(f"StepMonitor: every is {every!r}; expected a number of steps from 1 to {MOST_EVERY}")
    return every


def check_log(path: str | PathLike | None) -> Path | None:
    """Return the absolute path: the program may change its working directory. Raises ValueError."""
    if path is not None and not Path(path).name:
        raise ValueError(f"StepMonitor: log is '{path}'; expected the name of a file")
    return None if path is None else Path(path).absolute()


def check_function(on_alert: Callable[..., object] | None) -> Callable[..., object] | None:
    """Return the validated callback. Raises TypeError."""
    if on_alert is not None and not callable(on_alert):
        raise TypeError(f"StepMonitor: on_alert is {on_alert!r:.40}; expected a function of one argument")
    return on_alert


def check_duration(stall_after: str | float | None) -> float | None:
    """Return seconds. Raises ValueError."""
    if stall_after is None:
        return None
    duration_s = parse_duration(stall_after) if isinstance(stall_after, str) else float(stall_after)
    if isinstance(stall_after, bool) or not 0 < duration_s < inf:
        raise ValueError(f"StepMonitor: stall_after is {stall_after!r}; expected more than 0 s, such as '90s' or 90")
    return duration_s

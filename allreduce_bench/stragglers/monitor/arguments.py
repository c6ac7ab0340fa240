"""The arguments of `StepMonitor`, checked: what has no meaning is refused in one sentence."""

from collections.abc import Callable
from math import isfinite
from os import PathLike
from pathlib import Path

from ...units import parse_duration

MOST_EVERY = 10_000  # steps of a block


def checked_every(every: int | None) -> int | None:
    """Steps of a block. Raises ValueError."""
    if every is None:
        return None
    if isinstance(every, bool) or not isinstance(every, int) or not 1 <= every <= MOST_EVERY:
        raise ValueError(f"StepMonitor: every is {every!r}; expected a number of steps from 1 to {MOST_EVERY}")
    return every


def checked_path(name: str, path: str | PathLike | None, suffix: str = "") -> Path | None:
    """The absolute path: the program may change its working directory. Raises ValueError."""
    if path is None:
        return None
    if not Path(path).name:
        raise ValueError(f"StepMonitor: {name} is '{path}'; expected the name of a file")
    if suffix and Path(path).name == suffix:
        raise ValueError(
            f"StepMonitor: {name} '{path}' has no name before {suffix}; expected one, such as steps{suffix}"
        )
    if suffix and Path(path).suffix != suffix:
        raise ValueError(f"{name} '{path}' must end in {suffix}: node_exporter reads no other files")
    return Path(path).absolute()


def checked_function(on_alert: Callable[..., object] | None) -> Callable[..., object] | None:
    """What is called with alerts. Raises TypeError."""
    if on_alert is not None and not callable(on_alert):
        raise TypeError(f"StepMonitor: on_alert is {on_alert!r:.40}; expected a function of one argument")
    return on_alert


def checked_duration(stall_after: str | float | None) -> float | None:
    """Seconds. Raises ValueError."""
    if stall_after is None:
        return None
    if isinstance(stall_after, bool):
        raise ValueError(f"StepMonitor: stall_after is {stall_after}; expected more than 0 s, such as '90s' or 90")
    duration_s = parse_duration(stall_after) if isinstance(stall_after, str) else float(stall_after)
    if not (isfinite(duration_s) and duration_s > 0):
        raise ValueError(f"StepMonitor: stall_after is {stall_after!r}; expected more than 0 s, such as '90s' or 90")
    return duration_s

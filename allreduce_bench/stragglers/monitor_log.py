"""The JSON lines that `StepMonitor` writes about a program's steps, read as arrivals; see `monitor`."""

import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..importers.lines import LogLine, lines_of, warn_of_row
from ..importers.row import LogError, LogNote, LogWarning
from ..units import MAX_RANKS, printable
from .arrivals import Arrivals
from .monitor.observer import SCHEMA

LONGEST_S = 1e6  # of a step, or of a lateness: 11 days
MOST_CLAIMED = 10**7  # ranks times steps of which a file gives only the number


def recognises(text: str) -> bool:
    """Return whether this is such a file, or begins like one."""
    return text.lstrip("\ufeff \t\r\n").startswith("{") and f'"{SCHEMA}"' in text


def read_sessions(path: Path, text: str) -> list[Arrivals]:
    """Return the arrivals of every start of the program in the file that has steps. Raises LogError.

    The origin of `ready_s` is the earliest rank of each step. A truncated line is skipped with a warning. Lines belong
    to the start with the same `job`.
    """
    sessions: dict[str, _Session] = {}
    for line, record in _records(path, text):
        try:
            kind, session = record.get("kind"), sessions.get(record.get("job", ""))
            if kind == "start":
                sessions[record["job"]] = _Session(record)
            elif kind == "steps" and session is None:
                warn_of_row(str(path), line, "the start of its job is not in this file")
            elif kind == "steps" and session and (expected := session.take(record)) is not None:
                step = f"step {record['first_step']} where step {expected} is expected; lines are missing"
                warnings.warn(f"{path}, line {line.number}: {step}", LogWarning, stacklevel=2)
            elif kind == "stall" and not record.get("is_over"):
                stall = f"{path}, line {line.number}: the monitor noticed that no step ended"
                warnings.warn(stall, LogNote, stacklevel=2)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise LogError(
                f"{path}, line {line.number}: {printable(str(error))[:80]}; expected a line of {SCHEMA}"
            ) from error
    arrivals = [session.arrivals() for session in sessions.values() if session.step_s]
    if not arrivals:
        raise LogError(f"{path}, line 1: no steps; expected lines of {SCHEMA} with kind start and steps")
    return arrivals


def _records(path: Path, text: str) -> Iterator[tuple[LogLine, Mapping[str, Any]]]:
    """Yield every line that is an object."""
    for line in lines_of(text):
        if not line.text.strip():
            continue
        try:
            record = json.loads(line.text.lstrip("\ufeff"))
        except (ValueError, RecursionError):
            warn_of_row(str(path), line, "damaged JSON" if line.ended else "cut off")
            continue
        if isinstance(record, dict):
            yield line, record


class _Session:
    """One start of a program."""

    def __init__(self, start: Mapping[str, Any]):
        self.ranks = start["ranks"]
        if type(self.ranks) is not int or not 0 < self.ranks <= MAX_RANKS:
            raise ValueError(f"ranks is {self.ranks!r:.40}")
        node_of = start.get("node_of") or [0] * self.ranks
        self.nodes = tuple(printable(str(name)) for name in start.get("nodes") or ())
        if len(node_of) != self.ranks or not all(type(node) is int and 0 <= node < self.ranks for node in node_of):
            raise ValueError(f"node_of is {node_of!r:.40}")
        if self.nodes and max(node_of) >= len(self.nodes):
            raise ValueError(f"node_of names node {max(node_of)} of {len(self.nodes)}")
        self.node_of = tuple(node_of)
        self.clock_error_s = _seconds(start.get("clock_error_s") or 0.0)
        self.step_s: list[np.ndarray] = []
        self.late_s: list[np.ndarray] = []
        self.next_step: int | None = None
        self.is_gapless = True

    def take(self, record: Mapping[str, Any]) -> int | None:
        """Take in a block of steps; return the expected step if it begins with another. Raises ValueError."""
        step_s = _times("step_s", record["step_s"])
        if record["late_s"] is None:  # the program never called ready()
            if self.ranks * sum(map(len, [step_s, *self.step_s])) > MOST_CLAIMED:
                raise ValueError(f"{self.ranks} ranks are claimed, and no line says when one was ready")
            late_s = np.full((self.ranks, step_s.size), np.nan)
        else:
            late_s = _times("late_s", record["late_s"])
        if step_s.ndim != 1 or late_s.shape != (self.ranks, step_s.size):
            raise ValueError(f"late_s is {late_s.shape}, step_s {step_s.shape}, of {self.ranks} ranks")
        first = int(record["first_step"])
        expected = None if self.next_step in (None, first) else self.next_step
        self.is_gapless &= expected is None
        self.next_step = first + len(step_s)
        self.clock_error_s = max(self.clock_error_s, _seconds(record.get("clock_error_s") or 0.0))
        self.step_s.append(step_s)
        self.late_s.append(late_s.T)
        return expected

    def arrivals(self) -> Arrivals:
        """Return the arrivals of all steps."""
        step_s = np.concatenate(self.step_s)
        begin_s = np.concatenate([[0.0], np.cumsum(step_s)[:-1]]) if self.is_gapless else None
        late_s = np.concatenate(self.late_s)
        return Arrivals(late_s, step_s, self.clock_error_s, self.node_of, self.nodes, begin_s)


def _times(name: str, values: Any) -> np.ndarray:
    """Return seconds; null is NaN. Raises ValueError."""
    times_s = np.array(values, dtype=float)
    if times_s.ndim and not (np.isnan(times_s) | ((times_s >= 0) & (times_s <= LONGEST_S))).all():
        raise ValueError(f"{name} is not from 0 to {LONGEST_S:g} s everywhere")
    return times_s


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= LONGEST_S:
        raise ValueError(f"clock_error_s is {value!r:.40}")
    return float(value)

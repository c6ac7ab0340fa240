"""The JSON lines that `StepMonitor` writes about a program's steps, read as arrivals; see `monitor`."""

import json
import warnings
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..importers.lines import LogLine, lines_of, warn_of_row
from ..importers.row import LogError, LogNote, LogWarning
from ..runs.typed_json import Natural, at_least, read_as
from ..units import MAX_RANKS, printable
from .arrivals import Arrivals
from .monitor.observer import SCHEMA
from .monitor.watchdog import Stall
from .monitor.words import namer, stall_sentence

LONGEST_S = 1e6  # of a step, or of a lateness: 11 days


def recognises(text: str) -> bool:
    """Return whether this is such a file, or begins like one."""
    return text.lstrip("\ufeff \t\r\n").startswith("{") and f'"{SCHEMA}"' in text


class _Start(NamedTuple):
    """The line of a start of a program."""

    job: str
    ranks: Annotated[int, at_least(1, MAX_RANKS)]
    node_of: tuple[Natural, ...]  # of each rank
    nodes: tuple[str, ...]
    clock_error_s: Annotated[float, at_least(0, LONGEST_S)]


def read_sessions(path: Path, text: str) -> list[Arrivals]:
    """Return the arrivals of every start of the program in the file that has steps. Raises LogError.

    The origin of `ready_s` is the earliest rank of each step. A truncated line is skipped with a warning. Lines belong
    to the start with the same `job`.
    """
    sessions: dict[str, _Session] = {}
    stalled = ""
    for line, record in _records(path, text):
        place = f"{path}, line {line.number}"
        try:
            kind, session = record.get("kind"), sessions.get(record.get("job", ""))
            if kind == "start":
                start = read_as(_Start, record)
                sessions[start.job] = _Session(start)
            elif kind in ("steps", "stall") and session is None:
                warn_of_row(str(path), line, "the start of its job is not in this file")
            elif kind == "steps" and session and (expected := session.take(record)) is not None:
                step = f"step {record['first_step']} where step {expected} is expected; lines are missing"
                warnings.warn(f"{place}: {step}", LogWarning, stacklevel=2)
            elif kind == "stall" and session and (sentence := session.stall_words(record)):
                stalled = f"{place}: {sentence}"
                warnings.warn(stalled, LogNote, stacklevel=2)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise LogError(f"{place}: {printable(str(error))[:80]}; expected a line of {SCHEMA}") from error
    arrivals = [session.arrivals() for session in sessions.values() if session.step_s]
    if not arrivals:
        raise LogError(stalled or f"{path}, line 1: no steps; expected lines of {SCHEMA} with kind start and steps")
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

    def __init__(self, start: _Start):
        """Begin without steps. Raises ValueError if ranks and nodes do not fit."""
        if len(start.node_of) != start.ranks or max(start.node_of) >= max(len(start.nodes), 1):
            raise ValueError(f"node_of is {start.node_of!r:.40}, of {start.ranks} ranks and {len(start.nodes)} nodes")
        self.ranks, self.node_of, self.clock_error_s = start.ranks, start.node_of, start.clock_error_s
        self.nodes = tuple(map(printable, start.nodes))
        self.step_s: list[np.ndarray] = []
        self.late_s: list[np.ndarray] = []
        self.next_step: int | None = None
        self.is_gapless = True

    def take(self, record: Mapping[str, Any]) -> int | None:
        """Take in a block of steps; return the expected step if it begins with another. Raises ValueError."""
        step_s = _times("step_s", record["step_s"])
        if record["late_s"] is None:  # the program never called ready()
            late_s = np.full((self.ranks, step_s.size), np.nan)
        else:
            late_s = _times("late_s", record["late_s"])
        if step_s.ndim != 1 or late_s.shape != (self.ranks, step_s.size):
            raise ValueError(f"late_s is {late_s.shape}, step_s {step_s.shape}, of {self.ranks} ranks")
        first = int(record["first_step"])
        expected = None if self.next_step in (None, first) else self.next_step
        self.is_gapless &= expected is None
        self.next_step = first + len(step_s)
        self.clock_error_s = max(self.clock_error_s, float(_times("clock_error_s", record.get("clock_error_s") or 0.0)))
        self.step_s.append(step_s)
        self.late_s.append(late_s.T)
        return expected

    def stall_words(self, record: Mapping[str, Any]) -> str:
        """Return what the monitor said of a stall; empty where it says that one is over. Raises ValueError."""
        stall = read_as(Stall, record)
        if (named := max([stall.told_by, *chain(*stall.blamed)])) >= self.ranks:
            raise ValueError(f"a stall names rank {named} of {self.ranks} ranks")
        return "" if stall.is_over else stall_sentence(stall, namer(self.node_of, self.nodes))

    def arrivals(self) -> Arrivals:
        """Return the arrivals of all steps."""
        step_s = np.concatenate(self.step_s)
        begin_s = np.concatenate([[0.0], np.cumsum(step_s)[:-1]]) if self.is_gapless else None
        late_s = np.concatenate(self.late_s)
        return Arrivals(late_s, step_s, self.clock_error_s, self.node_of, self.nodes, begin_s)


def _times(name: str, values: Any) -> np.ndarray:
    """Return seconds; null is NaN. Raises ValueError."""
    times_s = np.array(values, dtype=float)
    if not (np.isnan(times_s) | ((times_s >= 0) & (times_s <= LONGEST_S))).all():
        raise ValueError(f"{name} is not from 0 to {LONGEST_S:g} s everywhere")
    return times_s

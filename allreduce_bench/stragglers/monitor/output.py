"""The log of rank 0, and its stderr. Lines are written in a thread: a slow file system does not delay the steps.

Lines of JSON are appended whole, one write each. A write error is reported once, and the program goes on.
"""

import contextlib
import json
import os
import sys
import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from math import isfinite
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

MOST_WAITING = 10_000  # lines; further ones are dropped, or a hanging file system would fill the memory
DIGITS = 7  # of seconds, after the point
CLOSE_S = 5.0  # longest wait for a slow file system at the end of a program


class LogThread(threading.Thread):
    """The thread that writes the lines of JSON."""

    def __init__(self, log: Path):
        super().__init__(name="StepMonitor output", daemon=True)
        self._log = log
        self._lines: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
        self._job = os.urandom(8).hex()  # in each line: two jobs may append to one file
        self.start()

    def line(self, **values: Any) -> None:
        """Append a line of these values; thread-safe."""
        if self.is_alive() and self._lines.qsize() < MOST_WAITING:
            self._lines.put({**values, "job": self._job})

    def close(self) -> None:
        """Write pending lines, for at most CLOSE_S."""
        self._lines.put(None)
        self.join(CLOSE_S)

    def run(self) -> None:
        """Write until `close`, or until the log cannot be written."""
        while (values := self._lines.get()) is not None:
            try:
                with open(self._log, "ab", buffering=0) as file:
                    file.write(json_line(values).encode())
            except OSError as error:
                warn(f"cannot write '{self._log}': {error.strerror or error}; the program goes on without this file")
                return


def now() -> str:
    """Return the time in the format of the lines."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def warn(sentence: str) -> None:
    """Print one line on stderr in one write, so that lines of ranks do not mix."""
    with contextlib.suppress(OSError, ValueError):  # stderr is closed
        sys.stderr.write(f"StepMonitor: {sentence}\n")
        sys.stderr.flush()


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

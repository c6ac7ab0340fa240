"""The record of a job start in its run: RUN/jobs/job-ID.RESTART.json, written at the start and at the end.


A record without an end is of a job that is at work, or ended without a word: SIGKILL, or its node is gone.
"""

import json
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from ..runs.files import write_atomically
from ..runs.recorder import now
from .allocation import Allocation
from .job_files import JOBS


class JobRecord:
    """The record of one start. A disk that does not take it costs the record, never the run."""

    def __init__(self, folder: Path, allocation: Allocation, only: str):
        """Write it into the run `folder`; `only` is what was said by --only.

        A second run of the same start has a record of its own: job-12.0.2.json.
        """
        self.facts: dict[str, Any] = {
            "job": allocation.job,
            "task": allocation.task,
            "restart": allocation.restart,
            "only": only,
            "nodes": list(allocation.nodes),
            "switches": {},
            "started": now(),
            "stage": None,
            "ended": None,
            "end": None,
            "why": None,
            "requeued": False,
        }
        self._path: Path | None = None
        with suppress(OSError):
            (folder / JOBS).mkdir(exist_ok=True)
            self._path = _created(folder / JOBS, f"job-{allocation.name}.{allocation.restart}", self._text())

    def add(self, **facts: Any) -> None:
        """Write it anew with these facts."""
        self.facts |= facts
        if self._path is not None:
            with suppress(OSError):
                write_atomically(self._path, self._text())

    def end(self, end: str, why: str | None, requeued: bool = False) -> None:
        """How this start ended: done, warned, stopped or refused; and why, in a sentence."""
        self.add(ended=now(), end=end, why=why, requeued=requeued)

    def _text(self) -> str:
        return json.dumps(self.facts, indent=1) + "\n"


def _created(folder: Path, stem: str, text: str) -> Path:
    """A file that nobody had before."""
    for number in count(1):
        path = folder / (f"{stem}.json" if number == 1 else f"{stem}.{number}.json")
        with suppress(FileExistsError), open(path, "x", encoding="utf-8") as file:
            file.write(text)
            return path
    raise AssertionError

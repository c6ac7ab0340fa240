"""Attempts that a command has read are not read again while their files stay as they are."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .attempt import Attempt
from .kept import read_attempt
from .plan import Launch

ENDINGS = (".json", ".cells.csv", ".calls.csv", ".stamps")
SETTLED_S = 2.0  # a file system may tell two changes within that time by the same date

State = tuple[str, tuple[tuple[Any, ...], ...]]  # checksum of run.json, and of files what changes with them


class AttemptsRead:
    """The attempts of a folder of launches, as `kept.read_attempt` returns them."""

    def __init__(self, launches: Path):
        self.launches = launches
        self._read: dict[tuple[Launch, int, bool, bool], tuple[State, Attempt]] = {}

    def attempt(self, launch: Launch, number: int, run_crc32: str, with_calls: bool, typed: bool) -> Attempt:
        """Return the attempt, read again only if its files changed, or were changed a moment ago."""
        files = tuple(_state_of_files(self.launches / f"{launch.name}.{number}"))
        state = (run_crc32, files)
        for rows, types in ((with_calls, typed), (True, typed), (with_calls, True), (True, True)):
            found = self._read.get((launch, number, rows, types))
            # what was read with more checks stands for less only if none of them found anything
            if found and found[0] == state and ((rows, types) == (with_calls, typed) or not found[1].damages):
                return found[1]
        attempt = read_attempt(self.launches, launch, number, run_crc32, with_calls, typed)
        changed_ns = max((max(file[-2:]) for file in files if file[1:]), default=0)
        if changed_ns < (time.time() - SETTLED_S) * 1e9:
            self._read[launch, number, with_calls, typed] = state, attempt
        return attempt


def _state_of_files(attempt: Path) -> Iterator[tuple[Any, ...]]:
    """Yield for each file of the attempt its name, place, length, and when it and its place were changed, in ns."""
    for ending in ENDINGS:
        path = f"{attempt}{ending}"
        yield _state(path)
        if ending == ".stamps":
            names: list[str] = []
            with suppress(OSError):
                names = sorted(os.listdir(path))
            yield from (_state(f"{path}/{name}") for name in names)


def _state(path: str) -> tuple[Any, ...]:
    try:
        at = os.lstat(path)
    except OSError:
        return (path,)
    return path, at.st_ino, at.st_mode, at.st_size, at.st_mtime_ns, at.st_ctime_ns

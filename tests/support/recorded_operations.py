"""Every change that this process makes below a folder, in order: what a power cut may leave is made of them.

The functions of `os` and `io` that change files are replaced while it records; `tests/support/power_cut.py` shows that
nothing was missed, since what it makes of all operations is what is there.
"""

import builtins
import io
import json
import os
import pathlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fcntl import F_GETFL, fcntl
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

WRITING = frozenset("wax+")


class Operation(NamedTuple):
    """One change: mkdir, create, write, truncate (to nothing), sync (of a file or a folder), rename, unlink, rmdir."""

    kind: str
    path: str  # below the folder
    target: str = ""  # of a rename
    offset: int = 0  # of a write, bytes
    data: bytes = b""  # of a write


def to_line(operation: Operation) -> bytes:
    """As a line of a log that several processes add to."""
    return json.dumps({**operation._asdict(), "data": b64encode(operation.data).decode()}).encode() + b"\n"


def from_lines(log: Path) -> list[Operation]:
    """The operations of a log."""
    fields = map(json.loads, log.read_bytes().splitlines())
    return [Operation(**{**values, "data": b64decode(values["data"])}) for values in fields]


def log_to(log: Path) -> Callable[[Operation], object]:
    """What adds an operation to a log, in one write."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    write = os.write  # not the one that is recorded
    return lambda operation: write(handle, to_line(operation))


class _Names:
    """Says how what a program names is called below `root`."""

    def __init__(self, root: Path):
        self.root = os.path.realpath(root)

    def below(self, file: Any) -> str | None:
        """Its path below the folder; None: it is not there. `file` may be a number."""
        if isinstance(file, int):
            try:
                path = os.readlink(f"/proc/self/fd/{file}")
            except OSError:
                return None
        else:
            name = os.path.abspath(os.fsdecode(file))
            path = os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))
        return os.path.relpath(path, self.root) if path.startswith(self.root + os.sep) else None

    def folder(self, handle: int) -> str | None:
        """As `below`, also of the folder itself: an empty path."""
        return "" if os.path.realpath(f"/proc/self/fd/{handle}") == self.root else self.below(handle)


def _position(handle: int) -> int:
    """Where the next write goes."""
    is_appended = fcntl(handle, F_GETFL) & os.O_APPEND
    return os.fstat(handle).st_size if is_appended else os.lseek(handle, 0, os.SEEK_CUR)


class _Recording:
    """The functions that change files, each of which does so and tells `keep` of it."""

    def __init__(self, root: Path, keep: Callable[[Operation], object]):
        self.names, self.keep = _Names(root), keep
        self.open, self.write, self.fsync, self.rename = os.open, os.write, os.fsync, os.rename

    def opened(self, path: Any, flags: int, mode: int = 0o777, **others: Any) -> int:
        """`os.open`."""
        name, was_there = self.names.below(path), os.path.lexists(path)
        handle = self.open(path, flags, mode, **others)
        if name and not was_there and flags & os.O_CREAT:
            self.keep(Operation("create", name))
        elif name and flags & os.O_TRUNC:
            self.keep(Operation("truncate", name))
        return handle

    def written(self, handle: int, data: Any) -> int:
        """`os.write`."""
        return self.note_write(handle, data, lambda: self.write(handle, data))

    def note_write(self, handle: int, data: Any, write: Callable[[], int]) -> int:
        """Write, and tell where and what."""
        name = self.names.below(handle)
        offset = _position(handle) if name else 0
        number = write()
        if name:
            self.keep(Operation("write", name, offset=offset, data=bytes(data)[:number]))
        return number

    def synced(self, file: Any) -> None:
        """`os.fsync`."""
        handle = file if isinstance(file, int) else file.fileno()
        self.fsync(handle)
        if (name := self.names.folder(handle)) is not None:
            self.keep(Operation("sync", name))

    def renamed(self, source: Any, target: Any, **others: Any) -> None:
        """`os.rename`, and `os.replace`."""
        old, new = self.names.below(source), self.names.below(target)
        self.rename(source, target, **others)
        if old and new:
            self.keep(Operation("rename", old, target=new))

    def changed(self, kind: str, function: Callable) -> Callable:
        """`function`, which changes the name that comes first."""

        def change(path: Any, *arguments: Any, **others: Any) -> None:
            function(path, *arguments, **others)
            if name := self.names.below(path):
                self.keep(Operation(kind, name))

        return change

    def of_os(self) -> dict[str, Callable]:
        """What stands for the functions of `os`."""
        return {
            "open": self.opened,
            "write": self.written,
            "fsync": self.synced,
            "fdatasync": self.synced,
            "rename": self.renamed,
            "replace": self.renamed,
            "mkdir": self.changed("mkdir", os.mkdir),
            "rmdir": self.changed("rmdir", os.rmdir),
            "unlink": self.changed("unlink", os.unlink),
            "remove": self.changed("unlink", os.remove),
        }


def _file_kind(recording: _Recording) -> type[io.FileIO]:
    """`io.FileIO`, a file without a buffer."""
    names, keep = recording.names, recording.keep

    class File(io.FileIO):
        def __init__(self, file: Any, mode: str = "r", closefd: bool = True, opener: Any = None):
            name = None if isinstance(file, int) or not WRITING & {*mode} else names.below(file)
            was_there = name is not None and os.path.lexists(file)
            super().__init__(file, mode, closefd, opener)
            if name and not was_there:
                keep(Operation("create", name))
            elif name and "w" in mode:
                keep(Operation("truncate", name))

        def write(self, data: Any) -> int:
            return recording.note_write(self.fileno(), data, lambda: super(File, self).write(data))

    return File


def _opener(names: _Names, kind: type[io.FileIO]) -> Callable:
    """`open`, whose files below the folder are of `kind`."""
    true = io.open

    def open_file(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        if not WRITING & {*mode} or names.below(file) is None:
            return true(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = kind(file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)

    return open_file


@contextmanager
def recording(root: Path, keep: Callable[[Operation], object]) -> Iterator[None]:
    """Give `keep` every change that this process makes below `root`, when it was made."""
    recorded = _Recording(root, keep)
    kind, functions = _file_kind(recorded), recorded.of_os()
    open_file = _opener(recorded.names, kind)
    with ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(patch.object(os, name, function))
        stack.enter_context(patch.object(io, "FileIO", kind))
        for module in (io, builtins):
            stack.enter_context(patch.object(module, "open", open_file))
        if accessor := getattr(pathlib, "_NormalAccessor", None):  # of Python 3.10
            for name in ("mkdir", "rmdir", "unlink", "rename", "replace"):
                stack.enter_context(patch.object(accessor, name, staticmethod(functions[name])))
            stack.enter_context(patch.object(accessor, "open", staticmethod(open_file)))
        yield

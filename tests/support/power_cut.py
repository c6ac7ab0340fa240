"""What may be on a disk when the power goes, after each of the operations that a process has made.

POSIX promises little: what was written to a file is there when its fsync has returned, a name when that of its folder
has. Until then each name that came, went or was changed may be the new or the old one, by itself; of what was written
all, nothing or a part may be there, a part of a part, and zeros instead of it, since a file may have its new length
before its content (Pillai et al., "All File Systems Are Not Created Equal", 2014). A rename is never half done.
"""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from recorded_operations import Operation


@dataclass(eq=False)
class File:
    """A file, whatever it is called."""

    kept: bytes = b""  # surely on the disk
    pending: list[Operation] = field(default_factory=list)  # since then: write, truncate

    @property
    def now(self) -> bytes:
        """What a process reads."""
        return with_writes(self.kept, self.pending)


@dataclass(eq=False)
class Folder:
    """A folder: of each change of its names, name -> what it names then, None: nothing."""

    kept: dict[str, "File | Folder"] = field(default_factory=dict)
    pending: list[dict[str, "File | Folder | None"]] = field(default_factory=list)

    def names(self, happened: list[bool]) -> dict[str, "File | Folder"]:
        """What it holds when only some of what is pending has happened."""
        names: dict[str, File | Folder | None] = dict(self.kept)
        for change, has_happened in zip(self.pending, happened, strict=True):
            names.update(change if has_happened else {})
        return {name: node for name, node in names.items() if node is not None}

    @property
    def now(self) -> dict[str, "File | Folder"]:
        """What a process sees."""
        return self.names([True] * len(self.pending))


def with_writes(content: bytes, operations: list[Operation]) -> bytes:
    """A file after these; where nothing was written before the place of a write there are zeros."""
    after = bytearray(content)
    for operation in operations:
        if operation.kind == "truncate":
            after.clear()
            continue
        after.extend(bytes(max(0, operation.offset - len(after))))
        after[operation.offset : operation.offset + len(operation.data)] = operation.data
    return bytes(after)


class Fate(NamedTuple):
    """What becomes of what is pending."""

    name: str
    happened: Callable[[Folder], list[bool]]
    content: Callable[[File], bytes]


def zeros(file: File) -> bytes:
    """The file has its new length, and not its content."""
    return file.kept + bytes(max(0, len(file.now) - len(file.kept)))


ALL = Fate("everything", lambda folder: [True] * len(folder.pending), lambda file: file.now)
CERTAIN = (
    ALL,
    Fate("only what was waited for", lambda folder: [False] * len(folder.pending), lambda file: file.kept),
    Fate("names without content", ALL.happened, lambda file: file.kept),
    Fate("names with zeros", ALL.happened, zeros),
    Fate("content without names", lambda folder: [False] * len(folder.pending), ALL.content),
)


def drawn(draw: random.Random) -> Fate:
    """One in which each name, and each byte, has a fate of its own."""

    def happened(folder: Folder) -> list[bool]:
        return [draw.random() < 0.5 for _ in folder.pending]

    def content(file: File) -> bytes:
        if not file.pending:
            return file.kept
        number = draw.randint(0, len(file.pending))
        whole, torn = file.pending[:number], file.pending[number : number + 1]
        if len(whole) > 1 and draw.random() < 0.2:
            del whole[draw.randrange(len(whole))]
        cut = [write._replace(data=write.data[: draw.randint(0, len(write.data))]) for write in torn]
        some = with_writes(file.kept, whole + cut)
        return some + bytes(max(0, len(file.now) - len(some))) if draw.random() < 0.3 else some

    return Fate("drawn", happened, content)


class Disk:
    """A folder on a disk, and what of it is surely there."""

    def __init__(self) -> None:
        self.root = Folder()

    def find(self, path: str) -> File | Folder:
        """What is called so now."""
        node: File | Folder = self.root
        for part in path.split(os.sep) if path else ():
            assert isinstance(node, Folder), path
            node = node.now[part]
        return node

    def file(self, path: str) -> File:
        """The file that is called so now."""
        node = self.find(path)
        assert isinstance(node, File), path
        return node

    def do(self, operation: Operation) -> None:
        """Another operation."""
        kind, path = operation.kind, operation.path
        if kind in ("write", "truncate"):
            self.file(path).pending.append(operation)
        elif kind == "sync":
            node = self.find(path)
            node.kept = node.now  # type: ignore[assignment]
            node.pending.clear()
        else:
            above, name = os.path.split(path)
            folder = self.find(above)
            assert isinstance(folder, Folder), path
            if kind == "rename":
                assert os.path.dirname(operation.target) == above, "a rename from folder to folder"
                folder.pending.append({name: None, os.path.basename(operation.target): folder.now[name]})
            else:
                new = {"mkdir": Folder, "create": File}.get(kind)
                folder.pending.append({name: new() if new else None})

    def after_cut(self, fate: Fate) -> dict[str, bytes | None]:
        """path -> content of each file that is there then, None for a folder; folders come before what they hold."""
        return dict(_walk(self.root, "", fate))


def _walk(folder: Folder, path: str, fate: Fate) -> Iterator[tuple[str, bytes | None]]:
    for name, node in folder.names(fate.happened(folder)).items():
        below = os.path.join(path, name)
        if isinstance(node, File):
            yield below, fate.content(node)
        else:
            yield below, None
            yield from _walk(node, below, fate)


def build(files: dict[str, bytes | None], place: Path) -> None:
    """Make these files and folders below `place`."""
    for name, content in files.items():
        if content is None:
            (place / name).mkdir()
        else:
            (place / name).write_bytes(content)


def tree(place: Path) -> dict[str, bytes | None]:
    """The files and folders that are there, as `Disk.after_cut` gives them."""
    paths = sorted(place.rglob("*"))
    return {str(path.relative_to(place)): None if path.is_dir() else path.read_bytes() for path in paths}

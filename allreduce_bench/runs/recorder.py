"""Writing a run: the folder and its plan, an attempt while it is measured, and later additions.

While a launch is measured: rank 0 only, standard library only, one writer per file, flushed cell by cell. Later: why
dead ranks did not finish a cell, as their supervisor reports; and summary.csv, which is derived from the rest and
rewritten whenever that changes.
"""

import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from errno import EEXIST, ENOTDIR, ENOTEMPTY
from pathlib import Path
from zlib import crc32

from .. import __version__
from .attempt import HEADERS, mark_line, seed_of
from .files import kept_handle, unique_name, write_atomically
from .folder import KEY, RunFolder
from .plan import Launch, Plan
from .rows import RunError, csv_bytes
from .schema import CALLS, CELLS, LAYOUT, SUMMARY, Column, checksum, names
from .typed_json import checked_json

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC  # flags of open: fail if the file exists


def create_run(
    folder: RunFolder,
    plan: Plan,
    command: Sequence[str],
    imported: dict | None = None,
    merged: list | None = None,
    alternated: Sequence[str] = (),
) -> None:
    """Create the folder with its run.json, for logs with what `RunFolder.imported` returns, for runs with their names.

    It appears atomically: of several jobs that begin the same run at the same time one succeeds. It may replace an
    empty folder. Raises RunError if anything else exists there.
    """
    content = {
        "layout": LAYOUT,
        "program": f"allreduce-bench {__version__}",
        "created": now(),
        "id": os.urandom(8).hex(),  # unique even for two runs of one second
        "command": list(command),
        **({"alternated": list(alternated)} if alternated else {}),
        **({"imported": imported} if imported else {}),
        **({"merged": merged} if merged else {}),
        "plan": plan.to_json(),
    }
    way = "" if imported else ", or continue it with --resume"
    with _created_whole(folder.path, way) as draft:
        RunFolder(draft).launches.mkdir(parents=True)
        write_whole(RunFolder(draft).run_json, checked_json(content))


def create_alternated_runs(path: Path, plans: Mapping[str, Plan], command: Sequence[str]) -> None:
    """Create the folder of runs whose launches alternate, by their names: all of them at once, or none.

    Raises RunError if anything but an empty folder exists there.
    """
    with _created_whole(path, ", or continue it with --resume") as draft:
        for name, plan in plans.items():
            others = [f"../{other}" for other in plans if other != name]
            create_run(RunFolder(draft / name), plan, command, alternated=others)


@contextmanager
def _created_whole(path: Path, way: str) -> Iterator[Path]:
    """Yield a hidden folder beside `path`, which gets that name at the end; a full disk leaves nothing behind.

    Raises RunError if anything but an empty folder exists there; `way` is a further way out.
    """
    above = [place for place in path.parents if not place.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".new-{unique_name()}")
    try:
        yield draft
        if is_taken(path):
            raise FileExistsError(EEXIST, "exists", str(path))
        draft.rename(path)
        for place in (path, *above):  # the name of a new folder is on disk once its parent is synced
            sync_folder(place.parent)
    except OSError as error:
        discard_run(RunFolder(draft))
        error.filename = str(path)  # the name that the user knows
        if error.errno not in (EEXIST, ENOTEMPTY, ENOTDIR):
            raise
        raise RunError(f"{path}: already exists; choose another folder with -o{way}") from None


def is_taken(path: Path) -> bool:
    """Return whether `path` is occupied for a new run; an empty folder is not."""
    if path.is_symlink() or not path.is_dir() or path.resolve() == Path.cwd():
        return path.is_symlink() or path.exists()
    return any(path.iterdir())


def discard_run(folder: RunFolder) -> None:
    """Remove a run in which nothing was measured."""
    if not folder.path.exists():
        return
    for path in sorted(folder.path.rglob("*"), reverse=True):  # contents before their folder
        path.rmdir() if path.is_dir() else path.unlink()
    folder.path.rmdir()


Warned = tuple[str, str]  # code and level of findings that are alike


def kind_of(finding: Mapping[str, str]) -> Warned:
    """Return code and level of a finding: the same in several launches is said once."""
    return finding.get("code", ""), finding.get("level", "")


class Recorder:
    """The writer of one attempt of one launch."""

    def __init__(self, folder: RunFolder, launch: str, facts: dict, sync: bool = True, printed: Iterable[Warned] = ()):
        """Open a new attempt of `launch`; `facts` goes to its JSON file. Never touches an earlier attempt.

        Without `sync` do not wait for the disk: for what can be made again at any time. `printed`: findings
        that earlier launches have printed.
        """
        self._printed = set(printed)
        self.launch, self.attempt, self._sync = launch, 1, sync
        self._kept_stamps, self._stamps_crc32 = 0, ""
        while not self._claim(folder.launches / f"{launch}.{self.attempt}"):
            self.attempt += 1
        head = {"run_crc32": folder.run_crc32, "launch": launch, "attempt": self.attempt}
        self._facts = {**head, "started": now(), **facts}
        self._write_facts()
        for file, header in zip((self._calls, self._cells), HEADERS):
            append_to(file, header, sync=False)
        self._cell_count, self._seed = 0, seed_of(folder.run_crc32, launch, self.attempt)

    def _claim(self, stem: Path) -> bool:
        """Create the files of an attempt; return False if any exists: several processes may try at once."""
        try:
            os.close(os.open(f"{stem}.json", NEW_FILE, 0o666))
        except FileExistsError:
            return False
        except FileNotFoundError:  # an archive may have left out an empty folder
            stem.parent.mkdir()
            return self._claim(stem)
        try:
            paths = (f"{stem}.calls.csv", f"{stem}.cells.csv")
            self._calls, self._cells = (os.open(path, NEW_FILE | os.O_APPEND, 0o666) for path in paths)
        except FileExistsError:  # of an attempt whose JSON file is gone
            os.unlink(f"{stem}.json")
            return False
        self._stem = stem
        return True

    def cell(self, facts: Mapping[str, object], calls: Iterable[Mapping[str, object]]) -> None:
        """Keep a cell: first its calls, then, when they are on disk, the mark that it is complete."""
        lines, rows = [], 0
        for rows, call in enumerate(calls, start=1):  # noqa: B007 - the monitor reads it: a million take seconds
            lines.append(csv_bytes([field_values(CALLS, {**facts, **call})]))
        self.cell_of_lines(facts, b"".join(lines), rows)

    def cell_of_lines(self, facts: Mapping[str, object], content: bytes, rows: int) -> None:
        """Keep a cell as `cell` does, from `rows` lines of calls that are formatted already."""
        stamps = {"stamps_crc32": self._stamps_crc32} if facts.get("stamps") else {}
        if rows:
            append_to(self._calls, content, self._sync)
        mark = mark_of({**facts, **stamps, "calls": rows})
        append_to(self._cells, mark_line(mark, crc32(content, self._seed)), self._sync)
        self._cell_count += 1

    def seal(self) -> None:
        """Write the number of ended cells, as the last act of the attempt. A lost mark is then detected."""
        self.keep(cells=self._cell_count)
        self._write_facts()
        os.close(self._calls)
        os.close(self._cells)

    def stamps(self, stamps) -> str:
        """Write entry and exit of every rank and call of the next cell, float64 [2, call, rank] in seconds.

        Returns the path, relative to the folder of the launches.
        """
        from numpy import save  # late: the helps of commands need none

        content = io.BytesIO()
        save(content, stamps, allow_pickle=False)
        return self.keep_stamps(content.getvalue())

    def keep_stamps(self, content: bytes) -> str:
        """Write stamps as `stamps` does, from the content of a file."""
        self._kept_stamps += 1
        path = Path(f"{self._stem}.stamps", f"{self._kept_stamps:04}.npy")
        path.parent.mkdir(exist_ok=True)
        write_whole(path, content, self._sync)
        if self._sync and self._kept_stamps == 1:  # the name of their folder, too
            sync_folder(path.parent.parent)
        self._stamps_crc32 = checksum(content)
        return f"{path.parent.name}/{path.name}"

    def found(self, finding: dict) -> None:
        """Add a finding to the launch's facts and print it, unless it is there."""
        findings = self._facts.setdefault("findings", [])
        if finding not in findings:
            findings.append(finding)
            self.warn(finding)
            self._write_facts()

    def warn(self, finding: dict) -> None:
        """Print a finding on stderr, of each kind the first."""
        if kind_of(finding) not in self._printed:
            self._printed.add(kind_of(finding))
            print(f"warning: {finding['text']}; {finding['effect']}", file=sys.stderr, flush=True)

    def keep(self, **facts) -> None:
        """Add to the launch's facts what is known only at its end, when `seal` writes it."""
        self._facts |= facts

    def amend(self, name: str, **facts) -> None:
        """Add to the launch's facts under `name` what is known only at its end, when `seal` writes it."""
        self._facts[name] = {**self._facts.get(name, {}), **facts}

    def _write_facts(self) -> None:
        """Write the facts atomically: others may read them at any time."""
        write_whole(Path(f"{self._stem}.json"), checked_json(self._facts), self._sync)


def mark_unfinished_cell(folder: RunFolder, launch: Launch, facts: dict) -> None:
    """Add a row about an unfinished cell to the attempt that `facts` name, else to the newest one of `launch`.

    Its ranks are gone; another job may be at work on a newer attempt. Nothing is added if no attempt got as far as
    writing, or if the cell has ended after all.
    """
    attempts = folder.attempt_numbers().get(launch, [])
    if not attempts or _has_ended(folder, launch, facts):
        return
    number = int(facts.get("attempt") or max(attempts))
    path = folder.launches / f"{launch.name}.{number}.cells.csv"
    line = mark_line(mark_of({**facts, "calls": 0}), seed_of(folder.run_crc32, launch.name, number))
    try:
        handle = kept_handle(path, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        return
    try:
        content = os.pread(handle, os.fstat(handle).st_size, 0)
        if content.startswith(HEADERS[1]) and line not in content:  # else killed before it wrote a header, or marked
            os.ftruncate(handle, content.rindex(b"\n") + 1)  # without a line that was cut off
            append_to(handle, line)
    finally:
        os.close(handle)


def _has_ended(folder: RunFolder, launch: Launch, facts: dict) -> bool:
    """Return whether the cell that `facts` describe needs no further attempt."""
    key = tuple("" if facts.get(name) is None else str(facts[name]) for name in KEY)
    return key in folder.finished(launch)


def mark_of(facts: Mapping[str, object]) -> dict[str, str]:
    """Return the values of a row of CELLS, as text of one line each."""
    values = zip(names(CELLS), field_values(CELLS, facts))
    return {name: " ".join(str(value).splitlines()) for name, value in values}


def field_values(columns: Iterable[Column], row: Mapping[str, object]) -> list:
    """Return the values in the order of `columns`; missing ones are empty, booleans 1 and 0."""
    values = (row.get(column.name) for column in columns)
    return ["" if value is None else int(value) if isinstance(value, bool) else value for value in values]


def write_summary(folder: RunFolder, rows: Iterable[Mapping[str, object]]) -> None:
    """Rewrite summary.csv atomically. Raises OSError."""
    write_atomically(folder.summary_csv, csv_bytes(summary_lines(rows)).decode())


def summary_lines(rows: Iterable[Mapping[str, object]]) -> list[list]:
    """Return the lines of summary.csv: the names of SUMMARY, then the values of each row."""
    return [names(SUMMARY), *(field_values(SUMMARY, row) for row in rows)]


def write_whole(path: Path, content: bytes, sync: bool = True) -> None:
    """Replace a file atomically; with `sync` wait until it and its name are on disk. One process at a time."""
    temporary = path.with_name(f"{path.name}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        append_to(handle, content, sync)
    finally:
        os.close(handle)
    temporary.replace(path)
    if sync:
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk, if the file system supports it."""
    with suppress(OSError):  # some file systems do not support it, some folders cannot be opened
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def append_to(handle: int, content: bytes, sync: bool = True) -> None:
    """Write all of `content` to an open file; with `sync` wait until it is on disk."""
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
    if sync:
        os.fsync(handle)


def now() -> str:
    """Return the time with its zone, ISO 8601."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")

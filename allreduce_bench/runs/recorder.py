"""Writes a run while it is measured: rank 0 only, standard library only, one writer per file, flushed cell by cell."""

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from errno import EEXIST, ENOTDIR, ENOTEMPTY
from pathlib import Path

from .. import __version__
from .folder import KEY, RunFolder
from .plan import Launch, Plan
from .rows import RunError
from .schema import CELLS, REPETITIONS, SCHEMA_VERSION, SUMMARY, Column, names


def now() -> str:
    """The time with its zone, ISO 8601."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def create_run(
    folder: RunFolder, plan: Plan, command: Sequence[str], imported: dict | None = None, merged: list | None = None
) -> None:
    """Make the folder with its run.json, for logs with what `RunFolder.imported` returns, for runs with their names.

    It appears at once and whole: of several jobs that begin the same run at the same time one succeeds. Raises RunError
    where it exists already.
    """
    from .atomic_write import unique_name  # late: no rank needs it

    content = {
        "schema_version": SCHEMA_VERSION,
        "program": f"allreduce-bench {__version__}",
        "created": now(),
        "command": list(command),
        **({"imported": imported} if imported else {}),
        **({"merged": merged} if merged else {}),
        "plan": plan.to_json(),
    }
    folder.path.parent.mkdir(parents=True, exist_ok=True)
    draft = RunFolder(folder.path.with_name(f".new-{unique_name()}"))
    try:
        draft.launches.mkdir(parents=True)
        draft.run_json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        if folder.path.exists():  # an empty folder would be replaced
            raise FileExistsError(EEXIST, "exists", str(folder.path))
        draft.path.rename(folder.path)
    except OSError as error:  # a full disk must not leave half a run behind
        discard_run(draft)
        error.filename = str(folder.path)  # whose name the user knows
        if error.errno not in (EEXIST, ENOTEMPTY, ENOTDIR):
            raise
        raise RunError(
            f"{folder.path}: exists already; choose another folder with -o"
            + ("" if imported else ", or go on with it by --resume")
        ) from None


def discard_run(folder: RunFolder) -> None:
    """Remove a run in which nothing was measured."""
    if not folder.path.exists():
        return
    for path in sorted(folder.path.rglob("*"), reverse=True):  # what is inside a folder before the folder
        path.rmdir() if path.is_dir() else path.unlink()
    folder.path.rmdir()


class Recorder:
    """The writer of one attempt of one launch."""

    def __init__(self, folder: RunFolder, launch: str, facts: dict):
        """Open a new attempt of `launch`; `facts` goes to its JSON file. Never touches an earlier attempt."""
        folder.launches.mkdir(exist_ok=True)
        self.attempt = 1
        while True:
            stem = folder.launches / f"{launch}.{self.attempt}"
            try:
                with open(f"{stem}.json", "x", encoding="utf-8") as file:
                    head = {
                        "schema_version": SCHEMA_VERSION,
                        "launch": launch,
                        "attempt": self.attempt,
                        "started": now(),
                    }
                    self._facts = {**head, **facts}
                    json.dump(self._facts, file, indent=1)
                break
            except FileExistsError:
                self.attempt += 1
        self.launch, self._stem, self._kept_stamps = launch, stem, 0
        self._repetitions = Path(f"{stem}.csv")
        self._cells = Path(f"{stem}.cells.csv")
        _append(self._repetitions, [names(REPETITIONS)])
        _append(self._cells, [names(CELLS)])

    def cell(self, facts: dict, repetitions: Iterable[dict], sync: bool = True) -> None:
        """Keep a cell: first its repetitions, then, when they are on disk, the mark that it is complete.

        Without `sync` nobody waits for the disk: for what can be made again at any time.
        """
        common = {"launch": self.launch, "attempt": self.attempt, **facts}
        _append(self._repetitions, [_field_values(REPETITIONS, {**common, **row}) for row in repetitions], sync)
        _append(self._cells, [_field_values(CELLS, common)])

    def stamps(self, stamps) -> str:
        """Keep entry and exit of every rank and call of the cell that comes next, float64 [2, call, rank] in seconds.

        Returns where, relative to the folder of the launches.
        """
        from numpy import save  # late: few runs keep them

        folder = Path(f"{self._stem}.stamps")
        folder.mkdir(exist_ok=True)
        self._kept_stamps += 1
        path = folder / f"{self._kept_stamps:04}.npy"
        with open(path, "xb") as file:
            save(file, stamps, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        return f"{folder.name}/{path.name}"

    def found(self, finding: dict) -> None:
        """Say a finding and add it to the launch's facts, unless it is there."""
        findings = self._facts.setdefault("findings", [])
        if finding not in findings:
            findings.append(finding)
            self.warn(finding)
            self._write_facts()

    def warn(self, finding: dict) -> None:
        """Say a finding on stderr."""
        print(f"warning: {finding['text']}; {finding['effect']}", file=sys.stderr, flush=True)

    def keep(self, **facts) -> None:
        """Add to the launch's facts what is known only at its end."""
        self._facts |= facts
        self._write_facts()

    def amend(self, name: str, **facts) -> None:
        """Add to the launch's facts under `name` what is known only at its end."""
        self._facts[name] = {**self._facts.get(name, {}), **facts}
        self._write_facts()

    def _write_facts(self) -> None:
        """All at once: others may read them at any time."""
        temporary = Path(f"{self._stem}.json.tmp")
        temporary.write_text(json.dumps(self._facts, indent=1), encoding="utf-8")
        temporary.replace(f"{self._stem}.json")


def mark_unfinished_cell(folder: RunFolder, launch: Launch, facts: dict) -> None:
    """Add a row about a cell that nobody finished to the attempt that `facts` name, else to the newest one of `launch`.

    Its ranks are gone; another job may be at work on a newer attempt. Where no attempt came as far as writing there is
    nothing to add to, and a cell that has ended after all stays so.
    """
    attempts = folder.attempt_numbers().get(launch, [])
    if attempts and not _has_ended(folder, launch, facts):
        row = {"attempt": max(attempts), **facts, "launch": launch.name}
        _append(folder.launches / f"{launch.name}.{row['attempt']}.cells.csv", [_field_values(CELLS, row)], sync=True)


def _has_ended(folder: RunFolder, launch: Launch, facts: dict) -> bool:
    key = tuple("" if facts[name] is None else str(facts[name]) for name in KEY)
    return key in folder.finished(launch)


def write_summary(folder: RunFolder, rows: Iterable[Mapping[str, object]]) -> None:
    """Write summary.csv anew, all at once."""
    from .atomic_write import write_atomically  # late, too

    write_atomically(folder.summary_csv, _csv_text(summary_lines(rows)))


def summary_lines(rows: Iterable[Mapping[str, object]]) -> list[list]:
    """The lines of summary.csv: the names of SUMMARY, then the values of each row."""
    return [names(SUMMARY), *(_field_values(SUMMARY, row) for row in rows)]


def _field_values(columns: tuple[Column, ...], row: Mapping[str, object]) -> list:
    """The values in the order of `columns`; what is missing stays empty, yes and no become 1 and 0."""
    values = (row.get(name) for name in names(columns))
    return ["" if value is None else int(value) if isinstance(value, bool) else value for value in values]


def _append(path: Path, rows: Iterable[Sequence], sync: bool = False) -> None:
    """Append rows in one write; with `sync` wait until they are on disk."""
    with open(path, "a", encoding="utf-8", newline="") as file:
        file.write(_csv_text(rows))
        file.flush()
        if sync:
            os.fsync(file.fileno())


def _csv_text(rows: Iterable[Sequence]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()

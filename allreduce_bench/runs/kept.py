"""What is kept of one attempt of a launch, held against its checksums: the cells that are whole, and what is damaged.

Files are read in the order JSON, cells, raw times, in which a later one holds at least what an earlier one counts: so
an attempt that is at work is never taken for a damaged one.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from errno import ENOENT, ESTALE
from pathlib import Path

from .careful_reading import read_kept
from .chain import Attempt, Damage, first_line, phrase, whole_marks
from .plan import Launch
from .rows import RunError, checked_header, read_rows
from .schema import CELLS, CHECKED, REPETITIONS, UNCHECKED_VERSION, first_link, names
from .typed_json import is_json_whole

LOOK_AGAIN_S = (0.01, 0.1, 0.5)  # at a file that was replaced


def read_attempt(
    launches: Path, launch: Launch, number: int, run_crc32: str, with_rows: bool = True, typed: bool = True
) -> Attempt:
    """The attempt; without `with_rows` its marks are believed: neither its raw times nor its stamps are read.

    Not `typed`: nor is looked at the types of its facts where a checksum vouches for them.
    """
    attempt = Attempt(launch, number, launches, {}, [], [])
    try:
        attempt = attempt._replace(facts=_facts(attempt, run_crc32, typed))
    except (RunError, OSError) as error:
        begun = _size(attempt.path(".cells.csv")) or _size(attempt.path(".csv"))
        return attempt.without(".json", phrase(error)) if begun else attempt
    try:
        attempt = _with_marks(attempt, run_crc32, with_rows)
    except (RunError, OSError) as error:
        return attempt.without(".cells.csv", phrase(error))
    if with_rows and attempt.cells:
        from .spans import without_damaged  # late: a rank that begins a launch reads no times

        return without_damaged(attempt)
    return attempt


def lost_attempts(
    launches: Path, attempts_of: Mapping[Launch, Sequence[int]], imported: Sequence[Launch] = ()
) -> list[Damage]:
    """The launches of which a later attempt is there, and no file of an earlier one; or none, although it was kept.

    `imported`: launches that must be there, since nobody measures them again.
    """
    lost = [
        Damage(launches / f"{launch.name}.1.json", "all files of this launch are lost", launch)
        for launch in imported
        if launch not in attempts_of
    ]
    for launch, numbers in attempts_of.items():
        if number := next((number for number in range(1, max(numbers)) if number not in numbers), None):
            lost.append(Damage(launches / f"{launch.name}.{number}.json", "all files of this attempt are lost", launch))
    return lost


def read_json(path: Path) -> dict:
    """The object in a JSON file, which is as it was written if it holds a checksum. Raises RunError."""
    try:
        return _object_in(path)
    except (OSError, RunError) as error:
        raise RunError(f"{path}: damaged: {phrase(error)}; expected a JSON object") from error


def _object_in(path: Path) -> dict:
    """What `read_json` returns. Raises OSError, and RunError without the path."""
    content = _read(path)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RunError(str(error) if content else "it is empty") from error
    if not isinstance(value, dict):
        raise RunError(f"not an object, but {type(value).__name__}")
    if "crc32" in value and not is_json_whole(content):
        raise RunError("its checksum does not match: the file was changed")
    return value


def _read(path: Path) -> bytes:
    """A whole file; one that another node has just replaced may be gone under its old handle: look again."""
    for pause_s in LOOK_AGAIN_S:
        try:
            return read_kept(path)
        except OSError as error:
            if error.errno not in (ESTALE, ENOENT):
                raise
        time.sleep(pause_s)
    return read_kept(path)


def _facts(attempt: Attempt, run_crc32: str, typed: bool) -> dict:
    """The content of its JSON file. Raises RunError, OSError."""
    facts = _object_in(attempt.path(".json"))
    if typed or "crc32" not in facts:
        from .launch_facts import check_facts  # late: a rank that begins a launch only looks at few of them

        check_facts(facts)
    if (facts["launch"], facts["attempt"]) != (attempt.launch.name, attempt.number):
        raise RunError(f"it belongs to launch {facts['launch']}, attempt {facts['attempt']}")
    if facts["schema_version"] != UNCHECKED_VERSION and "crc32" not in facts:
        raise RunError("its checksum is missing: the file was changed")
    if facts.get("run_crc32", "") != run_crc32:
        raise RunError("it belongs to another run")
    return facts


def _size(path: Path) -> int:
    """In bytes; 0 where there is no such file."""
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _with_marks(attempt: Attempt, run_crc32: str, with_rows: bool) -> Attempt:
    """The attempt with its marks. Raises RunError, OSError."""
    path, rows_path = attempt.path(".cells.csv"), attempt.path(".csv")
    content = b""
    with suppress(FileNotFoundError):
        content = read_kept(path)
    header, newline, body = content.partition(b"\n")
    if not newline:
        if attempt.is_sealed or _size(rows_path) > len(first_line(rows_path)):
            raise RunError("it is cut off" if content else "it is empty or missing")
        return attempt  # its ranks were killed before they wrote any
    if not attempt.is_checked:
        checked_header(header, [name for name in names(CELLS) if name not in CHECKED])
        return attempt._replace(cells=read_rows(path, names(CELLS)))
    start = None
    if with_rows:
        with suppress(RunError):  # it is said when the rows are read
            header_of_rows = first_line(rows_path)
            checked_header(header_of_rows[:-1], names(REPETITIONS))
            start = first_link(header_of_rows + header + newline, attempt.launch.name, attempt.number, run_crc32)
    columns = checked_header(header, names(CELLS), CHECKED)
    marks = whole_marks(columns, body, start, attempt.facts.get("last_mark_crc32"), run_crc32)
    damages = [Damage(path, found, attempt.launch, cell) for found, cell in marks.damages]
    return attempt._replace(cells=marks.cells, damages=damages)

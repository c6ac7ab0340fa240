"""An attempt of a launch, read in the order JSON, cells, calls, in which a later file holds at least what an earlier
one counts: so an attempt in progress is never taken for a damaged one. Also the JSON files of a run.
"""

import json
import time
from collections.abc import Mapping, Sequence
from errno import ENOENT, ESTALE
from pathlib import Path

from .attempt import Attempt, Damage, phrase, with_cells, with_whole_stamps
from .cell import Launch
from .files import read_kept
from .rows import RunError
from .typed_json import is_json_whole

LOOK_AGAIN_S = (0.01, 0.1, 0.5)  # pauses before rereading a replaced file


def read_attempt(launches: Path, launch: Launch, number: int, run_crc32: str, with_calls: bool = True) -> Attempt:
    """Return the attempt; without `with_calls` calls and stamps are not read, and the marks trusted."""
    attempt = Attempt(launch, number, launches, {}, [], [])
    try:
        attempt = attempt._replace(facts=_facts(attempt, run_crc32))
    except (RunError, OSError) as error:
        begun = any(attempt.path(ending).exists() for ending in (".cells.csv", ".calls.csv"))
        return attempt.without(".json", phrase(error)) if begun else attempt
    try:
        attempt = with_cells(attempt, run_crc32, with_calls)
    except (RunError, OSError) as error:
        is_of_calls = getattr(error, "filename", None) == str(attempt.path(".calls.csv"))
        return attempt.without(".calls.csv" if is_of_calls else ".cells.csv", phrase(error))
    return with_whole_stamps(attempt) if with_calls else attempt


def _facts(attempt: Attempt, run_crc32: str) -> dict:
    """Return the content of its JSON file, which its checksum holds together. Raises RunError, OSError."""
    facts = _object_in(attempt.path(".json"))
    if "crc32" not in facts:
        raise RunError("its checksum is missing: the file was changed")
    if (facts["launch"], facts["attempt"]) != (attempt.launch.name, attempt.number):
        raise RunError(f"it belongs to launch {facts['launch']}, attempt {facts['attempt']}")
    if facts["run_crc32"] != run_crc32:
        raise RunError("it belongs to another run")
    return facts


def lost_attempts(
    launches: Path, attempts_of: Mapping[Launch, Sequence[int]], imported: Sequence[Launch] = ()
) -> list[Damage]:
    """Return the damages of launches with a later attempt but no file of an earlier one, or with no files at all.

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
    """Return the object in a JSON file, verified if it holds a checksum. Raises RunError."""
    try:
        return _object_in(path)
    except (OSError, RunError) as error:
        raise RunError(f"{path}: damaged: {phrase(error)}; restore it or measure again") from error


def _object_in(path: Path) -> dict:
    """Return the object, as `read_json`. Raises OSError, and RunError without the path."""
    content = _read(path)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{error if content else 'it is empty'}; expected a JSON object") from error
    if not isinstance(value, dict):
        raise RunError(f"not an object, but {type(value).__name__}; expected a JSON object")
    if "crc32" in value and not is_json_whole(content):
        raise RunError("its checksum does not match: the file was changed")
    return value


def _read(path: Path) -> bytes:
    """Read a whole file, retrying: one replaced by another node may be gone under its old handle."""
    for pause_s in LOOK_AGAIN_S:
        try:
            return read_kept(path)
        except OSError as error:
            if error.errno not in (ESTALE, ENOENT):
                raise
        time.sleep(pause_s)
    return read_kept(path)

"""An attempt of a launch, read in the order JSON, cells, calls, in which a later file holds at least what an earlier
one counts: so an attempt in progress is never taken for a damaged one. Also the JSON files of a run.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from errno import ENOENT, ESTALE
from pathlib import Path
from typing import Annotated, Any

from .attempt import Attempt, Damage, phrase, with_cells, with_whole_stamps
from .cell import Launch
from .files import read_kept
from .rows import LONGEST_S, RunError
from .typed_json import JsonError, Natural, NotNegative, Positive, at_least, is_json_whole, read_as, refusal

LOOK_AGAIN_S = (0.01, 0.1, 0.5)  # pauses before rereading a replaced file


def read_attempt(
    launches: Path, launch: Launch, number: int, run_crc32: str, with_calls: bool = True, typed: bool = True
) -> Attempt:
    """Return the attempt; without `with_calls` calls and stamps are not read, and the marks trusted.

    Not `typed`: skip the type check of facts.
    """
    attempt = Attempt(launch, number, launches, {}, [], [], {})
    try:
        attempt = attempt._replace(facts=_facts(attempt, run_crc32, typed))
    except (RunError, OSError) as error:
        begun = any(attempt.path(ending).exists() for ending in (".cells.csv", ".calls.csv"))
        return attempt.without(".json", phrase(error)) if begun else attempt
    try:
        attempt = with_cells(attempt, run_crc32, with_calls)
    except (RunError, OSError) as error:
        is_of_calls = getattr(error, "filename", None) == str(attempt.path(".calls.csv"))
        return attempt.without(".calls.csv" if is_of_calls else ".cells.csv", phrase(error))
    return with_whole_stamps(attempt) if with_calls else attempt


def _facts(attempt: Attempt, run_crc32: str, typed: bool) -> dict:
    """Return the content of its JSON file. Raises RunError, OSError."""
    facts = _object_in(attempt.path(".json"))
    if typed:
        check_facts(facts)
    if (facts["launch"], facts["attempt"]) != (attempt.launch.name, attempt.number):
        raise RunError(f"it belongs to launch {facts['launch']}, attempt {facts['attempt']}")
    if "crc32" not in facts:
        raise RunError("its checksum is missing: the file was changed")
    if facts.get("run_crc32") != run_crc32:
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


def check_facts(facts: dict[str, Any]) -> None:
    """Raise RunError for a field of a wrong type or value; ignore unknown fields."""
    try:
        read_as(_LaunchFacts, facts)
    except JsonError as error:
        raise RunError(str(error)) from error
    for name in ("sync", "clock"):  # absent, or an object
        if name in facts and facts[name] is None:
            raise RunError(f"{name}: found None, expected an object")
    for name, kinds, expected in (("command", (str, list), "text or a list"), ("source", (dict,), "an object")):
        if name in facts and not isinstance(facts[name], kinds):
            raise RunError(f"{name}: {refusal(facts[name], expected)}")


def _shown(value: Any) -> Any:
    """Return `value`, which must be text, a number, yes, no or nothing. Raises JsonError."""
    if isinstance(value, list | dict):
        raise refusal(value, "text or a number")
    return value


# types of the launch facts that are read
Shown = Annotated[Any, _shown]
Seconds = Annotated[float, at_least(-LONGEST_S, LONGEST_S)]


@dataclass(frozen=True)
class _Interface:
    name: Shown = None
    rate_bytes_per_s: NotNegative | None = None


@dataclass(frozen=True)
class _Machine:
    host: str = ""
    processor: Shown = None
    processor_family: Shown = None
    cores: Natural | None = None
    threads: Natural | None = None
    cpus_of_ranks: Natural | None = None
    governors: tuple[str, ...] | None = None
    memory_nbytes: Natural | None = None
    cpu_quota: NotNegative | None = None
    container: Shown = None
    kernel: Shown = None
    libc: Shown = None
    transparent_huge_pages: Shown = None
    python: Shown = None
    allreduce_bench: Shown = None
    port_rates_bytes_per_s: dict[str, NotNegative | None] = None  # type: ignore[assignment]  # absent, but never null
    interfaces: tuple[_Interface, ...] = ()
    packages: dict[str, Shown] = None  # type: ignore[assignment]


@dataclass(frozen=True)
class _Port:
    counted: dict[str, Natural] | None = None
    degraded: tuple[str, ...] | None = None


@dataclass(frozen=True)
class _Counted:
    host: str = ""
    elapsed_s: Seconds | None = None
    cpus: Natural | None = None
    worked_s: Seconds | None = None
    stolen_s: Seconds | None = None
    own_s: Seconds | None = None
    throttled: int | None = None
    clock: NotNegative | None = None
    ports: dict[str, _Port] | None = None

    def __post_init__(self) -> None:
        if self.cpus and None in (self.worked_s, self.stolen_s, self.own_s):
            raise JsonError("cpus is there, but worked_s, stolen_s or own_s is missing")


@dataclass(frozen=True)
class _Startup:
    python_s: Seconds = 0.0
    import_s: Seconds = 0.0
    init_s: Seconds = 0.0
    first_collective_s: Seconds = 0.0


@dataclass(frozen=True)
class _Sync:
    way: str
    why: str


@dataclass(frozen=True)
class _Clock:
    method: str | None = None
    error_start_s: Seconds | None = None
    error_end_s: Seconds | None = None
    drift_ppm: Seconds | None = None
    drift_error_ppm: Seconds | None = None
    round_trip_s: NotNegative | None = None

    def __post_init__(self) -> None:
        if self.error_start_s is not None and self.method is None:
            raise JsonError("method is missing")
        if self.drift_ppm is not None and self.drift_error_ppm is None:
            raise JsonError("drift_error_ppm is missing")


@dataclass(frozen=True)
class _Noise:
    quantum_s: Seconds
    lost: NotNegative
    max_s: Seconds


@dataclass(frozen=True)
class _Mpi:
    library: str | None = None
    path: Shown = None
    mpi_standard: str | None = None
    thread_level: str | None = None


@dataclass(frozen=True)
class _Energy:
    idle_w: tuple[NotNegative, ...] = ()


@dataclass(frozen=True)
class _Finding:
    code: str
    level: str
    text: str
    effect: str = ""
    advice: str = ""


@dataclass(frozen=True)
class _LaunchFacts:
    launch: str
    attempt: Positive
    started: str
    ranks: Positive
    mpi: _Mpi
    oversubscribed: bool | None
    findings: tuple[_Finding, ...]
    nodes: Positive | None = None
    nodes_declared: Positive | None = None
    layout: str | None = None
    hosts: tuple[str, ...] = ()
    node_of: tuple[Natural, ...] = ()
    binding: tuple[str | None, ...] = ()
    switches: dict[str, str] = None  # type: ignore[assignment]
    transport: str | None = None
    variables: dict[str, Shown] = None  # type: ignore[assignment]
    machines: tuple[_Machine, ...] = ()
    startup: _Startup = _Startup()
    sync: _Sync | None = None
    clock: _Clock | None = None
    noise: _Noise | None = None
    energy: _Energy | None = None
    in_haste: bool | None = None
    size_sets: tuple[tuple[Natural, ...], ...] | None = None
    cold_nbytes: Natural | None = None
    counted: tuple[_Counted, ...] | None = None
    order: tuple[Natural, ...] = ()
    ranks_from: str | None = None
    run_crc32: str = ""
    cells: Natural | None = None

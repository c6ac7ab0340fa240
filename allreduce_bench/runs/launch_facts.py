"""What the JSON file of a launch must be like where it is read: of an older layout no checksum vouches for it."""

from dataclasses import dataclass
from typing import Annotated, Any

from .rows import LONGEST_S, RunError
from .schema import SCHEMA_VERSION, UNCHECKED_VERSION
from .typed_json import JsonError, Natural, NotNegative, Positive, at_least, read_as, refusal


def _shown(value: Any) -> Any:
    """The rule that a value is text, a number, yes, no or nothing."""
    if isinstance(value, list | dict):
        raise refusal(value, "text or a number")
    return value


Shown = Annotated[Any, _shown]
Seconds = Annotated[float, at_least(-LONGEST_S, LONGEST_S)]


@dataclass(frozen=True)
class _Timer:
    step_s: Seconds | None = None
    resolution_s: Seconds | None = None


@dataclass(frozen=True)
class _Interface:
    name: Shown = None
    rate_bytes_per_s: NotNegative | None = None


@dataclass(frozen=True)
class _Machine:
    host: str = ""
    processor: Shown = None
    cores: Natural | None = None
    threads: Natural | None = None
    cpus_of_ranks: Natural | None = None
    governors: tuple[str, ...] | None = None
    memory_nbytes: Natural | None = None
    container: Shown = None
    kernel: Shown = None
    python: Shown = None
    allreduce_bench: Shown = None
    timer: _Timer | None = None
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
class _Groups:
    alone: tuple[Natural | None, ...]


@dataclass(frozen=True)
class _Mpi:
    library: str | None = None
    mpi_standard: str | None = None
    thread_level: str | None = None


@dataclass(frozen=True)
class _Finding:
    code: str
    text: str
    level: str | None = None
    effect: str = ""
    advice: str = ""


@dataclass(frozen=True)
class _LaunchFacts:
    schema_version: Annotated[int, at_least(UNCHECKED_VERSION, SCHEMA_VERSION)]
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
    in_haste: bool | None = None
    size_sets: tuple[tuple[Natural, ...], ...] | None = None
    cold_nbytes: Natural | None = None
    counted: tuple[_Counted, ...] | None = None
    groups: _Groups | None = None
    ranks_from: str | None = None
    run_crc32: str = ""
    marks: Natural | None = None
    last_mark_crc32: str | None = None


def check_facts(facts: dict[str, Any]) -> None:
    """Raises RunError where a field that is read is not what it must be; what it does not know stays as it is."""
    try:
        read_as(_LaunchFacts, facts)
    except JsonError as error:
        raise RunError(str(error)) from error
    for name in ("sync", "clock", "groups"):  # absent, or an object
        if name in facts and facts[name] is None:
            raise RunError(f"{name}: found None, expected an object")
    for name, kinds, expected in (("command", (str, list), "text or a list"), ("source", (dict,), "an object")):
        if name in facts and not isinstance(facts[name], kinds):
            raise RunError(f"{name}: {refusal(facts[name], expected)}")

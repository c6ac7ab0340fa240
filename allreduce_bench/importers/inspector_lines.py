"""The JSON lines of NCCL Inspector, one file a process: what each rank of each communicator recorded of its calls.

Format versions v4.0 to v4.2 say header and metadata in every line; v4.3 says them once, in a `dump_stats` line, and
says how many lines below it belong to it (NVIDIA/nccl, plugins/profiler/inspector/README.md and inspector_json.cc; up
to NCCL 2.28 in ext-profiler/inspector). Stamps are `gettimeofday` of the host, in microseconds. `coll_start_ts` and
`coll_stop_ts` enclose the enqueuing on the CPU, not the call, so what counts are the channels of the kernel: a rank is
ready where its first channel starts, and its call ends where its last channel stops. They are there with
NCCL_INSPECTOR_DUMP_VERBOSE=1 only.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..units import MAX_RANKS
from .lines import LogLine, dropped, lines_of
from .row import LogError
from .values import LARGEST, US, printable, shown

KINDS = ("coll_perf", "p2p_perf", "proxy_trace", "dump_stats")  # what a line is about
LONGEST_LINE = 1_000_000  # letters; 64 channels take 13,000
MOST_DAMAGED = 3  # lines of a file that are named one by one
LONGEST_S = 1e6  # of a call: 11 days
NAME_LETTERS = 80


class InspectorCall(NamedTuple):
    """One call, as one rank recorded it."""

    line: int
    nbytes: int
    algorithm: str  # `ring_ll`; empty: not recorded
    time_s: float
    ready_us: int  # since 1970 by the clock of the host; 0: not recorded
    end_us: int


class Recorded(NamedTuple):
    """What one rank recorded of one communicator in one file."""

    file: str
    id: str
    name: str  # that the program gave the communicator; empty: none
    rank: int
    ranks: int
    nodes: int
    host: str
    pid: int
    version: str
    calls: dict[tuple[str, int], InspectorCall]  # collective and coll_sn, which counts the calls of each collective
    lost: list[int]  # calls that were overwritten before they were written, as each dump_stats says; since the first

    @property
    def place(self) -> str:
        """The file, and the line of the first call."""
        return f"{self.file}, line {min((call.line for call in self.calls.values()), default=1)}"


def recognises(text: str) -> bool:
    """Whether this is such a file, or begins like one."""
    head = text.lstrip("\ufeff \t\r\n")
    return head.startswith("{") and '"n_ranks"' in text and any(f'"{kind}"' in text for kind in KINDS)


def recorded(path: Path, text: str) -> list[Recorded]:
    """What the file says, a `Recorded` for each communicator and rank. Raises LogError for a value that cannot be.

    Lines that are damaged or too long are left out with a warning.
    """
    reader = _Reader(str(path))
    for line in lines_of(text):
        if line.text.strip():
            reader.take(line)
    reader.tell_damaged()
    return list(reader.found.values())


class _Reader:
    """What was read so far of one file."""

    def __init__(self, file: str):
        self.file, self.found = file, dict[tuple[str, int], Recorded]()
        self.damaged = 0
        self.context: Mapping[str, Any] | None = None  # header and metadata of a dump of v4.3
        self.of_context = 0  # lines that still belong to it

    def take(self, line: LogLine) -> None:
        """Take in one line."""
        record = self._object(line)
        if record is None:
            self.of_context -= 1
            return
        try:
            self._take(record, line.number)
        except _Damage as damage:
            raise LogError(f"{self.file}, line {line.number}: {damage}") from damage

    def _object(self, line: LogLine) -> dict[str, Any] | None:
        """The JSON object of a line; None: there is none, which is said."""
        why = f"longer than {LONGEST_LINE:,} letters"
        if len(line.text) <= LONGEST_LINE:
            try:
                record = json.loads(line.text.lstrip("\ufeff"))
                if isinstance(record, dict):
                    return record
                why = f"{shown(line.text)} is no JSON object"
            except (ValueError, RecursionError):  # also a number of thousands of digits, brackets without end
                why = "damaged JSON" if line.ended else "cut off"
        self.damaged += 1
        if self.damaged <= MOST_DAMAGED:
            dropped(self.file, line, why)
        return None

    def tell_damaged(self) -> None:
        """Say how many further lines were left out."""
        if self.damaged > MOST_DAMAGED:
            more = self.damaged - MOST_DAMAGED
            dropped(self.file, LogLine(1, "", True), f"{more} further line{'s' * (more > 1)} below are damaged")

    def _take(self, record: Mapping[str, Any], number: int) -> None:
        own = {name: record[name] for name in ("header", "metadata") if name in record}
        if "dump_stats" in record:
            part = self._part(own)
            stats = _mapping(record, "dump_stats")
            part.lost.append(_whole(stats, "coll_dropped_total", 0))
            counts = [_whole(stats, f"{kind}_records", 0) for kind in ("coll", "p2p", "proxy")]
            is_context = part.version not in ("v4.0", "v4.1", "v4.2")
            self.context, self.of_context = (own, sum(counts)) if is_context else (None, 0)
        elif "header" in own:
            self.context = None
            self._call(self._part(own), record, number)
        elif self.context is not None and self.of_context > 0:
            self.of_context -= 1
            self._call(self._part(self.context), record, number)
        elif any(kind in record for kind in KINDS):
            raise _Damage("a call without header, and no dump_stats above it that it belongs to")

    def _part(self, context: Mapping[str, Any]) -> Recorded:
        """The part of the file that a line of this header belongs to."""
        header, metadata = _mapping(context, "header"), _mapping(context, "metadata")
        ranks = _whole(header, "n_ranks", None, 1, MAX_RANKS)
        rank = _whole(header, "rank", None, 0, ranks - 1)
        comm = _text(header, "id")
        part = self.found.get((comm, rank))
        if part is None:
            name = _text(header, "comm_name")
            part = self.found[comm, rank] = Recorded(
                file=self.file,
                id=comm,
                name="" if name == "unknown" else name,
                rank=rank,
                ranks=ranks,
                nodes=_whole(header, "nnodes", 0, 0, MAX_RANKS),
                host=_text(metadata, "hostname"),
                pid=_whole(metadata, "pid", 0),
                version=_text(metadata, "inspector_output_format_version"),
                calls={},
                lost=[],
            )
        elif part.ranks != ranks:
            raise _Damage(f"communicator {comm} has {ranks} ranks, but {part.ranks} above")
        return part

    def _call(self, part: Recorded, record: Mapping[str, Any], number: int) -> None:
        """Add the call of a line, if it is of a collective."""
        if "coll_perf" not in record:
            return
        perf = _mapping(record, "coll_perf")
        time_s = _real(perf, "coll_exec_time_us") * US
        ready_us, end_us = _kernel(perf.get("event_trace_ts"))
        key = (_text(perf, "coll"), _whole(perf, "coll_sn"))
        call = InspectorCall(number, _whole(perf, "coll_msg_size_bytes"), _algorithm(perf), time_s, ready_us, end_us)
        before = part.calls.setdefault(key, call)
        if before._replace(line=number) != call:
            raise _Damage(f"coll_sn {key[1]} of {key[0]} differs from that in line {before.line}")


class _Damage(ValueError):
    """A value that cannot be."""


def _mapping(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = content.get(name)
    if not isinstance(value, dict):
        raise _Damage(f"no object {name}; expected lines of NCCL Inspector, with header and metadata")
    return value


def _text(content: Mapping[str, Any], name: str) -> str:
    """A word in one line; empty: there is none."""
    value = content.get(name, "")
    return printable(str(value))[:NAME_LETTERS]


def _whole(
    content: Mapping[str, Any], name: str, default: int | None = None, least: int = 0, most: int = LARGEST
) -> int:
    value = content.get(name, default)
    if type(value) is not int or not least <= value <= most:
        raise _Damage(f"{name} is {shown(repr(value)[:60])}, expected a whole number from {least} to {most:.15g}")
    return value


def _real(content: Mapping[str, Any], name: str) -> float:
    value = content.get(name)
    if type(value) not in (int, float) or not 0 <= value < LONGEST_S / US:  # type: ignore[operator]
        raise _Damage(f"{name} is {shown(repr(value)[:60])}, expected microseconds")
    return float(value)  # type: ignore[arg-type]


def _algorithm(perf: Mapping[str, Any]) -> str:
    """`ring_ll`; empty where one of both is not known."""
    words = [_text(perf, name).lower() for name in ("coll_algo", "coll_proto")]
    known = all(words) and "unknown" not in words
    return "_".join("".join(letter if letter.isalnum() else "_" for letter in word) for word in words) if known else ""


def _kernel(trace: Any) -> tuple[int, int]:
    """When the first channel started and the last one stopped, microseconds; 0, 0: missing, or no call."""
    events = trace.get("kernel_events") if isinstance(trace, dict) else None
    if not isinstance(events, list) or not events or not all(isinstance(event, dict) for event in events):
        return 0, 0
    starts, stops = ([event.get(f"kernel_{what}_ts") for event in events] for what in ("start", "stop"))
    if not all(type(stamp) is int and 0 < stamp < LARGEST for stamp in (*starts, *stops)):
        return 0, 0
    first, last = min(starts), max(stops)
    return (first, last) if first <= last < first + LONGEST_S / US else (0, 0)

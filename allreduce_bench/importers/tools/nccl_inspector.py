"""NCCL Inspector: the calls that each rank of each communicator recorded, joined on a common clock.

JSON lines, one file per process. Format versions v4.0 to v4.2 have header and metadata in every line; v4.3 has them
once, in a `dump_stats` line, with the number of lines below that belong to it (NVIDIA/nccl,
plugins/profiler/inspector/README.md and inspector_json.cc; up to NCCL 2.28 in ext-profiler/inspector). Stamps are
`gettimeofday` of the host, in microseconds. `coll_start_ts` and `coll_stop_ts` enclose the enqueuing on the CPU, not
the call, so the channels of the kernel are used: a rank is ready when its first channel starts, and its call ends when
its last channel stops. They are there with NCCL_INSPECTOR_DUMP_VERBOSE=1 only.

NCCL counts the calls of each collective of a communicator separately (`seqNumber[func]`, NVIDIA/nccl,
src/misc/profiler.cc and its descendants), so that a call is identified by its collective and its `coll_sn`.

Read from the whole to its parts: `chosen_communicator` joins files, `call_table` aligns its calls, `stamps_of_calls`
puts them on a common clock; `recorded` reads one file; at the end the importer.
"""

import json
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...runs.competitor import NATIVE
from ...runs.schema import STAMPS
from ...units import MAX_RANKS, counted, format_ranges, in_ranks, shell_word
from ..common_ends import aligned_by_common_end
from ..lines import (
    LARGEST,
    PEEKED_NBYTES,
    US,
    Log,
    LogLine,
    Place,
    lines_of,
    listed,
    read_text,
    shown_value,
    text_of,
    warn_of_row,
    whole_of,
)
from ..row import Asked, Imported, LogError, LogWarning
from . import Importer

# words
TITLE = "NCCL Inspector"
ALLREDUCE = "AllReduce"
MEETING = (ALLREDUCE, "AllGather", "ReduceScatter", "AlltoAll")  # no rank can end before every rank has begun
VERBOSE = "NCCL_INSPECTOR_DUMP_VERBOSE=1"
KINDS = ("coll_perf", "p2p_perf", "proxy_trace", "dump_stats")  # kinds of lines
SUFFIXES = (".log", ".jsonl", ".json")


# bounds of what is read
MOST_CLAIMED = 10**6  # ranks without a file times calls
LONGEST_S = 1e6  # of a call: 11 days

BEGIN, READY, ENTRY, EXIT = range(len(STAMPS))  # rows of `CallStamps.times_s`


class InspectorCall(NamedTuple):
    """One call, as one rank recorded it."""

    line: int
    size_bytes: int
    algorithm: str  # `ring_ll`; empty: not recorded
    time_s: float
    ready_us: int  # since 1970 by the clock of the host; 0: not recorded
    end_us: int


class Recorded(NamedTuple):
    """The records of one rank about one communicator in one file."""

    file: str
    id: str
    name: str  # given by the program; empty: none
    rank: int
    ranks: int
    nodes: int
    host: str
    pid: int
    version: str
    calls: dict[tuple[str, int], InspectorCall]  # by collective and coll_sn, which counts the calls of each collective
    lost: list[int]  # calls overwritten before they were written, per dump_stats line; since the first

    @property
    def place(self) -> str:
        """The file, and the line of the first call."""
        return f"{self.file}, line {min((call.line for call in self.calls.values()), default=1)}"


class Communicator(NamedTuple):
    """The records of all files about one communicator."""

    id: str
    name: str  # empty: none
    ranks: int
    nodes: int | None
    of_rank: dict[int, Recorded]

    @property
    def hosts(self) -> list[str]:
        """Return the host of each rank; empty: it has no file."""
        return [self.of_rank[rank].host if rank in self.of_rank else "" for rank in range(self.ranks)]

    @property
    def node_of(self) -> tuple[int, ...]:
        """Return the host number of each rank; hosts are numbered by their first ranks."""
        numbers = {host: number for number, host in enumerate(dict.fromkeys(self.hosts))}
        return tuple(numbers[host] for host in self.hosts)

    @property
    def place(self) -> str:
        """Return the place where its first rank begins."""
        return self.of_rank[min(self.of_rank)].place

    @property
    def words(self) -> str:
        """Format `0x7f8c (DP Group 0), 8 ranks, 1407 calls`."""
        calls = max(len(part.calls) for part in self.of_rank.values())
        name = f" ({self.name})" if self.name else ""
        return f"{self.id}{name}, {in_ranks([self.ranks])}, {calls} call{'' if calls == 1 else 's'}"


class CallTable(NamedTuple):
    """The calls of a communicator that every rank with a file recorded, in their order."""

    size_bytes: np.ndarray  # int64 [call]
    algorithm: tuple[str, ...]  # of each call; empty: unknown, or ranks differ
    time_s: np.ndarray  # float64 [call, rank]; NaN: no file of the rank
    ready_s: np.ndarray  # float64 [call, rank]: by the clock of the rank, since the earliest stamp; NaN: not recorded
    end_s: np.ndarray
    is_next: np.ndarray  # bool [call]: no call that is left out lies between it and the one above

    @property
    def has_stamps(self) -> np.ndarray:
        """bool [call]: every rank with a file recorded when it was ready."""
        known = ~np.isnan(self.time_s).all(axis=0)
        return ~np.isnan(self.ready_s[:, known]).any(axis=1)


class CallStamps(NamedTuple):
    """The stamps of all calls on a common clock."""

    times_s: np.ndarray  # float64 [4, call, rank]: STAMPS; begin is the end of the previous call; NaN: unknown
    clock_error_s: float


def files_of(folder: Path) -> list[Path]:
    """Return the files of NCCL Inspector below a folder, sorted by name."""
    files = (file for file in folder.rglob("*") if file.suffix in SUFFIXES)
    return sorted(file for file in files if is_of_inspector(file))


def is_of_inspector(path: Path) -> bool:
    """Return whether a file begins as one; a pipe, which can be read only once, is not opened."""
    if not path.is_file():
        return False
    try:
        with open(path, "rb") as file:
            return recognises(file.read(PEEKED_NBYTES).decode(errors="replace"))
    except OSError:
        return False


def recognises(text: str) -> bool:
    """Return whether this is such a file, or begins like one."""
    head = text.lstrip("\ufeff \t\r\n")
    return head.startswith("{") and '"n_ranks"' in text and any(f'"{kind}"' in text for kind in KINDS)


def logs_of(paths: Iterable[Path]) -> list[Log]:
    """Return the texts of files, and of those below folders. Raises LogError."""
    files = [file for path in paths for file in (files_of(path) if path.is_dir() else [path])]
    return [Log(file, read_text(file)) for file in files]


def chosen_communicator(logs: Sequence[Log], wanted: str | None, collectives: Collection[str]) -> Communicator:
    """Return the communicator with this id or name, or the only one of several ranks that called any of `collectives`.

    Raises LogError: there is none, or it has to be chosen. Warns of ranks that recorded less than others.
    """
    found = _joined(part for log in logs for part in recorded(log.path, log.text))
    calling = [one for one in found if one.ranks > 1 and _numbers(one, collectives)]
    candidates = [one for one in calling if wanted in (None, one.id, one.name)]
    first = f"{logs[0].file}, line 1" if logs else TITLE
    if not calling:
        raise LogError(f"{first}: no {' or '.join(collectives)} of several ranks was recorded")
    if not candidates:
        raise LogError(f"{first}: no communicator {wanted}; there are: {_listed(calling)}")
    if len(candidates) > 1:
        raise LogError(
            f"{candidates[1].place}: {len(candidates)} communicators, where one is expected: {_listed(candidates)}; "
            f"choose one with --communicator {shell_word(candidates[0].id)}"
        )
    _warn(candidates[0], collectives)
    return candidates[0]


def _listed(communicators: Sequence[Communicator]) -> str:
    return listed((one.words for one in communicators), 5).replace(" calls, ", " calls; ")


def _joined(parts: Iterable[Recorded]) -> list[Communicator]:
    """Join the files to communicators. Raises LogError if files contradict each other."""
    parts_of: dict[str, dict[int, Recorded]] = defaultdict(dict)
    for part in parts:
        of_rank = parts_of[part.id]
        other = next(iter(of_rank.values()), part)
        if other.ranks != part.ranks:
            raise LogError(
                f"{part.place}: communicator {part.id} has {part.ranks} ranks, but {other.ranks} in {other.file}; "
                "give the files of one job only"
            )
        before = of_rank.setdefault(part.rank, part)
        if before is not part:
            _add(before, part)
    return [
        Communicator(
            id=name,
            name=next((part.name for part in of_rank.values() if part.name), ""),
            ranks=next(iter(of_rank.values())).ranks,
            nodes=next((part.nodes for part in of_rank.values() if part.nodes), None),
            of_rank=dict(sorted(of_rank.items())),
        )
        for name, of_rank in parts_of.items()
    ]


def _add(before: Recorded, part: Recorded) -> None:
    """Add the calls of a second file of the same process. Raises LogError for that of another process."""
    if (before.host, before.pid) != (part.host, part.pid):
        raise LogError(
            f"{part.place}: rank {part.rank} of communicator {part.id} is also in {before.file}; give the files of "
            "one job only"
        )
    before.calls.update(part.calls)
    before.lost.extend(part.lost)


def _numbers(communicator: Communicator, collectives: Collection[str]) -> list[tuple[str, int]]:
    """Return the calls of these collectives that any rank recorded."""
    keys = {key for part in communicator.of_rank.values() for key in part.calls if key[0] in collectives}
    return sorted(keys)


def _warn(communicator: Communicator, collectives: Collection[str]) -> None:
    """Warn of ranks without a file, or with fewer calls than there were."""
    absent = sorted(set(range(communicator.ranks)) - set(communicator.of_rank))
    if absent:
        _say(f"communicator {communicator.id}: no file of rank{'s' * (len(absent) > 1)} {format_ranges(absent)}")
    calls = len(_numbers(communicator, collectives))
    fewer = []
    for rank, part in communicator.of_rank.items():
        own = sum(key[0] in collectives for key in part.calls)
        lost = f", {max(part.lost)} overwritten" if any(part.lost) else ""
        if own < calls:
            fewer.append(f"rank {rank} {own}{lost}")
    if fewer:
        _say(
            f"communicator {communicator.id}: not every rank recorded each of {calls} calls: {listed(fewer)}; only "
            "calls of all these ranks are used"
        )


def _say(sentence: str) -> None:
    warnings.warn(sentence, LogWarning, stacklevel=2)


def call_table(communicator: Communicator, collectives: Collection[str]) -> CallTable:
    """Return the calls of these collectives, aligned over ranks.

    Raises LogError: no call was recorded by every rank with a file, ranks differ in the length of its vector, or far
    more ranks are claimed than have files.
    """
    parts = communicator.of_rank
    keys = _numbers(communicator, collectives)
    whole = {key: [part.calls[key] for part in parts.values()] for key in keys if _is_whole(key, parts.values())}
    if not whole:
        raise LogError(f"{communicator.place}: no call was recorded by every rank of communicator {communicator.id}")
    if (communicator.ranks - len(parts)) * len(whole) > MOST_CLAIMED:
        raise LogError(
            f"{communicator.place}: communicator {communicator.id} claims {communicator.ranks} ranks, and only "
            f"{len(parts)} of them have a file; give the files of all ranks"
        )
    for key, calls in whole.items():
        _refuse_other_sizes(communicator, key, calls)
    when = {key: _when(key, parts.values()) for key in keys}
    ordered = sorted(keys, key=lambda key: (when[key], key))
    used = [key for key in ordered if key in whole]
    places = [place for place, key in enumerate(ordered) if key in whole]
    shape = len(used), communicator.ranks
    time_s, ready_s, end_s = (np.full(shape, np.nan) for _ in range(3))
    origin = min((call.ready_us for calls in whole.values() for call in calls if call.ready_us), default=0)
    columns = list(parts)
    for row, key in enumerate(used):
        calls = whole[key]
        time_s[row, columns] = [call.time_s for call in calls]
        ready_s[row, columns] = [(call.ready_us - origin) * US if call.ready_us else np.nan for call in calls]
        end_s[row, columns] = [(call.end_us - origin) * US if call.ready_us else np.nan for call in calls]
    algorithms = ({call.algorithm for call in whole[key]} for key in used)
    return CallTable(
        size_bytes=np.array([whole[key][0].size_bytes for key in used]),
        algorithm=tuple(names.pop() if len(names) == 1 else "" for names in algorithms),
        time_s=time_s,
        ready_s=ready_s,
        end_s=end_s,
        is_next=np.diff(places, prepend=-2) == 1,
    )


def _is_whole(key: tuple[str, int], parts: Collection[Recorded]) -> bool:
    return all(key in part.calls for part in parts)


def _when(key: tuple[str, int], parts: Collection[Recorded]) -> int:
    """Return roughly when a call ended, by the first rank that recorded it; if none did, its number."""
    ends = (part.calls[key].end_us for part in parts if key in part.calls)
    return next((end for end in ends if end), key[1])


def _refuse_other_sizes(communicator: Communicator, key: tuple[str, int], calls: Sequence[InspectorCall]) -> None:
    for (rank, part), call in zip(communicator.of_rank.items(), calls):
        if call.size_bytes != calls[0].size_bytes:
            raise LogError(
                f"{part.file}, line {call.line}: coll_sn {key[1]} of {key[0]} has {call.size_bytes} bytes "
                f"on rank {rank}, but {calls[0].size_bytes} on another; give the files of one job only"
            )


def stamps_of_calls(table: CallTable) -> CallStamps | None:
    """Return the stamps of the calls that every rank with a file has stamps of; None: there is no such call."""
    is_known = table.has_stamps
    if not is_known.any():
        return None
    has_rank = ~np.isnan(table.time_s).all(axis=0)
    chosen = np.ix_(is_known, has_rank)
    ready_s, clock_error_s = aligned_by_common_end(table.ready_s[chosen], table.end_s[chosen])
    times_s = np.full((len(STAMPS), *table.ready_s.shape), np.nan)
    times_s[READY][chosen] = times_s[ENTRY][chosen] = ready_s
    times_s[EXIT][chosen] = ready_s + (table.end_s - table.ready_s)[chosen]
    ends_s = np.full(len(table.size_bytes), np.nan)
    ends_s[is_known] = times_s[EXIT][chosen].max(axis=1)
    times_s[BEGIN][1:, has_rank] = np.where(table.is_next[1:], ends_s[:-1], np.nan)[:, None]
    return CallStamps(times_s, clock_error_s)


def recorded(path: Path, text: str) -> list[Recorded]:
    """Read a file: a `Recorded` for each communicator and rank. Raises LogError for an impossible value.

    Lines that are damaged are left out with a warning.
    """
    reader = _Reader(str(path))
    for line in lines_of(text, str(path)):
        if line.text.strip():
            reader.take(line)
    reader.tell_damaged()
    return list(reader.found.values())


class _Reader:
    """The records read so far of one file."""

    def __init__(self, file: str):
        self.file, self.found = file, dict[tuple[str, int], Recorded]()
        self.damaged: list[LogLine] = []
        self.context: Mapping[str, Any] | None = None  # header and metadata of a dump of v4.3
        self.of_context = 0  # remaining lines that belong to it

    def take(self, line: LogLine) -> None:
        """Read one line."""
        try:
            record = json.loads(line.text.lstrip("\ufeff"))
        except (ValueError, RecursionError):  # also a number of thousands of digits, brackets without end
            record = None
        if isinstance(record, dict):
            self._take(record, line)
        else:
            self.damaged.append(line)
            self.of_context -= 1

    def tell_damaged(self) -> None:
        """Warn of lines that were left out, by the first one."""
        if self.damaged:
            first, others = self.damaged[0], len(self.damaged) - 1
            more = f", and {counted(others, 'line')} below" if others else ""
            warn_of_row(self.file, first, f"{'damaged JSON' if first.ended else 'cut off'}{more}")

    def _take(self, record: Mapping[str, Any], line: LogLine) -> None:
        own = {name: record[name] for name in ("header", "metadata") if name in record}
        if "dump_stats" in record:
            part = self._part(own, line.place)
            stats = _object(record, "dump_stats", line.place)
            part.lost.append(whole_of(stats, "coll_dropped_total", line.place, default=0))
            counts = [whole_of(stats, f"{kind}_records", line.place, default=0) for kind in ("coll", "p2p", "proxy")]
            is_context = part.version not in ("v4.0", "v4.1", "v4.2")
            self.context, self.of_context = (own, sum(counts)) if is_context else (None, 0)
        elif "header" in own:
            self.context = None
            self._call(self._part(own, line.place), record, line)
        elif self.context is not None and self.of_context > 0:
            self.of_context -= 1
            self._call(self._part(self.context, line.place), record, line)
        elif any(kind in record for kind in KINDS):
            raise LogError(f"{line.place}: a call without header, and no dump_stats above it that it belongs to")

    def _part(self, context: Mapping[str, Any], place: Place) -> Recorded:
        """Return the part of the file that a line with this header belongs to."""
        header, metadata = _object(context, "header", place), _object(context, "metadata", place)
        ranks = whole_of(header, "n_ranks", place, 1, MAX_RANKS)
        rank = whole_of(header, "rank", place, 0, ranks - 1)
        comm, name = text_of(header, "id"), text_of(header, "comm_name")
        part = self.found.get((comm, rank))
        if part is None:
            part = self.found[comm, rank] = Recorded(
                file=self.file,
                id=comm,
                name="" if name == "unknown" else name,
                rank=rank,
                ranks=ranks,
                nodes=whole_of(header, "nnodes", place, 0, MAX_RANKS, 0),
                host=text_of(metadata, "hostname"),
                pid=whole_of(metadata, "pid", place, default=0),
                version=text_of(metadata, "inspector_output_format_version"),
                calls={},
                lost=[],
            )
        elif part.ranks != ranks:
            raise LogError(f"{place}: communicator {comm} has {ranks} ranks, but {part.ranks} above")
        return part

    def _call(self, part: Recorded, record: Mapping[str, Any], line: LogLine) -> None:
        """Add the call of a line, if it is of a collective."""
        if "coll_perf" not in record:
            return
        perf = _object(record, "coll_perf", line.place)
        time_us: Any = perf.get("coll_exec_time_us")
        if type(time_us) not in (int, float) or not 0 <= time_us < LONGEST_S / US:
            raise LogError(f"{line.place}: coll_exec_time_us is {shown_value(time_us)}, expected microseconds")
        size_bytes = whole_of(perf, "coll_msg_size_bytes", line.place)
        key = text_of(perf, "coll"), whole_of(perf, "coll_sn", line.place)
        call = InspectorCall(line.number, size_bytes, _algorithm(perf), time_us * US, *_kernel(perf))
        before = part.calls.setdefault(key, call)
        if before._replace(line=line.number) != call:
            raise LogError(f"{line.place}: coll_sn {key[1]} of {key[0]} differs from that in line {before.line}")


def _object(content: Mapping[str, Any], name: str, place: Place) -> Mapping[str, Any]:
    """Return an object of an object. Raises LogError."""
    value = content.get(name)
    if not isinstance(value, dict):
        raise LogError(f"{place}: no object {name}; expected lines of NCCL Inspector, with header and metadata")
    return value


def _algorithm(perf: Mapping[str, Any]) -> str:
    """Return `ring_ll`; empty if algorithm or protocol is unknown."""
    words = [text_of(perf, name).lower() for name in ("coll_algo", "coll_proto")]
    known = all(words) and "unknown" not in words
    return "_".join("".join(letter if letter.isalnum() else "_" for letter in word) for word in words) if known else ""


def _kernel(perf: Mapping[str, Any]) -> tuple[int, int]:
    """Return when the first channel started and the last one stopped, microseconds; 0, 0: missing, or no call."""
    trace = perf.get("event_trace_ts")
    events = trace.get("kernel_events") if isinstance(trace, dict) else None
    if not isinstance(events, list) or not events or not all(isinstance(event, dict) for event in events):
        return 0, 0
    starts, stops = ([event.get(f"kernel_{what}_ts") for event in events] for what in ("start", "stop"))
    if not all(type(stamp) is int and 0 < stamp < LARGEST for stamp in (*starts, *stops)):
        return 0, 0
    first, last = min(starts), max(stops)
    return (first, last) if first <= last < first + LONGEST_S / US else (0, 0)


# The importer: the JSON lines of all ranks, one file per process, or a folder of them.
#
# The time of a call is the maximum over ranks of coll_exec_time_us, from the rank's first channel to its last: it
# includes waiting for other ranks. If the lines have stamps (NCCL_INSPECTOR_DUMP_VERBOSE=1), those of every rank are
# kept on a common clock, so that `stragglers` and `report` show who arrives last. Only all-reduces are taken.


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of one file, or of a folder. Raises LogError."""
    return read_together([log] if log.text else logs_of([log.path]), asked)


def read_together(logs: Sequence[Log], asked: Asked) -> list[Imported]:
    """Return a row for each size and algorithm of the communicator that these files share. Raises LogError."""
    communicator = chosen_communicator(logs, asked.communicator, (ALLREDUCE,))
    table = call_table(communicator, (ALLREDUCE,))
    stamps = stamps_of_calls(table)
    cells = dict.fromkeys(zip(table.size_bytes.tolist(), table.algorithm))
    return [_row(communicator, table, stamps, size_bytes, algorithm) for size_bytes, algorithm in cells]


IMPORTER = Importer(
    name="nccl-inspector",
    title=TITLE,
    turn=5,
    recognises=recognises,
    read=read,
    definitions={
        "nccl_inspector": "maximum over ranks of the time of a call on the GPU, waits included (coll_exec_time_us)"
    },
    read_together=read_together,
    files_of=files_of,
    has_communicators=True,
)


def _row(
    communicator: Communicator, table: CallTable, stamps: CallStamps | None, size_bytes: int, algorithm: str
) -> Imported:
    """Return the row of one size and algorithm, without calls of 0 microseconds."""
    longest_s = np.nanmax(table.time_s, axis=1)
    is_of_cell = (table.size_bytes == size_bytes) & np.array([name == algorithm for name in table.algorithm])
    calls = np.flatnonzero(is_of_cell & (longest_s > 0))
    state: dict[str, Any] = {"state": "left out", "reason": "the log has times of 0"} if not len(calls) else {}
    first = next(iter(communicator.of_rank.values()))
    return Imported(
        file=first.file,
        line=min(
            call.line for key, call in first.calls.items() if key[0] == ALLREDUCE and call.size_bytes == size_bytes
        ),
        tool=TITLE,
        version=", ".join(sorted({part.version for part in communicator.of_rank.values() if part.version})) or None,
        launch=f"communicator {communicator.id}",
        competitor=f"{NATIVE}:{algorithm}" if algorithm else NATIVE,
        ranks=communicator.ranks,
        nodes=communicator.nodes,
        size_bytes=size_bytes,
        iterations=1,
        time_definition="nccl_inspector",
        times_s=tuple(longest_s[calls].tolist()),
        stamps=stamps.times_s[:, calls, :] if stamps and len(calls) else None,
        clock_error_s=stamps.clock_error_s if stamps and len(calls) else None,
        files=tuple(dict.fromkeys(part.file for part in communicator.of_rank.values())),
        facts={"hosts": [host or "unknown" for host in communicator.hosts], "node_of": list(communicator.node_of)},
        **state,
    )

"""Records of PyTorch's Flight Recorder as JSON, one file a rank: the collective calls that a rank entered and left.

`torch._C._distributed_c10d._dump_fr_trace_json` writes them for Gloo, `_dump_nccl_trace_json` for NCCL, which has not
been tested here. The usual dump is a pickle, which is refused. A record holds the last calls only, numbered by
`collective_seq_id` in each process group; `pg_status` holds the last call that was entered and left. Calls of Gloo stay
`scheduled`, and are `retired` when they are done. `time_created_ns` is of the clock of an unnamed host, and no common
end is recorded, so arrivals are unknown.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from ..importers.lines import document_of, dtype_of, itemsize_of, text_of, whole_of
from ..importers.row import LogError
from ..units import MAX_RANKS, shell_word
from .kineto import GLOO, SYMMETRIC, meeting_of
from .progress import NO_RECORD, Count, Held, Missing, Progress, Unlike

TITLE = "flight-recorder"
DEFAULT_GROUP = "default_pg"
STARTED, COMPLETED = "started", "completed"  # of `state`; `scheduled`: only the host has entered
MOST_HELD = 5  # calls reported of each kind of inconsistency
AS_JSON = """python -c "import json, pickle, sys; json.dump(pickle.load(open(sys.argv[1], 'rb')), sys.stdout)" """
NUMBER_OF_RANK = re.compile(r"(\d{1,7})(?:\.\w+)*$", re.ASCII)


class RecordedCall(NamedTuple):
    """One collective call, as one rank recorded it."""

    collective: str
    nbytes: int | None
    is_left: bool
    is_started: bool = False  # by the GPU; of Gloo never


class RecordedGroup(NamedTuple):
    """One process group in the record of one rank."""

    calls: dict[int, RecordedCall]
    entered: int
    left: int


class RecordedRank(NamedTuple):
    """The content of the file of one rank."""

    file: str
    rank: int
    groups: dict[tuple[str, str], RecordedGroup]  # by name and description
    ids: dict[tuple[str, str], str]  # of the same groups: what pg_status calls them
    status: dict[str, tuple[int, int]]  # by that id: the last calls entered and left
    members: dict[str, frozenset[int]]  # of process groups by name


def recognises(head: str) -> bool:
    """Return whether a file begins as such a record."""
    return head.lstrip("\ufeff \t\r\n").startswith("{") and any(
        f'"{name}"' in head for name in ("pg_config", "pg_status", "profiling_name", "collective_seq_id")
    )


def refuse_pickle(path: Path) -> LogError:
    """Return the error for a record that is a pickle, with the command that converts it to JSON."""
    return LogError(
        "stragglers.pickle_flight_recorder_writes",
        path=path,
        as_json=AS_JSON,
        path_2=shell_word(path),
        path_3=shell_word(f"{path}.json"),
    )


def progress_of_records(paths: Sequence[Path]) -> list[Progress]:
    """Return the progress of the ranks of each process group. Raises LogError."""
    of_rank: dict[int, RecordedRank] = {}
    for path in paths:
        part = recorded(path)
        before = of_rank.setdefault(part.rank, part)
        if before is not part:
            raise LogError("stragglers.rank_give_file_rank", file=part.file, rank=part.rank, before_file=before.file)
    parts = [of_rank[rank] for rank in sorted(of_rank)]
    groups = list(dict.fromkeys(group for part in parts for group in part.groups))
    if not groups:
        raise LogError("stragglers.no_collective_call_recorded", paths=paths[0])
    return [_progress(parts, group) for group in groups]


def recorded(path: Path) -> RecordedRank:
    """Read a file.

    Raises LogError: it is no such record, does not name its rank, or holds impossible values.
    """
    document = document_of(path)
    entries = document.get("entries", []) if isinstance(document, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise LogError("stragglers.line_no_object_entries", path=path)
    number = NUMBER_OF_RANK.search(path.name)
    if "rank" not in document and not number:
        raise LogError("stragglers.record_does_not_say", path=path)
    own = document if "rank" in document else {"rank": number.group(1) if number else None}
    rank = whole_of(own, "rank", str(path), 0, MAX_RANKS - 1)
    calls: dict[tuple[str, str], dict[int, RecordedCall]] = defaultdict(dict)
    ids: dict[tuple[str, str], str] = {}
    for place, entry in enumerate(entries):
        if entry.get("is_p2p"):
            continue  # numbered separately
        where = f"{path}, entry {place}"
        group = _group_of(entry, where)
        ids[group] = str(entry.get("pg_id"))
        calls[group][whole_of(entry, "collective_seq_id", where)] = _call(entry)
    mixed = any(entry.get("is_p2p") for entry in entries)  # pg_status does not distinguish their numbers
    status = {} if mixed else _status(document.get("pg_status"), f"{path}, pg_status")
    return RecordedRank(
        file=str(path),
        rank=rank,
        groups={group: _group(of_group, *status.get(ids[group], (0, 0))) for group, of_group in calls.items()},
        ids=ids,
        status=status,
        members=_members(document.get("pg_config"), str(path)),
    )


def _group_of(entry: Mapping[str, Any], where: str) -> tuple[str, str]:
    named = entry.get("process_group")
    if not isinstance(named, list) or len(named) != 2:
        raise LogError("stragglers.no_process_group_name", where=where)
    pair = dict(zip(("name", "description"), named))
    return text_of(pair, "name"), text_of(pair, "description")


def _call(entry: Mapping[str, Any]) -> RecordedCall:
    name = text_of(entry, "profiling_name")
    done = entry.get("state") == COMPLETED or (name.startswith(GLOO) and entry.get("retired") is True)
    return RecordedCall(
        meeting_of(name) or name.rpartition(":")[2], _nbytes(entry), done, entry.get("state") == STARTED
    )


def _nbytes(entry: Mapping[str, Any]) -> int | None:
    """Return the bytes of a rank's input; None: not recorded."""
    sizes, dtypes = entry.get("input_sizes"), entry.get("input_dtypes")
    if not isinstance(sizes, list) or not isinstance(dtypes, list) or len(sizes) != len(dtypes) or not sizes:
        return None
    total = 0
    for size, dtype in zip(sizes, dtypes):
        if not isinstance(size, list) or not all(type(length) is int and 0 <= length < 2**48 for length in size):
            return None
        total += prod(size) * itemsize_of(dtype_of(str(dtype)))
    return total


def _status(status: Any, where: str) -> dict[str, tuple[int, int]]:
    """Return each process group's last calls entered and left, even if no longer recorded."""
    names = "last_enqueued_collective", "last_completed_collective"
    groups = status.items() if isinstance(status, dict) else ()
    return {
        str(group): tuple(max(0, whole_of(own, name, where, -1, default=-1)) for name in names)  # type: ignore[misc]
        for group, own in groups
        if isinstance(own, dict)
    }


def _group(calls: dict[int, RecordedCall], entered: int, left: int) -> RecordedGroup:
    done = [number for number, call in calls.items() if call.is_left]
    return RecordedGroup(calls, max(entered, *calls), max(left, *done, 0))


def _members(config: Any, file: str) -> dict[str, frozenset[int]]:
    """Return the ranks of process groups by name; of Gloo the name is empty."""
    found = {}
    for name, group in config.items() if isinstance(config, dict) else ():
        ranks = group.get("ranks") if isinstance(group, dict) else None
        if isinstance(ranks, str):
            try:
                ranks = json.loads(ranks)
            except (ValueError, RecursionError):
                ranks = None
        if isinstance(ranks, list) and all(type(rank) is int and 0 <= rank < MAX_RANKS for rank in ranks):
            found[str(name)] = frozenset(ranks)
    return found


def _progress(parts: Sequence[RecordedRank], group: tuple[str, str]) -> Progress:
    own = {part.rank: part.groups[group] for part in parts if group in part.groups}
    members = set(own).union(*(part.members.get(group[0], ()) for part in parts))
    if group[1] == DEFAULT_GROUP:  # all ranks of the job; Gloo names no group here
        members |= {part.rank for part in parts}.union(*(part.members.get("", ()) for part in parts))
    recorded_ranks = {part.rank for part in parts}
    known_as = next(part.ids[group] for part in parts if group in part.ids)
    for part in parts:  # its calls are no longer recorded, or it entered none
        if part.rank in members - set(own):
            own[part.rank] = RecordedGroup({}, *part.status.get(known_as, (0, 0)))
    return Progress(
        path=next(part.file for part in parts if group in part.groups),
        kind=TITLE,
        group=f"{group[0]} ({group[1]})" if group[1] not in ("", "undefined") else group[0],
        members=tuple(sorted(members)),
        hosts={},
        counts=(
            Count(
                "",
                {rank: own[rank].entered for rank in sorted(own)},
                {rank: own[rank].left for rank in sorted(own)},
            ),
        ),
        missing=tuple(Missing(rank, NO_RECORD) for rank in sorted(members - recorded_ranks)),
        held=tuple(_held(dict(sorted(own.items())))),
        unlike=tuple(_unlike(own)),
    )


def _held(own: Mapping[int, RecordedGroup]) -> list[Held]:
    """Return the calls that some ranks entered and not all left."""
    numbers = sorted({number for part in own.values() for number, call in part.calls.items() if _waits(part, number)})
    found = []
    for number in numbers[:MOST_HELD]:
        first = next(part.calls[number] for part in own.values() if number in part.calls)
        absent = tuple(rank for rank, part in own.items() if part.entered < number)
        waiting = tuple(rank for rank, part in own.items() if _waits(part, number))
        started = tuple(rank for rank in waiting if own[rank].calls[number].is_started)
        found.append(Held(number, first.collective, first.nbytes, waiting, absent, started))
    return found


def _waits(part: RecordedGroup, number: int) -> bool:
    return number > part.left and number in part.calls and not part.calls[number].is_left


def _unlike(own: Mapping[int, RecordedGroup]) -> list[Unlike]:
    """Return the calls in which ranks differ, as far as still recorded."""
    done: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for rank, part in own.items():
        for number, call in part.calls.items():
            done[number][_said(call)].append(rank)
    found = []
    for number in sorted(number for number, said in done.items() if len(said) > 1)[:MOST_HELD]:
        by_number = sorted(done[number].items(), key=lambda item: -len(item[1]))
        found.append(Unlike(number, {said: tuple(ranks) for said, ranks in by_number}))
    return found


def _said(call: RecordedCall) -> str:
    is_told = call.collective in SYMMETRIC and call.nbytes is not None
    return f"{call.collective} of {call.nbytes} bytes" if is_told else call.collective

"""The files of NCCL Inspector joined: communicators with all their ranks, calls beside each other, what is missing.

NCCL counts the calls of each collective of a communicator apart (`seqNumber[func]`, NVIDIA/nccl, src/misc/profiler.cc
and its descendants), so that a call is told from others by its collective and its `coll_sn`.
"""

import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..units import format_ranges, in_ranks
from .inspector_lines import InspectorCall, Recorded, recognises, recorded
from .lines import Log, read_text
from .row import LogError, LogWarning
from .values import US, listed

TITLE = "NCCL Inspector"
ALLREDUCE = "AllReduce"
MEETING = (ALLREDUCE, "AllGather", "ReduceScatter", "AlltoAll")  # no rank can end before every rank has begun
SUFFIXES = (".log", ".jsonl", ".json")
PEEKED_NBYTES = 100_000
MOST_CLAIMED = 10**6  # ranks without a file times calls
VERBOSE = "NCCL_INSPECTOR_DUMP_VERBOSE=1"


class Communicator(NamedTuple):
    """What all files say of one communicator."""

    id: str
    name: str  # empty: none
    ranks: int
    nodes: int | None
    of_rank: dict[int, Recorded]

    @property
    def hosts(self) -> list[str]:
        """Of each rank its host; empty: it has no file."""
        return [self.of_rank[rank].host if rank in self.of_rank else "" for rank in range(self.ranks)]

    @property
    def node_of(self) -> tuple[int, ...]:
        """Of each rank the number of its host, in the order of their first ranks."""
        numbers = {host: number for number, host in enumerate(dict.fromkeys(self.hosts))}
        return tuple(numbers[host] for host in self.hosts)

    @property
    def place(self) -> str:
        """Where its first rank begins."""
        return self.of_rank[min(self.of_rank)].place

    @property
    def words(self) -> str:
        """`0x7f8c (DP Group 0), 8 ranks, 1407 calls`."""
        calls = max(len(part.calls) for part in self.of_rank.values())
        name = f" ({self.name})" if self.name else ""
        return f"{self.id}{name}, {in_ranks([self.ranks])}, {calls} call{'' if calls == 1 else 's'}"


class CallTable(NamedTuple):
    """The calls of a communicator that every rank with a file recorded, in their order."""

    nbytes: np.ndarray  # int64 [call]
    algorithm: tuple[str, ...]  # of each call; empty: not known, or ranks differ
    time_s: np.ndarray  # float64 [call, rank]: of each rank; NaN: it has no file
    ready_s: np.ndarray  # float64 [call, rank]: by the clock of the rank, since the earliest stamp; NaN: not recorded
    end_s: np.ndarray
    is_next: np.ndarray  # bool [call]: no call that is left out lies between it and the one above

    @property
    def has_stamps(self) -> np.ndarray:
        """bool [call]: whether every rank with a file says when it was ready."""
        known = ~np.isnan(self.time_s).all(axis=0)
        return ~np.isnan(self.ready_s[:, known]).any(axis=1)


def files_of(folder: Path) -> list[Path]:
    """The files of NCCL Inspector below a folder, in the order of their names."""
    files = (file for file in folder.rglob("*") if file.suffix in SUFFIXES)
    return sorted(file for file in files if is_of_inspector(file))


def is_of_inspector(path: Path) -> bool:
    """Whether a file begins as one; a pipe, which can be read but once, is not looked at."""
    if not path.is_file():
        return False
    try:
        with open(path, "rb") as file:
            return recognises(file.read(PEEKED_NBYTES).decode(errors="replace"))
    except OSError:
        return False


def logs_of(paths: Iterable[Path]) -> list[Log]:
    """The texts of files, and of those below folders. Raises LogError."""
    files = [file for path in paths for file in (files_of(path) if path.is_dir() else [path])]
    return [Log(file, read_text(file)) for file in files]


def chosen_communicator(logs: Sequence[Log], wanted: str | None, collectives: Collection[str]) -> Communicator:
    """The communicator with this id or name, or the only one of several ranks that called one of the `collectives`.

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
            f"{candidates[1].place}: {len(candidates)} communicators, where one is expected: {_listed(candidates)};"
            f" choose one with --communicator {candidates[0].id}"
        )
    _warn(candidates[0], collectives)
    return candidates[0]


def _listed(communicators: Sequence[Communicator]) -> str:
    return listed((one.words for one in communicators), 5).replace(" calls, ", " calls; ")


def _joined(parts: Iterable[Recorded]) -> list[Communicator]:
    """All communicators. Raises LogError where files contradict each other."""
    parts_of: dict[str, dict[int, Recorded]] = defaultdict(dict)
    for part in parts:
        of_rank = parts_of[part.id]
        other = next(iter(of_rank.values()), part)
        if other.ranks != part.ranks:
            raise LogError(
                f"{part.place}: communicator {part.id} has {part.ranks} ranks, but {other.ranks} in {other.file};"
                " give the files of one job only"
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
            f"{part.place}: rank {part.rank} of communicator {part.id} is also in {before.file};"
            " give the files of one job only"
        )
    before.calls.update(part.calls)
    before.lost.extend(part.lost)


def _numbers(communicator: Communicator, collectives: Collection[str]) -> list[tuple[str, int]]:
    """The calls of these collectives that any rank recorded."""
    keys = {key for part in communicator.of_rank.values() for key in part.calls if key[0] in collectives}
    return sorted(keys)


def _warn(communicator: Communicator, collectives: Collection[str]) -> None:
    """Say which ranks have no file, or recorded fewer calls than there were."""
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
            f"communicator {communicator.id}: not every rank recorded each of {calls} calls: {listed(fewer)};"
            " only calls of all these ranks are used"
        )


def _say(sentence: str) -> None:
    warnings.warn(sentence, LogWarning, stacklevel=2)


def call_table(communicator: Communicator, collectives: Collection[str]) -> CallTable:
    """Its calls of these collectives beside each other. Raises LogError: no call is there of every rank with a file,
    the ranks differ in the length of the vector of one, or far more ranks are claimed than have files."""
    parts = communicator.of_rank
    keys = _numbers(communicator, collectives)
    whole = {key: [part.calls[key] for part in parts.values()] for key in keys if _is_whole(key, parts.values())}
    if not whole:
        raise LogError(f"{communicator.place}: no call was recorded by every rank of communicator {communicator.id}")
    if (communicator.ranks - len(parts)) * len(whole) > MOST_CLAIMED:
        raise LogError(
            f"{communicator.place}: communicator {communicator.id} claims {communicator.ranks} ranks, and only"
            f" {len(parts)} of them have a file; give the files of all ranks"
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
        nbytes=np.array([whole[key][0].nbytes for key in used]),
        algorithm=tuple(names.pop() if len(names) == 1 else "" for names in algorithms),
        time_s=time_s,
        ready_s=ready_s,
        end_s=end_s,
        is_next=np.diff(places, prepend=-2) == 1,
    )


def _is_whole(key: tuple[str, int], parts: Collection[Recorded]) -> bool:
    return all(key in part.calls for part in parts)


def _when(key: tuple[str, int], parts: Collection[Recorded]) -> int:
    """About when a call ended, by the first rank that says so; where none does, its number."""
    ends = (part.calls[key].end_us for part in parts if key in part.calls)
    return next((end for end in ends if end), key[1])


def _refuse_other_sizes(communicator: Communicator, key: tuple[str, int], calls: Sequence[InspectorCall]) -> None:
    for (rank, part), call in zip(communicator.of_rank.items(), calls):
        if call.nbytes != calls[0].nbytes:
            raise LogError(
                f"{part.file}, line {call.line}: coll_sn {key[1]} of {key[0]} has {call.nbytes} bytes on rank {rank},"
                f" but {calls[0].nbytes} on another; give the files of one job only"
            )

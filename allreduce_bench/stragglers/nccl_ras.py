"""The output of NCCL RAS (`ncclras -f json`, since NCCL 2.28.7): collective calls of each rank, missing ranks.

The fields are those of NVIDIA/nccl, src/ras/client_support.cc, and of the example of its manual, Troubleshooting, RAS;
untested with the output of a job. `collective_counts` counts the calls of each kind that a rank has begun.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..importers.lines import document_of, shown, text_of, whole_of
from ..importers.row import LogError
from ..units import MAX_RANKS
from .progress import DEAD, NO_MEMBER, UNRESPONSIVE, Count, Missing, Progress

TITLE = "nccl-ras"
MOST_UNLISTED = 10_000  # ranks of a communicator
IN_PROGRESS = 7  # of ncclResult_t; 0 is success
ERRORS = {  # of ncclResult_t
    1: "unhandled CUDA error",
    2: "system error",
    3: "internal error",
    4: "invalid argument",
    5: "invalid usage",
    6: "remote process error",
}

ABORTED = "communicator aborted"


def recognises(head: str) -> bool:
    """Return whether a file begins as the output of RAS."""
    return head.lstrip("\ufeff \t\r\n").startswith("{") and '"nccl_version"' in head and '"communicators' in head


def progress_of_ras(path: Path) -> list[Progress]:
    """Return the progress of the ranks of each communicator. Raises LogError: it is no such output, or holds none."""
    document = document_of(path)
    communicators = document.get("communicators") if isinstance(document, dict) else None
    if not isinstance(communicators, list):
        raise LogError("stragglers.line_no_list_communicators", path=path)
    if not communicators:
        raise LogError("stragglers.line_no_communicator_ask", path=path)
    return [_progress(path, place, one) for place, one in enumerate(communicators)]


def _progress(path: Path, place: int, communicator: Any) -> Progress:
    where = f"{path}, communicator {place}"
    if not isinstance(communicator, dict):
        raise LogError("stragglers.no_object", where=where, communicator=shown(repr(communicator)[:60]))
    size = whole_of(communicator, "size", where, 1, MAX_RANKS)
    ranks = _by_rank(communicator, "ranks", where, size)
    absent = _by_rank(communicator, "missing_ranks", where, size)
    if both := set(ranks) & set(absent):
        raise LogError("stragglers.rank_missing", where=where, both=min(both))
    if size - len(ranks) - len(absent) > MOST_UNLISTED:
        raise LogError("stragglers.size_ranks_listed", where=where, size=size, rank_count=len(ranks) + len(absent))
    counts = {rank: _counts(one, f"{where}, rank {rank}") for rank, one in ranks.items()}
    kinds = dict.fromkeys(kind for of_rank in counts.values() for kind in of_rank)
    return Progress(
        path=str(path),
        kind=TITLE,
        group=text_of(communicator, "hash"),
        members=tuple(range(size)),
        hosts={rank: text_of(one, "host") for rank, one in {**ranks, **absent}.items() if one.get("host")},
        counts=tuple(
            Count(kind, {rank: of_rank.get(kind, 0) for rank, of_rank in counts.items()}, {})
            for kind in kinds
            if any(of_rank.get(kind) for of_rank in counts.values())
        ),
        missing=tuple(Missing(rank, _why(absent.get(rank, {}))) for rank in range(size) if rank not in ranks),
        failed={rank: error for rank, one in ranks.items() if (error := _error(one, f"{where}, rank {rank}"))},
    )


def _by_rank(communicator: Mapping[str, Any], name: str, where: str, size: int) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    every = communicator.get(name, [])
    if not isinstance(every, list) or not all(isinstance(one, dict) for one in every):
        raise LogError("stragglers.no_list_objects", where=where, name=name)
    for one in every:
        rank = whole_of(one, "rank", where, 0, size - 1)
        if found.setdefault(rank, one) is not one:
            raise LogError("stragglers.rank_twice", where=where, rank=rank)
    return dict(sorted(found.items()))


def _counts(one: Mapping[str, Any], where: str) -> dict[str, int]:
    counts = one.get("collective_counts")
    if not isinstance(counts, dict):
        raise LogError("stragglers.no_object_collective_counts", where=where)
    return {str(kind)[:40]: whole_of(counts, kind, where, most=2**64) for kind in counts if str(kind).isprintable()}


def _status(one: Mapping[str, Any]) -> Mapping[str, Any]:
    status = one.get("status")
    return status if isinstance(status, dict) else {}


def _why(one: Mapping[str, Any]) -> str:
    status = _status(one)
    if status.get("considered_dead") is True:
        return DEAD
    return UNRESPONSIVE if status.get("unresponsive") is True else NO_MEMBER


def _error(one: Mapping[str, Any], where: str) -> str:
    """Return the error that a rank reports; empty if none."""
    for name in ("async_error", "init_state"):
        code = whole_of(_status(one), name, where, -1, default=0)
        if code not in (0, IN_PROGRESS):
            return ERRORS.get(code, f"error {code}")
    return ABORTED if _status(one).get("abort_flag") is True else ""

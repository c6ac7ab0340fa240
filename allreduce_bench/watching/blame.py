"""Who keeps an all-reduce from ending: one sentence from where each rank is. Pure: reports in, words out."""

from collections.abc import Mapping
from typing import Any, NamedTuple

MOST_NAMED = 6  # ranks or waits in one sentence
ABSENCES = (  # state, said of one, said of several
    ("died", "died", "died"),
    ("absent", "was never heard of", "were never heard of"),
    ("silent", "does not answer: stopped, or its node is gone", "do not answer: stopped, or their nodes are gone"),
)


class Report(NamedTuple):
    """What is known of one rank."""

    host: str | None  # None: it was never heard of
    state: str  # there (it answered), silent, died, absent
    place: list = []  # see whereabouts.where
    doing: str = ""
    call: dict[str, Any] | None = None


def blame(reports: Mapping[int, Report]) -> str:
    """Name the ranks on which the others wait, then who waits for whom; `reports` holds every rank."""
    begun = any(report.place for report in reports.values())  # whoever is there was heard of before that
    for state, one, several in sorted(ABSENCES, key=lambda absence: begun and absence[0] == "absent"):
        guilty = [rank for rank, report in reports.items() if report.state == state]
        if guilty:
            return _sentence(reports, guilty, several if len(guilty) > 1 else one)
    inside = {rank: report for rank, report in reports.items() if report.call is not None}
    if not inside:
        return _outside(reports)
    place = max(report.place for report in inside.values())
    late = [rank for rank, report in reports.items() if rank not in inside and report.place < place]
    if late:
        return _sentence(reports, late, f"never entered ({reports[late[0]].doing})")
    if not any(report.call["step"] for report in inside.values() if report.call):
        words = "all ranks are" if len(inside) == len(reports) else f"{_ranks(reports, list(inside))} still"
        return f"{words} in the library's all-reduce, which shows no steps"
    waits = _waits(reports)
    roots = sorted({_root(waits, rank) for rank in waits} - set(waits))
    if roots:
        return _sentence(reports, roots, "left the all-reduce too early")
    return f"these ranks wait for each other: {_chain(reports, waits, [])}"


def _outside(reports: Mapping[int, Report]) -> str:
    """Nobody is in the all-reduce: whoever is furthest behind keeps the others."""
    first = min(report.place for report in reports.values())
    behind = [rank for rank, report in reports.items() if report.place == first]
    if len(behind) == len(reports):
        return f"all ranks are {reports[behind[0]].doing}"
    verb = "are" if len(behind) > 1 else "is"
    return _sentence(reports, behind, f"{verb} behind ({reports[behind[0]].doing})")


def _sentence(reports: Mapping[int, Report], guilty: list[int], words: str) -> str:
    chain = _chain(reports, _waits(reports), guilty)
    return f"{_ranks(reports, guilty)} {words}" + (f"; {chain}" if chain else "")


def _ranks(reports: Mapping[int, Report], ranks: list[int]) -> str:
    """`rank 3 on n09`, or `ranks 3 on n09, 7 on n11 and 5 more`."""
    named = [f"{rank} on {reports[rank].host}" if reports[rank].host else str(rank) for rank in ranks[:MOST_NAMED]]
    more = f" and {len(ranks) - MOST_NAMED} more" if len(ranks) > MOST_NAMED else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(named)}{more}"


def _waits(reports: Mapping[int, Report]) -> dict[int, int]:
    """rank -> the rank that it waits for, of those in a step."""
    found = {}
    for rank, report in reports.items():
        if report.call is not None and report.call["step"]:
            partner = _awaited(reports, rank, report.call)
            if partner is not None:
                found[rank] = partner
    return found


def _awaited(reports: Mapping[int, Report], rank: int, call: dict[str, Any]) -> int | None:
    """The partner whose half of this step's messages is missing; where both came, the one it receives from."""
    for partner, mine, theirs in ((call["source"], "received", "sent"), (call["dest"], "sent", "received")):
        if partner is not None:
            other = reports[partner].call
            given = other[theirs].get(str(rank), 0) if other else 0
            if given < call[mine].get(str(partner), 0):
                return partner
    return call["source"] if call["source"] is not None else call["dest"]


def _root(waits: dict[int, int], rank: int) -> int:
    """Whoever is at the end of the chain of waits, or some rank of its circle."""
    seen = set()
    while rank in waits and rank not in seen:
        seen.add(rank)
        rank = waits[rank]
    return rank


def _chain(reports: Mapping[int, Report], waits: dict[int, int], first: list[int]) -> str:
    """`4 waits for 3 in step 1, 0 for 4, …`, nearest to the ranks of `first` before the others."""
    order, left = list(first), dict(waits)
    told: list[str] = []
    while left:
        near = next((rank for rank in left if left[rank] in order), next(iter(left)))
        partner = left.pop(near)
        order.append(near)
        call = reports[near].call or {}
        told.append(f"{near} waits for {partner} in step {call['step']}" if not told else f"{near} for {partner}")
    return ", ".join(told[:MOST_NAMED]) + (", …" if len(told) > MOST_NAMED else "")

"""The cause of a hang in one sentence, from the positions of all ranks: which of them blocks the all-reduce."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..units import few

AHEAD = [["~"]]  # the place of a rank that has ended: after every other
MOST_NAMED = 6  # ranks or waits in one sentence
ABSENCES = (  # state, predicate for one rank, for several
    ("died", "died", "died"),
    ("absent", "never connected", "never connected"),
    ("silent", "does not respond (stopped, or its node failed)", "do not respond (stopped, or their nodes failed)"),
)


class Report(NamedTuple):
    """The position of one rank, as input of `blame`."""

    host: str | None  # None: it never connected
    state: str  # there (it answered), silent, died, absent
    place: list = []  # see whereabouts.where
    doing: str = ""
    call: dict[str, Any] | None = None


def blame(reports: Mapping[int, Report]) -> str:
    """Name the ranks that block the others, then the chain of waits; `reports` holds every rank."""
    has_begun = any(report.place for report in reports.values())  # so an absent rank is the least likely reason
    for state, singular, plural in sorted(ABSENCES, key=lambda absence: has_begun and absence[0] == "absent"):
        guilty = [rank for rank, report in reports.items() if report.state == state]
        if guilty:
            return _accusation(reports, guilty, plural if len(guilty) > 1 else singular)
    inside = {rank: report for rank, report in reports.items() if report.call is not None}
    return _blame_in_calls(reports, inside) if inside else _blame_outside_calls(reports)


def _blame_in_calls(reports: Mapping[int, Report], inside: Mapping[int, Report]) -> str:
    """Name the cause of the wait of the ranks `inside` an all-reduce: a missing rank, one that left, or a deadlock."""
    furthest = max(report.place for report in inside.values())
    late = [rank for rank, report in reports.items() if rank not in inside and report.place < furthest]
    if late:
        return _accusation(reports, late, f"never entered ({reports[late[0]].doing})")
    if not any(report.call["step"] for report in inside.values() if report.call):
        subject = "all ranks are" if len(inside) == len(reports) else f"{_format_ranks(reports, list(inside))} still"
        return f"{subject} in the library's all-reduce; its steps are not visible"
    waits = _partners_waited_for(reports)
    roots = sorted({_end_of_chain(waits, rank) for rank in waits} - set(waits))
    if roots:
        return _accusation(reports, roots, "left the all-reduce early")
    return f"deadlock: {_format_chain(reports, waits, [])}"


def _blame_outside_calls(reports: Mapping[int, Report]) -> str:
    """Name the ranks furthest behind, which block the others; no rank is in the all-reduce."""
    earliest = min(report.place for report in reports.values())
    behind = [rank for rank, report in reports.items() if report.place == earliest]
    if len(behind) == len(reports):
        return f"all ranks are {reports[behind[0]].doing}"
    verb = "are" if len(behind) > 1 else "is"
    return _accusation(reports, behind, f"{verb} behind ({reports[behind[0]].doing})")


def _accusation(reports: Mapping[int, Report], guilty: list[int], predicate: str) -> str:
    """Format `rank 3 on n09 died; 4 waits for 3 in step 1`."""
    chain = _format_chain(reports, _partners_waited_for(reports), guilty)
    return f"{_format_ranks(reports, guilty)} {predicate}" + (f"; {chain}" if chain else "")


def _partners_waited_for(reports: Mapping[int, Report]) -> dict[int, int]:
    """Return rank -> the rank that it waits for, of those in a step."""
    partner_of = {}
    for rank, report in reports.items():
        if report.call is not None and report.call["step"]:
            partner = _missing_partner(reports, rank, report.call)
            if partner is not None:
                partner_of[rank] = partner
    return partner_of


def _missing_partner(reports: Mapping[int, Report], rank: int, call: dict[str, Any]) -> int | None:
    """Return the partner that has not sent or received this step's messages; if both have, the one it receives from."""
    for partner, own_side, partner_side in ((call["source"], "received", "sent"), (call["dest"], "sent", "received")):
        if partner is not None:
            other = reports[partner].call
            messages = other[partner_side].get(str(rank), 0) if other else 0
            if messages < call[own_side].get(str(partner), 0):
                return partner
    return call["source"] if call["source"] is not None else call["dest"]


def _end_of_chain(waits: dict[int, int], rank: int) -> int:
    """Return the rank at the end of the chain of waits, or some rank of its cycle."""
    seen = set()
    while rank in waits and rank not in seen:
        seen.add(rank)
        rank = waits[rank]
    return rank


def _format_ranks(reports: Mapping[int, Report], ranks: list[int]) -> str:
    """Format `rank 3 on n09`, or `ranks 3 on n09, 7 on n11 and 5 more`."""
    named = (f"{rank} on {reports[rank].host}" if reports[rank].host else str(rank) for rank in ranks)
    return f"rank{'s' if len(ranks) > 1 else ''} {few(named, MOST_NAMED)}"


def _format_chain(reports: Mapping[int, Report], waits: dict[int, int], first: list[int]) -> str:
    """Format `4 waits for 3 in step 1, 0 for 4, …`, those nearest to the ranks of `first` first."""
    order, remaining = list(first), dict(waits)
    links: list[str] = []
    while remaining:
        rank = next((rank for rank, partner in remaining.items() if partner in order), next(iter(remaining)))
        partner = remaining.pop(rank)
        order.append(rank)
        call = reports[rank].call or {}
        links.append(f"{rank} for {partner}" if links else f"{rank} waits for {partner} in step {call['step']}")
    return ", ".join(links[:MOST_NAMED]) + (", …" if len(links) > MOST_NAMED else "")

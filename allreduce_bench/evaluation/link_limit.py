"""The lower limit that the links between nodes set to the time of any all-reduce, and which links those are.

Between N nodes each node's link carries at least 2(N-1)/N * n bytes out and as many in: the bandwidth bound for ranks
(Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009) applies to nodes as
well. The total rate of the node counts, whether its ranks share one link or use several.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..machine.traffic import LOOPBACK, parse_traffic, total_traffic
from ..units import format_rate
from .summary_row import SummaryRow

USED = 0.2  # of the busiest interface's bytes: an interface that carried less is no link of this run


class NodeLink(NamedTuple):
    """The rate at which a node sends to the others, and how it is known."""

    rate_bytes_per_s: float
    words: str  # such as `hsn0, 200 Gbit/s as reported by the system`


def least_s(nbytes: int, nodes: int, link: NodeLink) -> float:
    """The least seconds of an all-reduce of `nbytes` between `nodes` nodes."""
    return 2 * (nodes - 1) / nodes * nbytes / link.rate_bytes_per_s


def share_of_limit(limit_s: float, time_s: float) -> float | None:
    """The minimum time of the links / the measured time; None if the measured time is shorter."""
    return limit_s / time_s if limit_s <= time_s else None


def passes_limit(row: SummaryRow) -> bool:
    """Whether the time of a row of the summary is below the limit of its links."""
    limit_s, time_s = row.get("limit_s"), row["time_s"]
    return limit_s is not None and time_s is not None and time_s < limit_s


def refutes_limit(row: SummaryRow) -> bool:
    """Whether its whole interval is below: then it is not noise, and the limit is wrong."""
    return passes_limit(row) and row["time_high_s"] < (row["limit_s"] or 0.0)


def link_of(stated_bytes_per_s: float | None, marks: Iterable[Mapping], attempts: Sequence[Mapping]) -> NodeLink | None:
    """The links that carried the cells of `marks` (rows with `wire`), on the machines of `attempts`.

    A stated rate takes precedence over that of the system; None if neither is known, or with one node.
    """
    if all((fact.get("nodes") or 1) < 2 for fact in attempts):
        return None
    names = _carrying_interfaces(marks)
    label = " and ".join(names) or "link"
    if stated_bytes_per_s:
        return NodeLink(stated_bytes_per_s, f"{label}, {format_rate(stated_bytes_per_s)} from --link-rate")
    rates = [_slowest_rate(name, attempts) for name in names]
    if not rates or None in rates:
        return None
    rate = sum(filter(None, rates))
    return NodeLink(rate, f"{label}, {format_rate(rate)} as reported by the system")


def _carrying_interfaces(marks: Iterable[Mapping]) -> list[str]:
    counts = total_traffic(parse_traffic(mark["wire"]) for mark in marks)
    counts.pop(LOOPBACK, None)
    most = max(counts.values(), default=0)
    return [name for name, nbytes in sorted(counts.items()) if nbytes and nbytes >= USED * most]


def _slowest_rate(name: str, attempts: Sequence[Mapping]) -> float | None:
    """The lowest rate of the interface over all machines; None where one does not know it."""
    machines = [machine for fact in attempts for machine in fact.get("machines", [])]
    ports = [machine.get("port_rates_bytes_per_s", {}).get(name) for machine in machines]
    if all(ports) and ports:
        return min(ports)
    rates = [
        interface.get("rate_bytes_per_s")
        for machine in machines
        for interface in machine.get("interfaces", [])
        if interface.get("name") == name
    ]
    return None if not rates or None in rates else min(rates)

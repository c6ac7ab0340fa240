"""Lower limits of the time of an all-reduce, from measured or stated figures alone; figures of a fit set no limit.

* links: between N nodes each node's link carries at least 2(N-1)/N * n bytes out and as many in. The bandwidth bound
  for ranks (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009) applies to nodes as well. The total rate of
  the node counts, whether its ranks share one link or use several. The burst of a virtual link is subtracted.
* latency: ceil(log2 N) messages between nodes follow each other (Chan et al., Concurrency and Computation 19(13),
  2007); one takes half of the least round trip of clock synchronisation. Within a node that is the interpreter's time.
* local work: the ranks together reduce (p-1) n elements, so one of them at least (p-1)/p n. On a single node p vectors
  are written, n elements of them by the last reductions, so that (p-1)/p n are copied, too. At the rates of the
  reference times, where these are dominated by bytes and not by the cost of a call.

The first two are one-port, full duplex, without reduction in the network: switches that reduce may be faster.

A schedule has a limit of its own: what its busiest node or rank has to send, receive, copy and reduce. Limits do not
add up, since work can overlap: the largest counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, log2
from typing import NamedTuple

from ..machine.interfaces import LOOPBACK
from ..machine.traffic import parse_traffic, total_traffic
from ..machine.virtual_hosts import bucket_nbytes
from ..runs.plan import Plan
from ..units import format_rate
from .summary_row import SummaryRow

NETWORK_BOUND = "one-port, full duplex, without reduction in the network"  # of the limits of links and latency
LINKS, LATENCY, LOCAL = LIMITS = ("links", "latency", "local work")  # kinds of limits: `limit_by`
USED = 0.2  # of the busiest interface's bytes: an interface that carried less is no link of this run
CALLS = 10  # empty calls: a shorter reference time is that of a call, not of its bytes


class NodeLink(NamedTuple):
    """The rate at which a node sends to the others, and its source."""

    rate_bytes_per_s: float
    words: str  # such as `hsn0, 200 Gbit/s as reported by the system`
    free_nbytes: float = 0.0  # the burst that it passes at once after a pause


def bound_rows(plan: Plan, rows: Sequence[SummaryRow], attempts: Sequence[Mapping]) -> list[SummaryRow]:
    """Return `limit_s`, `limit_by`, `of_limit`, `own_limit_s`, `of_own_limit` and `link` of each row.

    None with groups, which share links and memory in another way, with delayed ranks, before whose arrival the others
    may have done a part, and where there is no time or nothing to reduce.
    """
    networks = {}
    for ranks in plan.ranks:
        facts = [fact for fact in attempts if fact["ranks"] == ranks]
        wired = [row for row in rows if row["ranks"] == ranks and row.get("wire")]
        networks[ranks] = link_of(plan, wired, facts), message_s(facts)
    is_bound = not (plan.groups or plan.arrival)
    return [_bounds_of(row, *networks[row["ranks"]], is_bound) for row in rows]


def _bounds_of(row: SummaryRow, link: NodeLink | None, alpha_s: float | None, is_bound: bool) -> SummaryRow:
    bounds: SummaryRow = {
        "limit_s": None,
        "limit_by": None,
        "of_limit": None,
        "own_limit_s": None,
        "of_own_limit": None,
    }
    bounds["link"] = link.words if link else None
    time_s = row["time_s"]
    limits = limits_of(row, link, alpha_s) if is_bound and time_s and row["size_bytes"] else {}
    if not limits or not time_s:
        return bounds
    limit_s, limit_by = max((limit_s, kind) for kind, limit_s in limits.items())
    bounds |= {"limit_s": limit_s, "limit_by": limit_by, "of_limit": share_of_limit(limit_s, time_s)}
    if own := own_limits_of(row, link):
        own_s = max(limit_s, *own)
        bounds |= {"own_limit_s": own_s, "of_own_limit": share_of_limit(own_s, time_s)}
    return bounds


def limits_of(row: SummaryRow, link: NodeLink | None, alpha_s: float | None) -> dict[str, float]:
    """Return the known ones of LIMITS: seconds of any all-reduce of the row's ranks and vector."""
    limits: dict[str, float] = {}
    nodes = row.get("nodes") or 1
    if link and nodes > 1 and (links_s := least_s(row["size_bytes"], nodes, link)):
        limits[LINKS] = links_s
    if alpha_s and nodes > 1:
        limits[LATENCY] = ceil(log2(nodes)) * alpha_s
    if work := local_work(row):
        share = (row["ranks"] - 1) / row["ranks"]
        limits[LOCAL] = share * (work.reduce_s + work.copy_s) if row["ranks"] > 1 else work.copy_s
    return limits


def own_limits_of(row: SummaryRow, link: NodeLink | None) -> list[float]:
    """Return the least seconds of the row's own schedule; empty if it is not known, as for native."""
    limits = []
    if link and (node_nbytes := row.get("node_nbytes")):
        limits.append(link_s(node_nbytes, link))
    work = local_work(row)
    received_nbytes, reduced_nbytes = row.get("received_nbytes"), row.get("reduced_nbytes")
    if work and received_nbytes is not None and reduced_nbytes is not None:
        copied, reduced = received_nbytes / row["size_bytes"], reduced_nbytes / row["size_bytes"]
        limits.append(copied * work.copy_s + reduced * work.reduce_s)
    return limits


class LocalWork(NamedTuple):
    """The times of a copy of the whole vector, 0 where the network may write it, and of its reduction, seconds."""

    copy_s: float
    reduce_s: float


def local_work(row: SummaryRow) -> LocalWork | None:
    """Return the local work by the reference times; None: they were not measured, or are too short.

    Copying costs at most as much as reducing, since a reduction can serve as a copy.
    """
    call_s, copy_s, reduce_s = row.get("call_floor_s"), row.get("copy_floor_s"), row.get("reduce_floor_s")
    if not call_s or not copy_s or not reduce_s or min(copy_s, reduce_s) < CALLS * call_s:
        return None
    return LocalWork(min(copy_s, reduce_s) if (row.get("nodes") or 1) == 1 else 0.0, reduce_s)


def message_s(attempts: Iterable[Mapping]) -> float | None:
    """Return half of the least round trip between nodes over the launches, seconds; None: none was kept."""
    trips = [trip_s for fact in attempts if (trip_s := (fact.get("clock") or {}).get("round_trip_s"))]
    return min(trips) / 2 if trips else None


def least_s(size_bytes: int, nodes: int, link: NodeLink) -> float:
    """Return the least seconds of an all-reduce of `size_bytes` between `nodes` nodes."""
    return link_s(2 * (nodes - 1) / nodes * size_bytes, link)


def link_s(size_bytes: float, link: NodeLink) -> float:
    """Return the seconds that a node's link needs for `size_bytes` in one direction."""
    return max(0.0, size_bytes - link.free_nbytes) / link.rate_bytes_per_s


def share_of_limit(limit_s: float, time_s: float) -> float | None:
    """Return the limit over the measured time; None if the measured time is shorter."""
    return limit_s / time_s if limit_s <= time_s else None


def passes_limit(row: SummaryRow) -> bool:
    """Return whether the time of a summary row is below its limit."""
    limit_s, time_s = row.get("limit_s"), row["time_s"]
    return limit_s is not None and time_s is not None and time_s < limit_s


def passes_link(row: SummaryRow) -> bool:
    """Return whether the time of a row is below the limit of the links between the nodes."""
    return passes_limit(row) and row.get("limit_by") == LINKS


def refutes_limit(row: SummaryRow) -> bool:
    """Return whether the whole interval of a row is below its limit: then it is not noise, and the limit is wrong."""
    return passes_limit(row) and row["time_high_s"] < (row["limit_s"] or 0.0)


def link_of(plan: Plan, marks: Iterable[Mapping], attempts: Sequence[Mapping]) -> NodeLink | None:
    """Return the links that carried the cells of `marks` (rows with `wire`), on the machines of `attempts`.

    A rate that the plan states takes precedence over that of the system; None if neither is known, or with one node.
    """
    if all((fact.get("nodes") or 1) < 2 for fact in attempts):
        return None
    names = _carrying_interfaces(marks)
    label = " and ".join(names) or "link"
    if rate := plan.link_rate_bytes_per_s:
        virtual = bool(plan.start.virtual_rates_bytes_per_s)
        source = "of the virtual hosts" if virtual else "from --link-rate"
        return NodeLink(rate, f"{label}, {format_rate(rate)} {source}", bucket_nbytes(rate) if virtual else 0.0)
    rates = [_slowest_rate(name, attempts) for name in names]
    if not rates or None in rates:
        return None
    rate = sum(filter(None, rates))
    return NodeLink(rate, f"{label}, {format_rate(rate)} as reported by the system")


def _carrying_interfaces(marks: Iterable[Mapping]) -> list[str]:
    counts = total_traffic(parse_traffic(mark["wire"]) for mark in marks)
    counts.pop(LOOPBACK, None)
    most = max(counts.values(), default=0)
    return [name for name, size_bytes in sorted(counts.items()) if size_bytes and size_bytes >= USED * most]


def _slowest_rate(name: str, attempts: Sequence[Mapping]) -> float | None:
    """Return the lowest rate of the interface over all machines; None if one lacks it."""
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

"""What a message between two hosts costs: from measured pairs, or assumed of a map of switches."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..cli.types import OneLineError
from ..runs.start import HOST
from ..wings import offered

MOST_HOSTS = 512
PER_LEVEL = 2.0  # times as long takes a message for each level of switches that it climbs, of a map
BROKEN = 1e6  # times the longest message: what one costs between hosts that cannot talk


class Costs(NamedTuple):
    """Cost of messages between hosts, by direction."""

    hosts: tuple[str, ...]
    latency_s: np.ndarray  # float64 [from, to]
    time_per_byte: np.ndarray  # float64 [from, to]
    broken: np.ndarray  # bool [from, to]: hosts that cannot talk
    in_seconds: bool  # False: in an unknown unit
    of: str  # what they were made from
    estimated: int = 0  # pairs without a time of their own

    def of_message(self, nbytes: float) -> np.ndarray:
        """Return the cost of one message between any two hosts, float64 [from, to], finite and above 0."""
        cost = self.latency_s + self.time_per_byte * nbytes
        longest = cost[~self.broken].max(initial=np.finfo(float).tiny)
        return np.where(self.broken, BROKEN * longest, np.maximum(cost, 1e-9 * longest))


def measured_costs(path: Path, value: str, kind: str) -> Costs:
    """Return the costs of measured pairs. Raises OneLineError, and what the reader of pairs raises."""
    readers = offered("pair_times")
    if not readers:
        raise OneLineError("order.no_pairs_installed")
    read = readers[0](path, value, kind)
    _refuse_hosts(read.nodes, str(path))
    number = {name: place for place, name in enumerate(read.nodes)}
    broken = np.zeros(read.latency_s.shape, dtype=bool)
    for one, other in map(sorted, read.failed):
        broken[number[one], number[other]] = broken[number[other], number[one]] = True
    apart = ~np.eye(len(read.nodes), dtype=bool)
    unknown = np.isnan(read.latency_s + read.time_per_byte) & apart & ~broken
    latency_s, time_per_byte = _filled(read.latency_s), _filled(read.time_per_byte)
    estimated = int(np.count_nonzero(unknown | unknown.T)) // 2
    return Costs(read.nodes, latency_s, time_per_byte, broken, read.in_seconds, read.of, estimated)


def _filled(table: np.ndarray) -> np.ndarray:
    """Return the table without gaps: a pair that was not measured is taken to be as slow as its slower node."""
    apart = np.where(np.eye(len(table), dtype=bool), np.nan, table)
    overall = np.nanmedian(apart) if not np.isnan(apart).all() else 0.0
    either = np.concatenate([apart, apart.T], axis=1)
    known = ~np.isnan(either).all(axis=1)
    middles = np.full(len(table), overall)
    middles[known] = np.nanmedian(either[known], axis=1)
    found = np.where(np.isnan(apart), np.maximum(middles[:, None], middles), apart)
    np.fill_diagonal(found, 0.0)
    return found


def costs_of_map(path: Path) -> Costs:
    """Return assumed costs of a map of switches: a message takes twice as long for each level that it climbs.

    Raises OneLineError.
    """
    readers = offered("map")
    if not readers:
        raise OneLineError("order.no_map_installed")
    switches: Mapping[str, Sequence[str]] = readers[0](path)
    hosts = tuple(switches)
    _refuse_hosts(hosts, str(path))
    for number, host in enumerate(hosts, start=1):
        match = HOST.fullmatch(host)
        if not match or match[2]:
            raise OneLineError("order.not_a_host", path=path, number=number, host=host[:40])
    levels = len(next(iter(switches.values())))
    climbed = np.full((len(hosts),) * 2, levels, dtype=float)
    for level in reversed(range(levels)):
        group = {above: number for number, above in enumerate({tuple(names[level:]) for names in switches.values()})}
        of_host = np.array([group[tuple(names[level:])] for names in switches.values()])
        climbed[of_host[:, None] == of_host] = level
    nothing = np.zeros_like(climbed)
    return Costs(hosts, nothing, PER_LEVEL**climbed, nothing.astype(bool), False, str(path))


def _refuse_hosts(hosts: Sequence[str], path: str) -> None:
    if not 2 <= len(hosts) <= MOST_HOSTS:
        raise OneLineError("order.expected_hosts", path=path, found=len(hosts), most=MOST_HOSTS)

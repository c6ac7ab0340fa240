"""What a message between two hosts costs, and what an order of hosts makes of a verified schedule, in lockstep.

A round lasts until its last message has arrived. Messages of a round that leave or reach the same host share its link,
one after the other; those within a host cost nothing. So the time of an order is the sum over rounds of the busiest
host's time. Of two orders with the same time the one whose messages take less in all is the better.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..cli.types import OneLineError
from ..schedule import elements
from ..schedule.algorithm import Algorithm, Topology
from ..schedule.draw import messages_of_rounds
from ..schedule.verify import verify
from ..wings import load_offers
from .tour import best_tour, edges_of

# Costs of messages
MOST_HOSTS = 512
BROKEN = 1e6  # times the longest message: what one costs between hosts that cannot talk

# Lockstep
RING = "ring"  # its rounds are all alike, so that its orders are round trips
EVALUATIONS, MESSAGES = 6_000, 20_000_000  # most of a search: orders, and messages of them in all
SEED = 1
Time = tuple[float, float]  # of an order: its time, then the sum over its messages


class MessageCosts(NamedTuple):
    """Cost of messages between hosts, by direction."""

    hosts: tuple[str, ...]
    latency_s: np.ndarray  # float64 [from, to]
    time_per_byte: np.ndarray  # float64 [from, to]
    broken: np.ndarray  # bool [from, to]: hosts that cannot talk
    in_seconds: bool  # False: in an unknown unit
    of: str  # what they were made from
    estimated: int = 0  # pairs without a time of their own
    left_out: tuple[str, ...] = ()  # hosts of the check that no pair was measured with

    def message_cost(self, size_bytes: float) -> np.ndarray:
        """Return the cost of one message between any two hosts, float64 [from, to], finite and above 0."""
        cost = self.latency_s + self.time_per_byte * size_bytes
        longest = cost[~self.broken].max(initial=np.finfo(float).tiny)
        return np.where(self.broken, BROKEN * longest, np.maximum(cost, 1e-9 * longest))


def measured_costs(path: Path, value: str, kind: str) -> MessageCosts:
    """Return the costs of measured pairs. Raises OneLineError, and what the reader of pairs raises."""
    readers = load_offers("pair_times")
    if not readers:
        raise OneLineError("pairs of hosts are read by health, which is not installed")
    read = readers[0](path, value, kind)
    if len(read.nodes) > MOST_HOSTS:
        raise OneLineError(f"{path}: hosts: {len(read.nodes)}; expected at most {MOST_HOSTS}")
    number = {name: place for place, name in enumerate(read.nodes)}
    broken = np.zeros(read.latency_s.shape, dtype=bool)
    for one, other in map(sorted, read.failed):
        broken[number[one], number[other]] = broken[number[other], number[one]] = True
    apart = ~np.eye(len(read.nodes), dtype=bool)
    unknown = np.isnan(read.latency_s + read.time_per_byte) & apart & ~broken
    latency_s, time_per_byte = _fill_gaps(read.latency_s), _fill_gaps(read.time_per_byte)
    estimated = int(np.count_nonzero(unknown | unknown.T)) // 2
    return MessageCosts(
        read.nodes, latency_s, time_per_byte, broken, read.in_seconds, read.of, estimated, read.left_out
    )


def _fill_gaps(table: np.ndarray) -> np.ndarray:
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


# Rounds in lockstep, and the search for an order


class Rounds(NamedTuple):
    """Messages of an all-reduce, round by round; ranks and rounds as numbers, equal rounds once."""

    number: np.ndarray  # int64 [message]: its round
    source: np.ndarray  # int64 [message]
    dest: np.ndarray  # int64 [message]
    size_bytes: np.ndarray  # float64 [message]
    times: np.ndarray  # int64 [round]: how often it comes


def rounds_of(algorithm: Algorithm, topology: Topology, size_bytes: int, itemsize: int, segment: int) -> Rounds:
    """Return the messages of a verified schedule; a ring's follow from their rule. Raises Refusal, AlgorithmError."""
    size = len(topology.node_of)
    if algorithm.name == RING:
        source, dest = edges_of(range(size))
        return Rounds(np.zeros(size, int), source, dest, np.full(size, size_bytes / size), np.array([2 * (size - 1)]))
    count = max(1, size_bytes // itemsize)
    schedules = algorithm.schedules(size, topology, count, segment)
    verify(schedules, count)
    found: dict[tuple, int] = {}
    for messages in messages_of_rounds(schedules):
        alike = tuple(
            (sent.source, sent.dest, elements(schedules[sent.dest][sent.dest_step].recv)) for sent in messages
        )
        found[alike] = found.get(alike, 0) + 1
    every = [(number, *message) for number, messages in enumerate(found) for message in messages]
    number, source, dest, moved = np.array(every or [(0, 0, 0, 0)]).T
    return Rounds(number, source, dest, moved * float(itemsize), np.array([*found.values()] or [0]))


class Lockstep:
    """The times of one schedule over the links between hosts, by the host of each rank."""

    def __init__(self, rounds: Rounds, costs: MessageCosts):
        self.rounds, self.hosts = rounds, len(costs.hosts)
        self._per_byte = costs.time_per_byte
        refused = costs.message_cost(float(rounds.size_bytes.max(initial=0.0)))
        self._latency = np.where(costs.broken, refused, costs.latency_s)

    def time(self, host_of_rank: np.ndarray) -> Time:
        """Return the time, and the sum over all messages, of ranks on these hosts, by their numbers in the costs."""
        number, size_bytes, times = self.rounds.number, self.rounds.size_bytes, self.rounds.times
        source, dest = host_of_rank[self.rounds.source], host_of_rank[self.rounds.dest]
        apart = source != dest
        link = self._per_byte[source, dest] * size_bytes * apart
        latency = self._latency[source, dest] * apart
        room, slowest = len(times) * self.hosts, np.zeros(len(times))
        busy = [np.bincount(number * self.hosts + end, link, room).reshape(-1, self.hosts) for end in (source, dest)]
        np.maximum.at(slowest, number, latency)
        of_rounds = np.maximum(*busy).max(axis=1) + slowest
        return float(of_rounds @ times), float((link + latency) @ times[number])


def best_order(lockstep: Lockstep, costs: MessageCosts, place_of_rank: np.ndarray, is_ring: bool) -> np.ndarray:
    """Return the host of each place, by its number, such that the time is short; ranks sit at `place_of_rank`."""
    rounds = lockstep.rounds
    trip = np.array(best_tour(costs.message_cost(float(rounds.size_bytes.max(initial=0.0)))))
    trip = np.roll(trip, -int(np.flatnonzero(trip == 0)[0]))  # begins at the first host
    if is_ring:
        return trip
    starts = [np.arange(len(trip)), trip]
    order = min(starts, key=lambda each: lockstep.time(each[place_of_rank]))
    best, random = lockstep.time(order[place_of_rank]), np.random.default_rng(SEED)
    for _ in range(min(EVALUATIONS, MESSAGES // len(rounds.source)) if len(order) > 1 else 0):
        one, other = random.choice(len(order), 2, replace=False)
        tried = order.copy()
        tried[[one, other]] = order[[other, one]]
        if (found := lockstep.time(tried[place_of_rank])) <= best:
            order, best = tried, found
    return order


def broken_pairs(rounds: Rounds, host_of_rank: np.ndarray, costs: MessageCosts) -> list[tuple[str, str]]:
    """Return the pairs of hosts that cannot talk, and between which there is a message nevertheless."""
    source, dest = host_of_rank[rounds.source], host_of_rank[rounds.dest]
    used = costs.broken[source, dest]
    pairs = {tuple(sorted(pair)) for pair in zip(source[used].tolist(), dest[used].tolist())}
    return [(costs.hosts[one], costs.hosts[other]) for one, other in sorted(pairs)]

"""Times of pipelined schedules on hosts behind links, replayed message by message.

Every host has a link in and a link out; racks of hosts share one link each way. A message passes its links in turn, at
the rate of the slowest, and waits on each for the messages that came before it. Ranks post and wait as the executor
`pipelined` does; additions and copies take no time.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from allreduce_bench.executing.pipeline import pipelined_program
from allreduce_bench.executing.program import Operation, PostReceive, PostSend, Wait
from allreduce_bench.schedule import Schedule, elements


class Links(NamedTuple):
    """Rates in bytes/s of a host's link and of that of a rack, the rack of each rank, and the latency in seconds."""

    host_rate: float
    rack_rate: float
    rack_of: Sequence[int]
    latency_s: float

    def way(self, source: int, dest: int) -> list[tuple[object, float]]:
        """Return the links that a message passes, each with its rate."""
        racks = self.rack_of[source], self.rack_of[dest]
        shared = [(("from rack", racks[0]), self.rack_rate)] if racks[0] != racks[1] else []
        return [(("from host", source), self.host_rate), *shared, (("to host", dest), self.host_rate)]


class _Replay:
    """Runs the programs of all ranks side by side."""

    def __init__(self, programs: Sequence[Sequence[Operation]], itemsize: int, links: Links) -> None:
        self.programs, self.itemsize, self.links = programs, itemsize, links
        self.clock, self.position = [0.0] * len(programs), [0] * len(programs)
        self.free_s: dict[object, float] = defaultdict(float)  # link -> when it has sent all before
        self.arrived: dict[tuple[int, int], deque[float]] = defaultdict(deque)  # (source, dest) -> when, in order
        self.request: list[dict[int, int | float]] = [{} for _ in programs]  # source of a receive, or end of a send
        self.events: list[tuple[float, int, int, int]] = []  # when, source, dest, bytes

    def run(self) -> float:
        """Return when the last rank has ended."""
        for rank in range(len(self.programs)):
            self.advance(rank)
        while self.events:
            self.carry(*heappop(self.events))
        assert all(place == len(program) for place, program in zip(self.position, self.programs))
        return max(self.clock)

    def advance(self, rank: int) -> None:
        """Run operations of a rank until one waits for a message that has not arrived."""
        program, requests = self.programs[rank], self.request[rank]
        while self.position[rank] < len(program):
            operation = program[self.position[rank]]
            if isinstance(operation, PostReceive):
                requests[operation.request] = operation.source
            elif isinstance(operation, PostSend):
                size_bytes = elements(operation.send.ranges) * self.itemsize
                heappush(self.events, (self.clock[rank], rank, operation.dest, size_bytes))
                requests[operation.request] = self.clock[rank]  # small messages are buffered
            elif isinstance(operation, Wait):
                waited = requests[operation.request]
                if isinstance(waited, int):
                    arrived = self.arrived[waited, rank]
                    if not arrived:
                        return
                    self.clock[rank] = max(self.clock[rank], arrived.popleft())
            self.position[rank] += 1

    def carry(self, start_s: float, source: int, dest: int, size_bytes: int) -> None:
        """Send a message over its links, then let its receiver go on."""
        end_s = start_s
        for link, rate in self.links.way(source, dest):
            start_s = max(start_s, self.free_s[link])
            end_s = self.free_s[link] = max(end_s, start_s + size_bytes / rate)
        self.arrived[source, dest].append(end_s + self.links.latency_s)
        self.advance(dest)


def replayed_s(schedules: Sequence[Schedule], count: int, window: int, itemsize: int, links: Links) -> float:
    """Return the seconds of an all-reduce of `count` elements by schedules that are already cut."""
    programs = [pipelined_program(steps, count, window).operations for steps in schedules]
    return _Replay(programs, itemsize, links).run()

"""Plays the programs of all ranks on numbers, without MPI, and holds them to its rules.

No message is buffered: a send ends once its receive is posted. Elements that are under way must not be touched: those
of a posted send not be written, those of a posted receive not even be read, until they were waited for.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from allreduce_bench.executing.program import (
    INPUT,
    Copy,
    Exchange,
    PostReceive,
    PostSend,
    Program,
    Reduce,
    View,
    Wait,
)
from allreduce_bench.schedule import elements


@dataclass
class Message:
    """One end of a message that is under way."""

    view: View
    has_met: bool = False  # the other end


@dataclass
class Rank:
    """Its buffers, what it has still to do, and the requests that it has not waited for."""

    buffers: tuple[np.ndarray, np.ndarray, np.ndarray]
    operations: deque
    requests: int
    sends: dict[int, Message] = field(default_factory=dict)
    receives: dict[int, Message] = field(default_factory=dict)
    has_posted: bool = False  # both sides of the exchange that it is in

    def values(self, view: View) -> np.ndarray:
        return np.concatenate([self.buffers[view.buffer][span.start : span.stop] for span in view.ranges])

    def read(self, view: View) -> np.ndarray:
        assert not overlap(view, self.receives), f"reads {view}, which is being received"
        return self.values(view)

    def write(self, view: View, values: np.ndarray) -> None:
        assert view.buffer != INPUT and elements(view.ranges) == len(values)
        assert not overlap(view, self.receives) and not overlap(view, self.sends), f"writes {view}, which is under way"
        self.land(view, values)

    def land(self, view: View, values: np.ndarray) -> None:
        start = 0
        for span in view.ranges:
            self.buffers[view.buffer][span.start : span.stop] = values[start : start + len(span)]
            start += len(span)


def overlap(view: View, messages: dict[int, Message]) -> bool:
    """Whether any element of `view` is one of these messages."""
    return any(
        view.buffer == message.view.buffer and a.start < b.stop and b.start < a.stop
        for message in messages.values()
        for a in view.ranges
        for b in message.view.ranges
    )


class Network:
    """What was posted between two ranks, in its order."""

    def __init__(self, ranks: list[Rank]):
        self.ranks = ranks
        self.posted = 0  # ends of messages
        self.waiting: dict[tuple[int, int, bool], deque[Message]] = {}  # source, dest, is it the send

    def post(self, rank: int, partner: int, view: View, request: int, is_send: bool) -> None:
        """One end of a message."""
        me, message = self.ranks[rank], Message(view)
        self.posted += 1
        assert request < max(me.requests, 1) or request < 0, "more requests than the program has"
        assert request not in me.sends and request not in me.receives, "a request is used before it was waited for"
        if is_send:
            assert not overlap(view, me.receives), f"sends {view}, which is being received"
            me.sends[request] = message
        else:
            assert view.buffer != INPUT
            assert not overlap(view, me.receives) and not overlap(view, me.sends), f"receives over {view}"
            me.receives[request] = message
        ends = (rank, partner) if is_send else (partner, rank)
        others = self.waiting.setdefault((*ends, not is_send), deque())
        if not others:
            self.waiting.setdefault((*ends, is_send), deque()).append(message)
            return
        other = others.popleft()
        message.has_met = other.has_met = True
        sent, received = (message, other) if is_send else (other, message)
        self.ranks[ends[1]].land(received.view, self.ranks[ends[0]].values(sent.view))

    def do(self, rank: int, operation) -> bool:
        """Whether the operation is over."""
        me = self.ranks[rank]
        if isinstance(operation, Copy | Reduce):
            value = me.read(operation.view)
            total = value if isinstance(operation, Copy) else value + me.read(operation.into)
            me.write(operation.into, total)
            return True
        if isinstance(operation, PostSend):
            self.post(rank, operation.dest, operation.send, operation.request, True)
            return True
        if isinstance(operation, PostReceive):
            self.post(rank, operation.source, operation.recv, operation.request, False)
            return True
        if isinstance(operation, Wait):
            kind = me.sends if operation.request in me.sends else me.receives
            if kind[operation.request].has_met:  # KeyError: nothing was posted
                del kind[operation.request]
                return True
            return False
        return self.exchange(rank, operation)

    def exchange(self, rank: int, exchange: Exchange) -> bool:
        """Both sides are posted at once, with requests that no program has."""
        me = self.ranks[rank]
        if not me.has_posted:
            if exchange.send:
                self.post(rank, exchange.dest, exchange.send, -1, True)
            if exchange.recv:
                self.post(rank, exchange.source, exchange.recv, -2, False)
            me.has_posted = True
        if not all(message.has_met for message in (*me.sends.values(), *me.receives.values())):
            return False
        me.sends.clear()
        me.receives.clear()
        me.has_posted = False
        return True


def play(programs: list[Program], inputs: list[np.ndarray], in_place: bool = False) -> list[np.ndarray]:
    """What all ranks end with; reductions are sums. AssertionError where a program breaks a rule, or waits for ever.

    In place the output begins as a copy of the input, and there is no other buffer of it.
    """
    ranks = []
    for vector, program in zip(inputs, programs):
        vector.flags.writeable = False
        two = (vector[:0], vector.copy()) if in_place else (vector, np.full_like(vector, -99))
        buffers = *two, np.full(program.scratch, -77, vector.dtype)
        ranks.append(Rank(buffers, deque(program.operations), program.requests))
    network = Network(ranks)
    before = None
    while before != (before := (network.posted, *(len(rank.operations) for rank in ranks))):
        for number, rank in enumerate(ranks):
            while rank.operations and network.do(number, rank.operations[0]):
                rank.operations.popleft()
    assert not any(rank.operations for rank in ranks), "nobody can go on"
    assert not any(rank.sends or rank.receives for rank in ranks), "a message was not waited for"
    return [rank.buffers[1] for rank in ranks]

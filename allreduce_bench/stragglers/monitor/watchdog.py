"""Where no step ends: a thread of each rank notices it; that of rank 0 asks all others where they stand.

Nothing here makes an MPI call: messages are UDP, beside MPI, so that a rank that is stuck can be asked. Other ranks say
hello until rank 0 has welcomed them; from then on rank 0 can ask them. A rank that waits for long and is not asked says
so itself. Nothing here ends a program.
"""

import hmac
import secrets
import socket
import struct
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import NamedTuple

from .transport import Transport

# Messages
HELLO, WELCOME, QUESTION, ANSWER = range(4)
MESSAGE = struct.Struct("!BIQ??d")  # kind, rank, steps, is ready, says ready, seconds
HASH_NBYTES = 16
LOOPBACK = "127.0.0.1"

# Times of the threads
LOOK_S = 1.0  # how often the thread looks
ANSWER_S, ASK_AGAIN_S = 2.0, 0.5  # how long rank 0 waits for answers, and how often it asks meanwhile
LATER_S = 2 * ANSWER_S  # after rank 0 should have asked, a rank speaks for itself
MOST_AT_ONCE = 10_000  # messages between two looks
HELLO_S, LAST_HELLO_S = 1.0, 30.0  # the first and the longest pause between two hellos
LEAST_STALL_S, FIRST_STEP_S, STALL_MEDIANS = 60.0, 300.0, 10.0  # what counts as a stall where the user does not say it


class State(NamedTuple):
    """Where a rank stands."""

    steps: int  # that it has ended
    is_ready: bool  # for the collective call of the step that it is in
    says_ready: bool  # whether the program calls `ready` at all
    since_s: float  # seconds since its last step ended


class Stall(NamedTuple):
    """No step has ended for long, or, once `is_over`, one has again."""

    step: int  # that does not end, counted from 0
    stall_s: float  # seconds since the last end of a step
    behind: tuple[int, ...] = ()  # ranks that answer and are not as far as others
    silent: tuple[int, ...] = ()  # ranks that answered before and do not now
    unreached: tuple[int, ...] = ()  # ranks that never answered: they cannot be asked
    all_ready: bool = False  # every rank that answers is ready
    says_ready: bool = True  # whether the program calls `ready`
    is_over: bool = False

    @property
    def blamed(self) -> tuple[tuple[int, ...], ...]:
        """What a second look may find changed."""
        return self.behind, self.silent, self.unreached


def stall_of(states: Mapping[int, State], size: int, reached: Collection[int]) -> Stall:
    """Return what the states of the ranks that answer say; rank 0, who asks, is one of them.

    `reached`: the ranks that have ever answered.
    """
    places = {rank: (state.steps, state.is_ready) for rank, state in states.items()}
    least, most = min(places.values()), max(places.values())
    missing = [rank for rank in range(size) if rank not in states]
    return Stall(
        step=most[0],
        stall_s=states[0].since_s,
        behind=tuple(sorted(rank for rank, place in places.items() if place < most)) if least < most else (),
        silent=tuple(rank for rank in missing if rank in reached),
        unreached=tuple(rank for rank in missing if rank not in reached),
        all_ready=least[1],
        says_ready=any(state.says_ready for state in states.values()),
    )


class Address(NamedTuple):
    """Where rank 0 listens, and the key of the messages."""

    hosts: tuple[str, ...]  # numeric addresses, the likeliest first
    port: int
    key: bytes


class Message(NamedTuple):
    """What one rank tells another."""

    kind: int  # HELLO, WELCOME, QUESTION or ANSWER
    rank: int  # who says it
    state: State = State(0, False, False, 0.0)


class SideLine:
    """A socket for messages that have the key. Raises OSError where there is none to be had.

    Each message has the same few bytes and carries a keyed hash of them (HMAC-SHA256), whose key rank 0 has drawn and
    the setup has told the ranks; everything else that arrives is ignored. On one node nothing listens outside of it.
    """

    def __init__(self, rank: int, key: bytes, *, local: bool):
        self.rank, self._key = rank, key
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((LOOPBACK if local else "", 0))

    def address(self, local: bool) -> Address:
        """Return where others reach it: on this node only, or by the addresses of its interfaces."""
        return Address((LOOPBACK,) if local else own_addresses(), self.socket.getsockname()[1], self._key)

    def send(self, message: Message, to: tuple[str, int]) -> None:
        """Send a message; one that cannot be sent is lost, as one on its way may be."""
        body = MESSAGE.pack(message.kind, message.rank, *message.state)
        with suppress(OSError):
            self.socket.sendto(self._hash(body) + body, to)

    def receive(self, patience_s: float) -> tuple[Message, tuple[str, int]] | None:
        """The next message that has the key, and where it came from; None: none within the time, or a stranger's."""
        self.socket.settimeout(patience_s)
        try:
            data, source = self.socket.recvfrom(HASH_NBYTES + MESSAGE.size + 1)
        except OSError:
            return None
        found, body = data[:HASH_NBYTES], data[HASH_NBYTES:]
        if len(body) != MESSAGE.size or not hmac.compare_digest(found, self._hash(body)):
            return None
        kind, rank, *state = MESSAGE.unpack(body)
        return Message(kind, rank, State(*state)), source

    def wake(self) -> None:
        """Have `receive`, in another thread, return at once."""
        with suppress(OSError):
            self.socket.sendto(b"", (LOOPBACK, self.socket.getsockname()[1]))

    def close(self) -> None:
        """Give the socket back."""
        self.socket.close()

    def _hash(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")[:HASH_NBYTES]


def new_key() -> bytes:
    """A key that nobody can guess."""
    return secrets.token_bytes(32)


def own_addresses() -> tuple[str, ...]:
    """The numeric addresses of this node, those of hardware first; loopback only where there is no other."""
    from ...machine.interfaces import interfaces  # late: one node needs none

    ordered = sorted(interfaces(), key=lambda port: port.virtual)
    found: Sequence[str] = [port.address for port in ordered if port.up and port.address]
    return tuple(address for address in found if not address.startswith("127.")) or (LOOPBACK,)


@dataclass
class Progress:
    """Where the program is: written by its thread, read by the watchdog. Each value is stored at once."""

    stall_after_s: float | None = None  # as the user says; None: by the steps seen so far
    steps: int = 0  # that have ended
    is_ready: bool = False
    says_ready: bool = False
    median_step_s: float = 0.0
    since: float = field(default_factory=monotonic)  # when the step in progress began

    def next_step(self) -> None:
        """A step has ended."""
        self.since = monotonic()
        self.steps, self.is_ready = self.steps + 1, False

    def end(self) -> None:
        """There are no more steps: that none ends is no stall."""
        self.stall_after_s = inf

    def state(self) -> State:
        """Return the state as another rank may be told."""
        return State(self.steps, self.is_ready, self.says_ready, monotonic() - self.since)

    def limit_s(self) -> float:
        """Return how long no step may end: a first one may compile, load and allocate."""
        if self.stall_after_s is not None:
            return self.stall_after_s
        return max(LEAST_STALL_S if self.steps else FIRST_STEP_S, STALL_MEDIANS * self.median_step_s)


class Unasked(NamedTuple):
    """A rank in which no step has ended for long, and which rank 0 did not ask; once `is_over`, one has again."""

    rank: int
    step: int
    stall_s: float
    is_over: bool = False


class Watchdog(threading.Thread):
    """What the threads of all ranks share; `tell(fact)` is called in the thread, with a Stall or an Unasked.

    `line` None: no rank can be asked.
    """

    def __init__(self, line: SideLine | None, progress: Progress, tell: Callable[[Stall | Unasked], object]):
        super().__init__(name="StepMonitor watchdog", daemon=True)
        self.line, self.progress, self.tell = line, progress, tell
        self._closing = threading.Event()
        self._told: Stall | Unasked | None = None
        self._stalled_at = 0, 0.0  # of what was told: steps ended, and since when

    def run(self) -> None:
        """Until `close`."""
        while not self._closing.is_set():
            self.look(monotonic())
            found = self._receive(LOOK_S)
            for _ in range(MOST_AT_ONCE):  # all that waits: a process that was stopped has first to hear what was asked
                if found is None:
                    break
                self.hear(*found)
                found = self._receive(0.0)

    def close(self) -> None:
        """End the thread; a stall that has just ended is told."""
        self._closing.set()
        if self.line is not None:
            self.line.wake()
        self.join(2 * LOOK_S)
        if not self.is_alive():
            self._tell_end()
        if self.line is not None and not self.is_alive():
            self.line.close()

    def hear(self, message: Message, source: tuple[str, int]) -> None:
        """Hear what another rank says."""

    def look(self, now: float) -> None:
        """Do what is to be done once in a while, at `now` of the monotonic clock."""

    def _receive(self, patience_s: float) -> tuple[Message, tuple[str, int]] | None:
        if self.line is None:
            self._closing.wait(patience_s)
            return None
        return self.line.receive(patience_s)

    def _remember(self, told: Stall | Unasked) -> None:
        if self._told is None:
            self._stalled_at = self.progress.steps, self.progress.since
        self._told = told
        self.tell(told)

    def _tell_end(self) -> None:
        """Say that a stall is over where a step has ended since it was told."""
        steps, since = self._stalled_at
        if self._told is not None and self.progress.steps > steps:
            over = self._told._replace(step=steps, stall_s=self.progress.since - since, is_over=True)
            self._told = None
            self.tell(over)


class Asker(Watchdog):
    """The watchdog of rank 0, of so many ranks."""

    def __init__(self, line: SideLine | None, size: int, progress: Progress, tell: Callable[[Stall | Unasked], object]):
        super().__init__(line, progress, tell)
        self.size = size
        self._address_of: dict[int, tuple[str, int]] = {}  # of the ranks that said hello
        self._answers: dict[int, State] = {}
        self._next_s = 0.0

    def hear(self, message: Message, source: tuple[str, int]) -> None:
        """A hello or an answer."""
        if not 0 < message.rank < self.size or self.line is None:
            return
        if message.kind == HELLO:
            self._address_of[message.rank] = source
            self.line.send(Message(WELCOME, 0), source)
        if message.kind == ANSWER:
            self._answers[message.rank] = message.state

    def look(self, now: float) -> None:
        """Ask all ranks where no step ends, and again after a while; tell what is new."""
        self._tell_end()
        state, limit_s = self.progress.state(), self.progress.limit_s()
        if state.since_s <= limit_s or (self._told is not None and now < self._next_s):
            return
        self._ask_all()
        if self.progress.steps > state.steps or self.progress.limit_s() == inf or self._closing.is_set():
            return
        stall = stall_of({**self._answers, 0: self.progress.state()}, self.size, self._address_of)
        if not isinstance(self._told, Stall) or stall.blamed != self._told.blamed:
            self._remember(stall)
        self._next_s = monotonic() + limit_s

    def _ask_all(self) -> None:
        self._answers.clear()
        deadline = monotonic() + ANSWER_S
        while (
            self.line is not None
            and (missing := self._address_of.keys() - self._answers.keys())
            and monotonic() < deadline
            and not self._closing.is_set()
        ):
            for rank in missing:
                self.line.send(Message(QUESTION, 0), self._address_of[rank])
            again = min(monotonic() + ASK_AGAIN_S, deadline)
            while (left_s := again - monotonic()) > 0 and self._address_of.keys() - self._answers.keys():
                if found := self._receive(left_s):
                    self.hear(*found)


class Answerer(Watchdog):
    """The watchdog of another rank; `address` is where rank 0 listens."""

    def __init__(
        self, line: SideLine | None, rank: int, address: Address | None, progress: Progress, tell: Callable[..., object]
    ):
        super().__init__(line, progress, tell)
        self.rank, self.address = rank, address
        self._is_welcome = False
        self._hello_at, self._pause_s = 0.0, HELLO_S
        self._asked_at = -1.0

    def hear(self, message: Message, source: tuple[str, int]) -> None:
        """A welcome or a question of rank 0."""
        if message.rank or self.line is None:
            return
        self._is_welcome |= message.kind == WELCOME
        if message.kind == QUESTION:
            self._asked_at = monotonic()
            self.line.send(Message(ANSWER, self.rank, self.progress.state()), source)

    def look(self, now: float) -> None:
        """Say hello until it was heard; tell a stall that rank 0 does not ask about."""
        if self.line is not None and self.address and not self._is_welcome and now >= self._hello_at:
            for host in self.address.hosts:
                self.line.send(Message(HELLO, self.rank), (host, self.address.port))
            self._hello_at, self._pause_s = now + self._pause_s, min(2 * self._pause_s, LAST_HELLO_S)
        self._tell_end()
        state = self.progress.state()
        was_asked = self._asked_at > self.progress.since
        if self._told is None and not was_asked and state.since_s > self.progress.limit_s() + LATER_S:
            self._remember(Unasked(self.rank, state.steps, state.since_s))


def watchdog_of(
    transport: Transport, local: bool, progress: Progress, tell: Callable[[Stall | Unasked], object]
) -> Watchdog:
    """The thread of this rank; all ranks must make theirs, where rank 0 tells where it listens. `local`: one node."""
    rank, line = transport.rank, None
    with suppress(OSError):  # no sockets here: each rank speaks for itself
        line = SideLine(0, new_key(), local=local) if rank == 0 and transport.size > 1 else None
    told = transport.exchange(tuple(line.address(local)) if line else None)[0]
    if rank == 0:
        return Asker(line, transport.size, progress, tell)
    address = Address(*told) if told else None
    with suppress(OSError):
        line = SideLine(rank, address.key, local=local) if address else None
    return Answerer(line, rank, address, progress, tell)

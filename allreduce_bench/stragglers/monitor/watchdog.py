"""Stall detection: a thread of each rank notices when no step ends; the thread of rank 0 queries all others.

Nothing here makes an MPI call: messages are UDP, so that a stuck rank can be queried. Other ranks send hellos until
rank 0 has welcomed them; from then on rank 0 can query them. A rank that waits for long and is not queried reports that
itself. Nothing here ends a program.
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
LOOK_S = 1.0  # interval of the thread's checks
ANSWER_S, ASK_AGAIN_S = 2.0, 0.5  # time for answers, and interval of repeated queries
LATER_S = 2 * ANSWER_S  # after rank 0 should have queried it, a rank reports for itself
MOST_AT_ONCE = 10_000  # messages between two checks
HELLO_S, LAST_HELLO_S = 1.0, 30.0  # initial and maximum interval of hellos
LEAST_STALL_S, FIRST_STEP_S, STALL_MEDIANS = 60.0, 300.0, 10.0  # default criterion of a stall


class State(NamedTuple):
    """The progress of a rank."""

    steps: int  # that it has ended
    is_ready: bool  # for the collective call of its current step
    says_ready: bool  # whether the program calls `ready` at all
    since_s: float  # seconds since its last step ended


class Stall(NamedTuple):
    """A long time without the end of a step, or, once `is_over`, its end."""

    step: int  # the unfinished step, counted from 0
    stall_s: float  # seconds since the last end of a step
    behind: tuple[int, ...] = ()  # responding ranks that are not ready, or the fewer that have not ended the step
    ahead: tuple[
        int, ...
    ] = ()  # responding ranks, the fewer, that have ended it: they may have left out its all-reduce
    silent: tuple[int, ...] = ()  # ranks that answered before and do not now
    unreached: tuple[int, ...] = ()  # ranks that never answered: they cannot be queried
    all_ready: bool = False  # every responding rank that is in the step is ready
    says_ready: bool = True  # whether the program calls `ready`
    is_over: bool = False
    told_by: int = 0  # another rank than 0: rank 0 did not ask it, so that nothing is known of others

    @property
    def blamed(self) -> tuple[tuple[int, ...], ...]:
        """The ranks that a second query may find changed."""
        return self.behind, self.ahead, self.silent, self.unreached


def stall_of(states: Mapping[int, State], size: int, reached: Collection[int]) -> Stall:
    """Return the stall by the states of the responding ranks, including rank 0.

    `reached`: the ranks that have ever answered.
    """
    step, furthest = (choose(state.steps for state in states.values()) for choose in (min, max))
    here = sorted(rank for rank, state in states.items() if state.steps == step)
    ahead = sorted(states.keys() - here)
    says_ready = any(state.says_ready for state in states.values())
    behind = [rank for rank in here if says_ready and not states[rank].is_ready]
    if behind:
        behind, ahead = behind if len(behind) < len(states) else [], []
    elif ahead and len(ahead) >= len(here) and furthest == step + 1:  # no all-reduce after this one has ended
        behind, ahead = here, []
    missing = [rank for rank in range(size) if rank not in states]
    return Stall(
        step=step,
        stall_s=states[0].since_s,
        behind=tuple(behind),
        ahead=tuple(ahead),
        silent=tuple(rank for rank in missing if rank in reached),
        unreached=tuple(rank for rank in missing if rank not in reached),
        all_ready=all(states[rank].is_ready for rank in here),
        says_ready=says_ready,
    )


class Address(NamedTuple):
    """The addresses where rank 0 listens, and the key of the messages."""

    hosts: tuple[str, ...]  # numeric addresses, the likeliest first
    port: int
    key: bytes


class SideMessage(NamedTuple):
    """A message from one rank to another."""

    kind: int  # HELLO, WELCOME, QUESTION or ANSWER
    rank: int  # of the sender
    state: State = State(0, False, False, 0.0)


class SideLine:
    """A UDP socket for authenticated messages. Raises OSError if none can be opened.

    Each message is a few bytes with a keyed hash of them (HMAC-SHA256), whose key rank 0 draws and the setup
    distributes; everything else that arrives is ignored. On one node it listens on the loopback interface only.
    """

    def __init__(self, rank: int, key: bytes, *, local: bool):
        self.rank, self._key = rank, key
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((LOOPBACK if local else "", 0))

    def address(self, local: bool) -> Address:
        """Return its address: for this node only, or the addresses of its interfaces."""
        return Address((LOOPBACK,) if local else own_addresses(), self.socket.getsockname()[1], self._key)

    def send(self, message: SideMessage, to: tuple[str, int]) -> None:
        """Send a message; failures are ignored, since UDP may lose it anyway."""
        body = MESSAGE.pack(message.kind, message.rank, *message.state)
        with suppress(OSError):
            self.socket.sendto(self._hash(body) + body, to)

    def receive(self, patience_s: float) -> tuple[SideMessage, tuple[str, int]] | None:
        """Return the next authentic message and its source; None after `patience_s`, or for a foreign message."""
        self.socket.settimeout(patience_s)
        try:
            data, source = self.socket.recvfrom(HASH_NBYTES + MESSAGE.size + 1)
        except OSError:
            return None
        found, body = data[:HASH_NBYTES], data[HASH_NBYTES:]
        if len(body) != MESSAGE.size or not hmac.compare_digest(found, self._hash(body)):
            return None
        kind, rank, *state = MESSAGE.unpack(body)
        return SideMessage(kind, rank, State(*state)), source

    def wake(self) -> None:
        """Make `receive`, in another thread, return at once."""
        with suppress(OSError):
            self.socket.sendto(b"", (LOOPBACK, self.socket.getsockname()[1]))

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def _hash(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")[:HASH_NBYTES]


def new_key() -> bytes:
    """Return a random key."""
    return secrets.token_bytes(32)


def own_addresses() -> tuple[str, ...]:
    """Return the numeric addresses of this node, hardware first; loopback only if there is no other."""
    from ...machine.interfaces import interfaces  # late: one node needs none

    ordered = sorted(interfaces(), key=lambda port: port.virtual)
    found: Sequence[str] = [port.address for port in ordered if port.up and port.address]
    return tuple(address for address in found if not address.startswith("127.")) or (LOOPBACK,)


@dataclass
class StepProgress:
    """The progress of the program: written by its thread, read by the watchdog. Each value is stored atomically."""

    stall_after_s: float | None = None  # as given by the user; None: by the steps seen so far
    steps: int = 0  # that have ended
    is_ready: bool = False
    says_ready: bool = False
    median_step_s: float = 0.0
    since: float = field(default_factory=monotonic)  # when the step in progress began

    def next_step(self) -> None:
        """Note that a step has ended."""
        self.since = monotonic()
        self.steps, self.is_ready = self.steps + 1, False

    def end(self) -> None:
        """Note that there are no more steps, so no stalls."""
        self.stall_after_s = inf

    def state(self) -> State:
        """Return the state for other ranks."""
        return State(self.steps, self.is_ready, self.says_ready, monotonic() - self.since)

    def limit_s(self) -> float:
        """Return the time without the end of a step that is a stall; a first step may compile, load and allocate."""
        if self.stall_after_s is not None:
            return self.stall_after_s
        return max(LEAST_STALL_S if self.steps else FIRST_STEP_S, STALL_MEDIANS * self.median_step_s)


class Watchdog(threading.Thread):
    """The common part of the threads of all ranks; `tell` is called in the thread.

    `line` None: no rank can be queried.
    """

    def __init__(self, line: SideLine | None, progress: StepProgress, tell: Callable[[Stall], object]):
        super().__init__(name="StepMonitor watchdog", daemon=True)
        self.line, self.progress, self.tell = line, progress, tell
        self._closing = threading.Event()
        self._told: Stall | None = None
        self._stalled_at = 0, 0.0  # of the reported stall: steps ended, and since when

    def run(self) -> None:
        """Run until `close`."""
        while not self._closing.is_set():
            self.look(monotonic())
            found = self._receive(LOOK_S)
            for _ in range(MOST_AT_ONCE):  # a process that was stopped must first read pending queries
                if found is None:
                    break
                self.hear(*found)
                found = self._receive(0.0)

    def close(self) -> None:
        """End the thread; report a stall that has just ended."""
        self._closing.set()
        if self.line is not None:
            self.line.wake()
        self.join(2 * LOOK_S)
        if not self.is_alive():
            self._tell_end()
        if self.line is not None and not self.is_alive():
            self.line.close()

    def hear(self, message: SideMessage, source: tuple[str, int]) -> None:
        """Process a message of another rank."""

    def look(self, now: float) -> None:
        """Do periodic work, at `now` of the monotonic clock."""

    def _receive(self, patience_s: float) -> tuple[SideMessage, tuple[str, int]] | None:
        if self.line is None:
            self._closing.wait(patience_s)
            return None
        return self.line.receive(patience_s)

    def _remember(self, told: Stall) -> None:
        if self._told is None:
            self._stalled_at = self.progress.steps, self.progress.since
        self._told = told
        self.tell(told)

    def _tell_end(self) -> None:
        """Report the end of a stall if a step has ended since."""
        steps, since = self._stalled_at
        if self._told is not None and self.progress.steps > steps:
            over = self._told._replace(step=steps, stall_s=self.progress.since - since, is_over=True)
            self._told = None
            self.tell(over)


class Asker(Watchdog):
    """The watchdog of rank 0, for `size` ranks."""

    def __init__(self, line: SideLine | None, size: int, progress: StepProgress, tell: Callable[[Stall], object]):
        super().__init__(line, progress, tell)
        self.size = size
        self._address_of: dict[int, tuple[str, int]] = {}  # of the ranks that said hello
        self._answers: dict[int, State] = {}
        self._next_s = 0.0

    def hear(self, message: SideMessage, source: tuple[str, int]) -> None:
        """Process a hello or an answer."""
        if not 0 < message.rank < self.size or self.line is None:
            return
        if message.kind == HELLO:
            self._address_of[message.rank] = source
            self.line.send(SideMessage(WELCOME, 0), source)
        if message.kind == ANSWER:
            self._answers[message.rank] = message.state

    def look(self, now: float) -> None:
        """Query all ranks during a stall, repeatedly; report news."""
        self._tell_end()
        state, limit_s = self.progress.state(), self.progress.limit_s()
        if state.since_s <= limit_s or (self._told is not None and now < self._next_s):
            return
        self._ask_all()
        if self.progress.steps > state.steps or self.progress.limit_s() == inf or self._closing.is_set():
            return
        stall = stall_of({**self._answers, 0: self.progress.state()}, self.size, self._address_of)
        if self._told is None or stall.blamed != self._told.blamed:
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
                self.line.send(SideMessage(QUESTION, 0), self._address_of[rank])
            again = min(monotonic() + ASK_AGAIN_S, deadline)
            while (left_s := again - monotonic()) > 0 and self._address_of.keys() - self._answers.keys():
                if found := self._receive(left_s):
                    self.hear(*found)


class Answerer(Watchdog):
    """The watchdog of another rank; `address` is where rank 0 listens."""

    def __init__(
        self,
        line: SideLine | None,
        rank: int,
        address: Address | None,
        progress: StepProgress,
        tell: Callable[..., object],
    ):
        super().__init__(line, progress, tell)
        self.rank, self.address = rank, address
        self._is_welcome = False
        self._hello_at, self._pause_s = 0.0, HELLO_S
        self._asked_at = -1.0

    def hear(self, message: SideMessage, source: tuple[str, int]) -> None:
        """Process a welcome or a query of rank 0."""
        if message.rank or self.line is None:
            return
        self._is_welcome |= message.kind == WELCOME
        if message.kind == QUESTION:
            self._asked_at = monotonic()
            self.line.send(SideMessage(ANSWER, self.rank, self.progress.state()), source)

    def look(self, now: float) -> None:
        """Send hellos until welcomed; report a stall that rank 0 does not query."""
        if self.line is not None and self.address and not self._is_welcome and now >= self._hello_at:
            for host in self.address.hosts:
                self.line.send(SideMessage(HELLO, self.rank), (host, self.address.port))
            self._hello_at, self._pause_s = now + self._pause_s, min(2 * self._pause_s, LAST_HELLO_S)
        self._tell_end()
        state = self.progress.state()
        was_asked = self._asked_at > self.progress.since
        if self._told is None and not was_asked and state.since_s > self.progress.limit_s() + LATER_S:
            self._remember(Stall(state.steps, state.since_s, told_by=self.rank))


def watchdog_of(transport: Transport, local: bool, progress: StepProgress, tell: Callable[[Stall], object]) -> Watchdog:
    """Return the thread of this rank; called on all ranks, since rank 0 distributes its address. `local`: one node."""
    rank, line = transport.rank, None
    with suppress(OSError):  # no sockets here: each rank reports for itself
        line = SideLine(0, new_key(), local=local) if rank == 0 and transport.size > 1 else None
    told = transport.exchange(tuple(line.address(local)) if line else None)[0]
    if rank == 0:
        return Asker(line, transport.size, progress, tell)
    address = Address(*told) if told else None
    with suppress(OSError):
        line = SideLine(rank, address.key, local=local) if address else None
    return Answerer(line, rank, address, progress, tell)

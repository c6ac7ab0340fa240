"""The supervisor of a launch, connected to all its ranks: sockets and messages; `patience` judges the messages.

It runs in a thread: of the process that starts mpirun, or of rank 0 if another program started the ranks. It sends no
queries while cells make progress. Ranks send JSON of bounded length, authenticated by the launch's token.
"""

import contextlib
import hmac
import json
import os
import re
import resource
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..machine import kernel
from ..machine.interfaces import interfaces
from ..watching.lifeline import LAB_VARIABLE
from .patience import ANSWER_S, Patience, Question, Rank, Trouble

LONGEST_LINE = 1 << 20  # bytes
SEGMENT = re.compile(
    r"/dev/shm/(?:mpich_shm_|sm_segment\.|vader_segment\.|Intel_MPI_)\S+$", re.MULTILINE
)  # as of `maps`
MOST_STRANGERS = 256  # connections of no rank for which there are files
PAUSE_S = 0.2  # where there are no files for another one


class _Peer:
    """A connection, and its rank once identified with the token."""

    def __init__(self, connection: socket.socket):
        self.connection, self.received = connection, b""
        self.rank: Rank | None = None


class Supervisor:
    """A thread that watches `size` ranks; it calls `on_message(message)` for every message that is no answer.

    `pulse()` returns another value after every progress that ranks without a connection cannot report. `trouble` is
    None until something went wrong; then `on_trouble` is called once, in the thread. `on_death(rank)` is called at
    once for every rank whose connection breaks: where others outlive it, that is an event, and no trouble. `in_rank_0`
    it also sends the ranks regular keep-alives. `start_s` and `only_answers` are as in Patience. The state of the ranks
    is in `patience`.
    """

    def __init__(
        self,
        size: int,
        timeout_s: float,
        *,
        local: bool,
        on_message: Callable[[dict], object] = lambda message: None,
        on_trouble: Callable[[Trouble], object] = lambda trouble: None,
        on_death: Callable[[Rank], object] = lambda rank: None,
        pulse: Callable[[], object] = lambda: None,
        in_rank_0: bool = False,
        start_s: float = 0.0,
        only_answers: bool = False,
    ):
        self.timeout_s, self.in_rank_0, self._local = timeout_s, in_rank_0, local
        self.on_message, self.on_trouble, self.on_death = on_message, on_trouble, on_death
        grace_s = 0.0 if in_rank_0 else ANSWER_S  # its launcher ends rank 0 too, so it must be quick
        self.patience = Patience(
            size,
            timeout_s,
            time.monotonic(),
            grace_s=grace_s,
            start_s=start_s,
            only_answers=only_answers,
            pulse=pulse,
            is_stopped=is_stopped_here,
        )
        self.token = secrets.token_hex(16)
        self.trouble: Trouble | None = None
        self._warned = False
        self._segments: set[str] = set()  # of ranks that may not be able to remove them
        self._listener = socket.create_server(("127.0.0.1" if local else "", 0), backlog=4096)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._peers: list[_Peer] = []  # identified ranks
        self._alive_sent = 0.0  # time of the last keep-alive to the ranks
        self._closing = threading.Event()
        self._waker, self._waked = socket.socketpair()
        self._selector.register(self._waked, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        _allow_files(2 * size + MOST_STRANGERS + 100)
        self._thread.start()

    def address(self, hosts: Sequence[str]) -> str:
        """Return the address that a Watch connects to; `hosts` are the names of this node."""
        port = self._listener.getsockname()[1]
        names = ["127.0.0.1"] if self._local else hosts
        return f"{self.token}@{','.join(f'{name}:{port}' for name in names)}"

    def ask_now(self) -> None:
        """Query all ranks at once, before the timeout: `trouble` is set within ANSWER_S if one is silent."""
        self.patience.hurry()
        self._waker.send(b"!")

    def warn(self) -> None:
        """Tell all ranks, later ones included, to end after the cell in progress; safe in a signal handler.

        Ranks without a connection hear nothing: the scheduler that sent the warning ends them when their time is over.
        """
        self._warned = True
        with contextlib.suppress(OSError):  # closed: they are gone
            self._waker.send(b"!")

    def end_ranks(self) -> None:
        """End all connected ranks at once, with status 1."""
        self.note_segments()
        self._tell_all(kind="end")

    def note_segments(self) -> None:
        """Note the shared memory of the ranks of this node, for `close` to remove: killed ranks leave it behind."""
        if not self._segments and not self.in_rank_0:
            here = socket.gethostname()
            ranks = [rank for rank in self.patience.ranks if rank.host == here or LAB_VARIABLE in os.environ]
            self._segments = set().union(*(segments_of(rank.pid) for rank in ranks))

    def settle(self) -> None:
        """Wait after the launcher's end, at most 1 s, until the last messages were read, and judge."""
        deadline = time.monotonic() + 1
        while self.trouble is None and time.monotonic() < deadline and not self.patience.all_gone:
            time.sleep(0.01)
        if self.trouble is None and (trouble := self.patience.death()):
            self._report(trouble)

    def close(self) -> None:
        """Stop listening; the ranks have ended."""
        self._closing.set()
        self._waker.close()
        self._thread.join(ANSWER_S)
        for path in self._segments:
            with contextlib.suppress(OSError):  # their MPI has removed it
                os.unlink(path)

    def _serve(self) -> None:
        while not self._closing.is_set():
            asleep_since = time.monotonic()
            events = self._selector.select(self.patience.pause_s)
            if self.in_rank_0 and time.monotonic() - asleep_since > self.timeout_s:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                break  # rank 0 was stopped: the others have reported it, and ended
            for key, _ in events:
                if key.fileobj is self._waked:
                    self._waked.recv(1)
                    self._tell_warning(self._peers)
                if key.fileobj is self._listener:
                    self._accept()
                elif key.data is not None:
                    self._read(key.data)
            if self.trouble is None:
                self._judge(time.monotonic())
        for key in [*self._selector.get_map().values()]:
            key.fileobj.close()  # type: ignore[union-attr]

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it disconnected, or there are no file descriptors left
            time.sleep(PAUSE_S)
            return
        connection.settimeout(ANSWER_S)
        self._selector.register(connection, selectors.EVENT_READ, _Peer(connection))

    def _read(self, peer: _Peer) -> None:
        try:
            data = peer.connection.recv(65536)
        except OSError:
            data = b""
        peer.received += data
        *lines, peer.received = peer.received.split(b"\n")
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):  # any program may connect
            for line in lines:
                self._dispatch(peer, json.loads(line))
        if not data or len(peer.received) > LONGEST_LINE or (lines and peer.rank is None):
            self._drop(peer)

    def _dispatch(self, peer: _Peer, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if peer.rank is None:
            self._welcome(peer, message)
        elif kind == "at":
            self.patience.take_answer(peer.rank, message, time.monotonic())
        else:
            self.patience.hear(peer.rank, message, time.monotonic())
            if kind == "failed":  # the others are ended soon
                self.note_segments()
            self.on_message(message)

    def _welcome(self, peer: _Peer, message: dict[str, Any]) -> None:
        if message["kind"] == "hello" and hmac.compare_digest(str(message["token"]), self.token):
            peer.rank = Rank(int(message["rank"]), str(message["host"]), int(message["pid"]))
            self._peers.append(peer)
            self.patience.enter(peer.rank, time.monotonic())
            self._tell(peer, kind="welcome", silence_s=2 * self.timeout_s if self.in_rank_0 else None)
            self._tell_warning([peer])

    def _drop(self, peer: _Peer) -> None:
        self._selector.unregister(peer.connection)
        peer.connection.close()
        if peer.rank is not None:
            self.patience.lose(peer.rank, time.monotonic())
            if peer.rank.died:
                self.note_segments()
                self.on_death(peer.rank)

    def _tell(self, peer: _Peer, **message: Any) -> None:
        with contextlib.suppress(OSError):
            peer.connection.sendall(json.dumps(message).encode() + b"\n")

    def _tell_warning(self, peers: Sequence[_Peer]) -> None:
        for peer in peers if self._warned else ():
            self._tell(peer, kind="warned")

    def _tell_all(self, **message: Any) -> None:
        for peer in self._peers:
            self._tell(peer, **message)

    def _judge(self, now: float) -> None:
        if self.in_rank_0 and now - self._alive_sent > self.timeout_s / 2:
            self._alive_sent = now
            self._tell_all(kind="alive")
        judgement = self.patience.judge(now)
        if isinstance(judgement, Question):
            self._tell_all(kind="where", question=judgement.number)
        elif judgement is not None:
            self._report(judgement)

    def _report(self, trouble: Trouble) -> None:
        self.trouble = trouble
        self.on_trouble(trouble)


def is_stopped_here(rank: Rank) -> bool:
    """Return whether `rank` is a process of this node that a signal has stopped."""
    return rank.host == socket.gethostname() and is_stopped(rank.pid)


def is_stopped(pid: int) -> bool:
    """Return whether a signal has stopped this process of this node."""
    stat = kernel.read(f"proc/{pid}/stat")
    return bool(stat) and str(stat).rpartition(")")[2].split()[0] in ("T", "t")


def segments_of(pid: int | str) -> set[str]:
    """Return the files by which MPI shares memory, of a process of this node and of those that it started."""
    children = kernel.read(f"proc/{pid}/task/{pid}/children") or ""
    return set(SEGMENT.findall(kernel.read(f"proc/{pid}/maps") or "")).union(*map(segments_of, children.split()))


def names_of_this_node() -> list[str]:
    """Return names by which other nodes may reach this one: its addresses, those of hardware first, and its host
    name.
    """
    hardware_first = sorted(interfaces(), key=lambda port: port.virtual)
    addresses = [port.address for port in hardware_first if port.up and port.address]
    return [*(address for address in addresses if not address.startswith("127.")), socket.gethostname()]


def _allow_files(number: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number if hard < 0 else min(number, hard), hard))

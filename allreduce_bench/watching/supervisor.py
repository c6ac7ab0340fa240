"""Listens to all ranks of a launch and says, in words, when and on whose account it stands still.

It runs in a thread: of the process that starts mpirun, or of rank 0 where the ranks were started by somebody else. It
asks nothing as long as cells come and go. What ranks send is JSON, bounded in length, and only with the launch's token.
"""

import contextlib
import hmac
import json
import resource
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..machine import kernel
from ..machine.interfaces import interfaces
from .blame import Report, blame
from .watch import START_FACTOR

ANSWER_S = 3.0  # for an answer to come; also for a launcher to end the ranks that one that died leaves behind
LONGEST_LINE = 1 << 20  # bytes
AHEAD = [["~"]]  # the place of a rank that has ended: after every other


class Trouble(NamedTuple):
    """Why a launch cannot go on."""

    sentence: str
    hung: dict | None  # facts of the cell that made no progress; None: something else happened


class _Peer:
    """One rank's connection."""

    def __init__(self, connection: socket.socket):
        self.connection, self.received = connection, b""
        self.rank: int | None = None
        self.host, self.pid = "", 0
        self.starting = False  # in MPI_Init, which holds Python's lock: it cannot answer
        self.over = False  # it said that it ends
        self.failure: str | None = None  # and why
        self.died = False
        self.answered = 0
        self.answer: dict[str, Any] = {}


class Monitor:
    """Watches `size` ranks; `heard(message)` is called for every message that is no answer, in the thread.

    `pulse()` gives something else whenever there was progress that ranks who do not get through cannot tell of.
    `trouble` is None until something went wrong; then `alarm` is called once, in the thread. `in_rank_0` it also
    lets the ranks hear regularly that it lives.
    """

    def __init__(
        self,
        size: int,
        timeout_s: float,
        *,
        local: bool,
        heard: Callable[[dict], object] = lambda message: None,
        alarm: Callable[[Trouble], object] = lambda trouble: None,
        pulse: Callable[[], object] = lambda: None,
        in_rank_0: bool = False,
    ):
        self.size, self.timeout_s, self.heard, self.alarm, self.in_rank_0 = size, timeout_s, heard, alarm, in_rank_0
        self.grace_s = 0.0 if in_rank_0 else ANSWER_S  # its launcher ends rank 0 too, so it must be quick
        self.pulse, self._beat = pulse, pulse()
        self.token = secrets.token_hex(16)
        self.trouble: Trouble | None = None
        self.cell: dict[str, Any] | None = None  # the last that rank 0 named
        self.refusal: str | None = None  # why the ranks would not measure this launch
        self._warned = False
        self._listener = socket.create_server(("127.0.0.1" if local else "", 0), backlog=min(size, 4096))
        self._local = local
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._peers: list[_Peer] = []
        self._asked = 0  # number of the last question
        self._asks: list[int] = []  # questions since there was news
        self._kept = 0.0
        self._news = time.monotonic()
        self._hasty, self._kept_asking = False, 0.0
        self._died: float | None = None  # when the first line broke
        self._aborting = float("inf")  # when a rank that failed ends the others: from then on broken lines say nothing
        self._first: _Peer | None = None  # whose it was
        self._suspect: int | None = None
        self._closing = threading.Event()
        self._waker, self._waked = socket.socketpair()
        self._selector.register(self._waked, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        _allow_files(size + 100)
        self._thread.start()

    def address(self, hosts: Sequence[str]) -> str:
        """What a Watch needs to come here; `hosts` are the names of this node."""
        port = self._listener.getsockname()[1]
        names = ["127.0.0.1"] if self._local else hosts
        return f"{self.token}@{','.join(f'{name}:{port}' for name in names)}"

    @property
    def all_over(self) -> bool:
        """Whether every rank has said that it ends well."""
        return len(self._peers) >= self.size and all(peer.over and not peer.failure for peer in self._peers)

    @property
    def failure(self) -> str | None:
        """What a rank said that ended for a reason of its own."""
        return next((f"rank {peer.rank}: {peer.failure}" for peer in self._peers if peer.failure), None)

    @property
    def first_to_go(self) -> str | None:
        """`rank 2 on n1`: whose line broke first."""
        return f"rank {self._first.rank} on {self._first.host}" if self._first else None

    def suspect(self, pid: int) -> None:
        """The launcher says that this process died first; it kills the others, and their lines may break before."""
        self._suspect = self._suspect or pid

    def ask_now(self) -> None:
        """Ask all ranks at once, although no patience is over: `trouble` comes up within ANSWER_S if one is silent."""
        self._hasty = True
        self._waker.send(b"!")

    def warn(self) -> None:
        """Tell all ranks, those that are still to come included, to end after the cell in progress; also in a signal.

        Ranks that do not reach the monitor hear nothing: who sent the warning ends them when their time is over.
        """
        self._warned = True
        with contextlib.suppress(OSError):  # closed: they are gone
            self._waker.send(b"!")

    def end_ranks(self) -> None:
        """Have all ranks that listen end at once, with status 1."""
        self._tell_all(kind="end")

    def settle(self) -> None:
        """After the launcher has ended: wait, a moment at most, until what the ranks said last was read, and judge."""
        deadline = time.monotonic() + 1
        while self.trouble is None and time.monotonic() < deadline and not all(p.over or p.died for p in self._peers):
            time.sleep(0.01)
        if self.trouble is None and (self._first or self._named()):
            self._raise(blame(self._reports()), None)

    def close(self) -> None:
        """Stop listening."""
        self._closing.set()
        self._waker.close()
        self._thread.join(ANSWER_S)

    def _serve(self) -> None:
        while not self._closing.is_set():
            looked = time.monotonic()
            events = self._selector.select(timeout=self._pause_s())
            if self.in_rank_0 and time.monotonic() - looked > self.timeout_s:
                break  # rank 0 was stopped: the others have said so, and ended
            for key, _ in events:
                if key.fileobj is self._waked:
                    self._waked.recv(1)
                    self._tell_warning(self._peers)
                if key.fileobj is self._listener:
                    self._accept()
                elif key.data is not None:
                    self._read(key.data)
            if self.trouble is None:
                self._judge()
        for peer in self._peers:
            peer.connection.close()
        self._listener.close()

    def _pause_s(self) -> float:
        return 0.2 if self._died or self._asks or self._hasty else min(5.0, self.timeout_s / 8)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            connection.settimeout(ANSWER_S)
            peer = _Peer(connection)
            self._selector.register(connection, selectors.EVENT_READ, peer)

    def _read(self, peer: _Peer) -> None:
        try:
            data = peer.connection.recv(65536)
        except OSError:
            data = b""
        peer.received += data
        *lines, peer.received = peer.received.split(b"\n")
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):  # whatever somebody sends
            for line in lines:
                self._take(peer, json.loads(line))
        if not data or len(peer.received) > LONGEST_LINE or (lines and peer.rank is None):
            self._drop(peer)

    def _take(self, peer: _Peer, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if peer.rank is None:
            self._welcome(peer, message)
        elif kind == "at":
            moved = message["at"] != peer.answer.get("at") and peer.answered in self._asks
            peer.answered, peer.answer = message["asked"], message
            if moved:
                self._note_news()
        else:
            self._note_news()
            peer.starting = kind == "starting"
            if kind == "bye":
                peer.over = True
            elif kind == "failed":
                self._aborting = min(self._aborting, time.monotonic() + 0.8 * float(message["pause_s"]))
                peer.over, peer.failure = True, str(message["why"])
                self.refusal = peer.failure if message.get("refused") else self.refusal
            elif kind == "cell":
                self.cell = message
            self.heard(message)

    def _note_news(self) -> None:
        self._news = time.monotonic()
        self._asks.clear()

    def _welcome(self, peer: _Peer, message: dict[str, Any]) -> None:
        if message["kind"] == "hello" and hmac.compare_digest(str(message["token"]), self.token):
            peer.rank, peer.host, peer.pid = int(message["rank"]), str(message["host"]), int(message["pid"])
            self._peers.append(peer)
            self._note_news()
            self._tell(peer, kind="welcome", silence_s=2 * self.timeout_s if self.in_rank_0 else None)
            self._tell_warning([peer])

    def _drop(self, peer: _Peer) -> None:
        self._selector.unregister(peer.connection)
        peer.connection.close()
        if peer.rank is not None and not peer.over:
            peer.died = True
            if self._died is None and time.monotonic() < self._aborting:
                self._died, self._first = time.monotonic(), peer

    def _tell(self, peer: _Peer, **message: Any) -> None:
        with contextlib.suppress(OSError):
            peer.connection.sendall(json.dumps(message).encode() + b"\n")

    def _tell_warning(self, peers: Sequence[_Peer]) -> None:
        for peer in peers if self._warned else ():
            self._tell(peer, kind="warned")

    def _judge(self) -> None:
        """Ask when half of the patience is over, and again at its end; then nothing was news: raise the alarm."""
        now = time.monotonic()
        if self.all_over:
            return
        if self._died is not None and now - self._died > self.grace_s:
            self._raise(blame(self._reports()), None)
            return
        if self.in_rank_0 and now - self._kept > self.timeout_s / 2:
            self._kept = now
            self._tell_all(kind="alive")
        if self._hasty:
            self._judge_now(now)
            return
        patience = self.timeout_s * (1 if self.cell else START_FACTOR)
        silence = now - self._news
        if silence > patience / 2 and len(self._asks) < (2 if silence > patience else 1):
            self._ask()
        elif len(self._asks) == 2 and (silence > patience + ANSWER_S or self._all_answered()):
            beat, self._beat = self._beat, self.pulse()
            if beat != self._beat:
                self._note_news()
            else:
                self._raise_hung(patience)

    def _judge_now(self, now: float) -> None:
        if not self._kept_asking:
            self._asks.clear()
            self._ask()
            self._kept_asking = now
        elif now - self._kept_asking > ANSWER_S and not self._all_answered():
            self._raise_hung(now - self._news)

    def _ask(self) -> None:
        self._asked += 1
        self._asks.append(self._asked)
        self._tell_all(kind="where", asked=self._asked)

    def _all_answered(self) -> bool:
        return all(peer.answered == self._asked or peer.over for peer in self._peers)

    def _tell_all(self, **message: Any) -> None:
        for peer in self._peers:
            self._tell(peer, **message)

    def _raise_hung(self, patience: float) -> None:
        option = "--within" if self._hasty else "--timeout" if self.cell else f"{START_FACTOR} times --timeout"
        self._raise(f"nothing for {patience:.3g} s ({option}); {blame(self._reports())}", self.cell)

    def _raise(self, words: str, hung: dict | None) -> None:
        ranks = "1 rank" if self.size == 1 else f"{self.size} ranks"
        where = f"{self.cell['words']}, {ranks}" if self.cell else f"start of {ranks}"
        self.trouble = Trouble(f"{where}: {words}", hung)
        self.alarm(self.trouble)

    def _reports(self) -> dict[int, Report]:
        reports = {rank: Report(None, "absent") for rank in range(self.size)}
        for peer in self._peers:
            assert peer.rank is not None
            reports[peer.rank] = self._report(peer)
        return reports

    def _is_stopped(self, peer: _Peer) -> bool:
        """Whether it is a process of this node that a signal has stopped."""
        stat = kernel.read(f"proc/{peer.pid}/stat") if peer.host == socket.gethostname() else None
        return bool(stat) and str(stat).rpartition(")")[2].split()[0] in ("T", "t")

    def _named(self) -> _Peer | None:
        return next((peer for peer in self._peers if peer.died and peer.pid == self._suspect), None)

    def _report(self, peer: _Peer) -> Report:
        if peer is (self._named() or self._first):
            return Report(peer.host, "died")
        if peer.over:
            return Report(peer.host, "there", AHEAD, "at its end")
        if self._asks and peer.answered not in self._asks:
            if peer.starting and not self._is_stopped(peer):
                return Report(peer.host, "there", [], "in MPI_Init")
            return Report(peer.host, "silent")
        answer = peer.answer if peer.answered in self._asks else {}
        return Report(peer.host, "there", answer.get("place", []), answer.get("doing", ""), answer.get("call"))


def names_of_this_node() -> list[str]:
    """Under which other nodes may find this one: its addresses, those of hardware first, and its name."""
    found = sorted(interfaces(), key=lambda interface: interface.virtual)
    addresses = [interface.address for interface in found if interface.up and interface.address]
    return [*(address for address in addresses if not address.startswith("127.")), socket.gethostname()]


def _allow_files(number: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number if hard < 0 else min(number, hard), hard))

"""A rank's connection to the supervisor: a thread that sleeps until it is asked for the main thread's position.

It adds nothing to timed calls: the thread waits in recv, and queries come only if a run makes no progress. Reports of
the main thread (cells begun and finished) are sent between cells.
"""

import contextlib
import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from fcntl import F_DUPFD_CLOEXEC, fcntl
from typing import Any

from .whereabouts import where

HIGH_NUMBER = 900  # of a file; the usual limit is 1024
CALLS = 10  # attempts to be welcomed by the supervisor
CONNECT_S = 5.0  # for each address of the supervisor
START_FACTOR = 5  # the start of many ranks may take longer than a cell
LAST_WORDS_S = 3.0  # for the rank that prints the error, before the launcher terminates it


class Watch:
    """The connection to the supervisor at `address` (`TOKEN@HOST:PORT,HOST:PORT`), in a thread of its own.

    `on_loss` is called in that thread when the supervisor is gone or, if it promised keep-alives, silent; then the
    process ends with status 1, as it does at the supervisor's command. `on_warning` is called there when the supervisor
    says that the launch shall end after the cell in progress, `on_unreached` when there is no way to the supervisor.
    """

    def __init__(
        self,
        address: str,
        rank: int,
        on_loss: Callable[[str], object] = lambda reason: None,
        on_warning: Callable[[], object] = lambda: None,
        on_unreached: Callable[[], object] = lambda: None,
    ):
        self.rank, self.on_loss, self.on_warning, self.on_unreached = rank, on_loss, on_warning, on_unreached
        self.token, _, hosts = address.partition("@")
        self.hosts = hosts.split(",")
        self._socket: socket.socket | None = None
        self._unsent: list[bytes] = []
        self._lock = threading.Lock()
        self._has_ended = self._welcomed = False
        self.connected = threading.Event()
        threading.Thread(target=self._attend, daemon=True).start()

    def say(self, kind: str, **facts: Any) -> None:
        """Send a message; those from before the connection go out later, or never."""
        line = json.dumps({"kind": kind, **facts}).encode() + b"\n"
        with self._lock:
            if not self._welcomed:
                self._unsent.append(line)  # sent ones too, until welcomed
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.sendall(line)

    def close(self) -> None:
        """Say that this rank has ended well."""
        self._has_ended = True
        self.say("bye")

    def _attend(self) -> None:
        hello = {
            "kind": "hello",
            "token": self.token,
            "rank": self.rank,
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }
        reason = ""
        for _ in range(CALLS):  # a crowded supervisor drops those slow to identify themselves
            if self._welcomed or self._has_ended or (connection := self._connect()) is None:
                break
            reason = "closed its connection"
            with contextlib.suppress(OSError, ValueError):
                self._introduce(connection, json.dumps(hello).encode() + b"\n")
                reason = self._listen(connection)
        if not self.connected.is_set() and not self._has_ended:
            self.on_unreached()
        if reason and not self._has_ended:
            self.on_loss(reason)
            os._exit(1)

    def _introduce(self, connection: socket.socket, hello: bytes) -> None:
        with self._lock:
            self._socket = connection
            connection.sendall(b"".join([hello, *self._unsent]))
        self.connected.set()

    def _connect(self) -> socket.socket | None:
        for host in self.hosts:
            name, _, port = host.rpartition(":")
            with contextlib.suppress(OSError, ValueError):
                connection = socket.create_connection((name, int(port)), timeout=CONNECT_S)
                connection.settimeout(None)
                return _with_high_number(connection)
        return None

    def _listen(self, connection: socket.socket) -> str:
        """Answer queries until the supervisor is gone; return the reason."""
        try:
            for line in connection.makefile("rb"):
                message = json.loads(line)
                if message["kind"] == "where":
                    self.say("at", question=message["question"], **where())
                elif message["kind"] == "welcome":
                    with self._lock:
                        self._welcomed, self._unsent = True, []
                    connection.settimeout(message["silence_s"])
                elif message["kind"] == "warned":
                    self.on_warning()
                elif message["kind"] == "end":
                    time.sleep(0.1)  # so that the launcher reports the first failure, not this exit
                    os._exit(1)
        except TimeoutError:
            if select.select([connection], [], [], 0)[0]:  # it did send: this process was stopped meanwhile
                return self._listen(connection)
            return "does not respond"
        return "closed its connection"


def is_local(address: str) -> bool:
    """Return whether `address` is one that ranks of the supervisor's own node connect to."""
    return address.partition("@")[2].startswith("127.")


def _with_high_number(connection: socket.socket) -> socket.socket:
    """Duplicate the connection under a high descriptor, so that it breaks first when this process dies.

    Linux closes the files of a dying process from the highest number down. The launcher learns of the death from one of
    them, too, and ends the other ranks: their connections must not break before this one.
    """
    try:
        number = fcntl(connection.fileno(), F_DUPFD_CLOEXEC, HIGH_NUMBER)
    except OSError:
        return connection
    connection.close()
    return socket.socket(fileno=number)


def print_error(sentence: str) -> None:
    """Print the error of a launch that hangs."""
    print(f"error: {sentence}", file=sys.stderr, flush=True)

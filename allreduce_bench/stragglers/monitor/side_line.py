"""Short messages between the threads of the ranks, beside MPI: UDP, so that a rank that is stuck can be asked.

Each message has the same few bytes and carries a keyed hash of them (HMAC-SHA256), whose key rank 0 has drawn and the
setup has told the ranks; everything else that arrives is ignored. On one node nothing listens outside of it.
"""

import hmac
import secrets
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from .stalls import State

HELLO, WELCOME, QUESTION, ANSWER = range(4)
BODY = struct.Struct("!BIQ??d")  # kind, rank, steps, is ready, says ready, seconds
HASH_NBYTES = 16
LOOPBACK = "127.0.0.1"


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
    """A socket for messages that have the key. Raises OSError where there is none to be had."""

    def __init__(self, rank: int, key: bytes, *, local: bool):
        self.rank, self._key = rank, key
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((LOOPBACK if local else "", 0))

    def address(self, local: bool) -> Address:
        """Where others reach it: on this node only, or by the addresses of its interfaces."""
        return Address((LOOPBACK,) if local else own_addresses(), self.socket.getsockname()[1], self._key)

    def send(self, message: Message, to: tuple[str, int]) -> None:
        """Send a message; one that cannot be sent is lost, as one on its way may be."""
        body = BODY.pack(message.kind, message.rank, *message.state)
        with suppress(OSError):
            self.socket.sendto(self._hash(body) + body, to)

    def receive(self, patience_s: float) -> tuple[Message, tuple[str, int]] | None:
        """The next message that has the key, and where it came from; None: none within the time, or a stranger's."""
        self.socket.settimeout(patience_s)
        try:
            data, source = self.socket.recvfrom(HASH_NBYTES + BODY.size + 1)
        except OSError:
            return None
        found, body = data[:HASH_NBYTES], data[HASH_NBYTES:]
        if len(body) != BODY.size or not hmac.compare_digest(found, self._hash(body)):
            return None
        kind, rank, *state = BODY.unpack(body)
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

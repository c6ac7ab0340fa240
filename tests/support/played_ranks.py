"""Ranks that a test plays by plain sockets, and the supervisor that hears them."""

import json
import socket
import time

from allreduce_bench.launching.supervisor import Supervisor

PATIENCE_S = 120.0  # with what always happens, however busy the cores are
CELL = {"kind": "cell", "words": "ring 4 KiB", "facts": {"competitor": "ring"}}


class Rank:
    """One rank's line, answered by hand."""

    def __init__(self, supervisor: Supervisor, rank: int, token: str | None = None, pid: int = 100):
        given, _, host = supervisor.address(["127.0.0.1"]).partition("@")
        name, _, port = host.rpartition(":")
        self.connection = socket.create_connection((name, int(port)), timeout=PATIENCE_S)
        self.lines = self.connection.makefile("rb")
        self.say(kind="hello", token=token or given, rank=rank, host=f"n{rank}", pid=pid + rank)

    def say(self, **message) -> None:
        self.connection.sendall(json.dumps(message).encode() + b"\n")

    def hear(self) -> dict:
        return json.loads(self.lines.readline() or "null")

    def close(self) -> None:
        self.lines.close()
        self.connection.close()


def until(condition) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def enter(supervisor: Supervisor, rank: int, **options) -> Rank:
    line = Rank(supervisor, rank, **options)
    assert line.hear()["kind"] == "welcome"
    return line

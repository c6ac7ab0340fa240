"""Messages between threads: theirs alone, of one length, and nothing of strangers."""

import socket

import pytest

from allreduce_bench.stragglers.monitor.watchdog import (
    ANSWER,
    LOOPBACK,
    MESSAGE,
    SideLine,
    SideMessage,
    State,
    new_key,
    own_addresses,
)

SAID = SideMessage(ANSWER, 5, State(2**40, True, False, 1.5))


@pytest.fixture
def lines():
    key = new_key()
    made = [SideLine(0, key, local=True), SideLine(5, key, local=True), SideLine(6, new_key(), local=True)]
    yield made
    for line in made:
        line.close()


def test_a_message_arrives_as_it_was_said(lines):
    here, there, _ = lines
    address = here.address(local=True)
    assert address.hosts == (LOOPBACK,)
    there.send(SAID, (LOOPBACK, address.port))
    assert here.receive(5.0) == (SAID, there.socket.getsockname())


def test_strangers_are_ignored(lines):
    here, _, stranger = lines
    to = here.socket.getsockname()
    stranger.send(SAID, to)
    assert here.receive(5.0) is None
    body = MESSAGE.pack(SAID.kind, SAID.rank, *SAID.state)
    for data in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes(16) + body, here._hash(body) + body + b"!", bytes(60_000)):
        stranger.socket.sendto(data, to)
        assert here.receive(5.0) is None
    assert here.receive(0.0) is None


def test_it_is_woken_and_lost_messages_are_no_error(lines):
    here, there, _ = lines
    here.wake()
    assert here.receive(5.0) is None
    there.send(SAID, ("256.0.0.1", 1))


def test_on_one_node_nobody_else_can_reach_it(lines):
    assert {line.socket.getsockname()[0] for line in lines} == {LOOPBACK}
    for address in own_addresses():
        socket.inet_aton(address)

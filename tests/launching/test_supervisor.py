"""The supervisor hears ranks that are played here by plain sockets: when it asks, whom it names, whom it turns away."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import time
from types import SimpleNamespace

import pytest
from played_ranks import CELL, PATIENCE_S, Rank, enter, until

from allreduce_bench.launching import patience
from allreduce_bench.launching import supervisor as of_supervisor
from allreduce_bench.launching.supervisor import LONGEST_LINE, is_stopped_here, names_of_this_node

BETWEEN_CALLS = "between calls"


def answer(rank: Rank, at, **more) -> None:
    message = rank.hear()
    assert message["kind"] == "where"
    rank.say(
        kind="at",
        question=message["question"],
        at=at,
        place=[["repeat", 0, 9]],
        doing=BETWEEN_CALLS,
        call=None,
        **more,
    )


class PlayedTime:
    """The seconds of supervisors, which pass when a test says so."""

    def __init__(self):
        self.now_s, self.judged_s = 0.0, -1.0

    def passes(self, seconds: float) -> None:
        """So much time passes; return when the supervisor has judged what there is then."""
        self.now_s += seconds
        until(lambda: self.judged_s == self.now_s)


@pytest.fixture
def played_time(monkeypatch) -> PlayedTime:
    played, judge = PlayedTime(), patience.Patience.judge

    def judge_at(self, now: float):
        found, played.judged_s = judge(self, now), now
        return found

    monkeypatch.setattr(of_supervisor, "time", SimpleNamespace(monotonic=lambda: played.now_s, sleep=time.sleep))
    monkeypatch.setattr(patience.Patience, "judge", judge_at)
    return played


def test_nothing_is_asked_while_cells_come_and_go(supervise, played_time):
    heard = []
    supervisor = supervise(1, on_message=heard.append)
    rank = enter(supervisor, 0)
    for number in range(5):
        rank.say(**CELL)
        until(lambda number=number: len(heard) > number)
        played_time.passes(0.19)
    rank.connection.settimeout(0.01)
    with pytest.raises(TimeoutError):
        rank.hear()
    assert supervisor.trouble is None


def test_a_rank_that_does_not_answer_is_named_after_the_timeout_and_the_cell_is_hung(supervise, played_time):
    alarms = []
    supervisor = supervise(2, on_trouble=alarms.append)
    ranks = [enter(supervisor, 0), enter(supervisor, 1)]
    ranks[0].say(**CELL)
    until(lambda: supervisor.patience.cell)
    for question in (1, 2):
        played_time.passes(0.21)
        answer(ranks[0], [1])
        until(lambda question=question: supervisor.patience.ranks[0].answered == question)
    assert supervisor.trouble is None
    played_time.now_s += patience.ANSWER_S
    until(lambda: alarms)
    assert supervisor.trouble.where == "ring 4 KiB, 2 ranks"
    assert supervisor.trouble.reason.startswith("no progress for 0.4 s (--timeout); rank 1 on n1 does not respond")
    assert supervisor.trouble.hung["facts"] == {"competitor": "ring"} and alarms == [supervisor.trouble]


def test_the_first_line_that_breaks_is_the_rank_that_died(supervise):
    supervisor = supervise(3, 60.0)
    ranks = [enter(supervisor, rank) for rank in range(3)]
    ranks[1].close()
    until(lambda: supervisor.patience.first_to_go)
    ranks[0].close(), ranks[2].close()
    supervisor.settle()
    assert supervisor.trouble.sentence == "start of 3 ranks: rank 1 on n1 died" and supervisor.trouble.hung is None


@pytest.mark.parametrize(
    "said",
    [b"GET / HTTP/1.0\r\n\r\n", b'{"kind": "hello"}\n', b"[1]\n", b"null\n", b"x" * (LONGEST_LINE + 70000), b"\xff\n"],
    ids=["http", "no-token", "list", "null", "endless", "no-text"],
)
def test_strangers_are_turned_away(supervise, said):
    supervisor = supervise(1, timeout_s=60)
    _, _, host = supervisor.address([]).partition("@")
    name, _, port = host.rpartition(":")
    with socket.create_connection((name, int(port)), PATIENCE_S) as stranger, contextlib.suppress(ConnectionError):
        stranger.sendall(said)
        assert stranger.recv(1) == b""
    wrong = Rank(supervisor, 0, token="0" * 32)
    with contextlib.suppress(ConnectionError):
        assert wrong.hear() is None
    assert supervisor.patience.ranks == [] and supervisor.trouble is None
    assert enter(supervisor, 0) is not None


def test_ranks_hear_of_a_warning_those_that_come_later_too(supervise):
    supervisor = supervise(2, 60.0)
    early = enter(supervisor, 0)
    supervisor.warn()
    assert early.hear() == {"kind": "warned"}
    assert enter(supervisor, 1).hear() == {"kind": "warned"}
    supervisor.close()
    supervisor.warn()  # nobody is there any more


def test_a_process_that_a_signal_stopped_is_known_on_this_node_only():
    process = subprocess.Popen(["sleep", "60"])
    rank = patience.Rank(0, socket.gethostname(), process.pid)
    try:
        assert not is_stopped_here(rank)
        process.send_signal(signal.SIGSTOP)
        until(lambda: is_stopped_here(rank))
        assert not is_stopped_here(patience.Rank(0, "elsewhere", process.pid))
    finally:
        process.kill()
        process.wait()
    assert not is_stopped_here(rank)


def test_this_node_is_named_by_addresses_and_its_own_name():
    *addresses, name = names_of_this_node()
    assert name == socket.gethostname() and not any(address.startswith("127.") for address in addresses)


def silent(supervisor, number: int) -> list[socket.socket]:
    """Connections that say nothing."""
    name, _, port = supervisor.address(["127.0.0.1"]).partition("@")[2].rpartition(":")
    return [socket.create_connection((name, int(port)), timeout=PATIENCE_S) for _ in range(number)]


@pytest.fixture
def few_files():
    """Leaves room for so many more files of this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield lambda more: resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + more, before[1]))
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_more_silent_connections_than_files_do_not_blind_the_supervisor(supervise, few_files):
    supervisor = supervise(2, timeout_s=60)
    first = enter(supervisor, 0)
    few_files(300)  # both ends of each connection are in this process
    strangers: list[socket.socket] = []
    with contextlib.suppress(OSError):  # as many as there is room for
        while True:
            strangers += silent(supervisor, 1)
    first.say(**CELL)
    until(lambda: supervisor.patience.cell)
    for connection in strangers:
        connection.close()
    assert enter(supervisor, 1) and supervisor.trouble is None

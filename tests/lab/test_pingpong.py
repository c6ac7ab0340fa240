"""The ping-pong: messages go to and fro, and half a round trip is counted."""

import json
import subprocess

import pytest
from interpreters import in_turn, interpreters
from measured_runs import mpirun, with_package

from allreduce_bench.lab.pingpong import LONG, REPETITIONS, SHORT, WARM_UP, exchange, half_round_trip


class Partner:
    """A rank whose messages take no time but move the clock."""

    rank = 1

    def __init__(self, clock: list[float]):
        self.clock, self.calls = clock, []

    def Send(self, message, dest):  # noqa: N802
        self.calls.append(("send", message[0].nbytes, dest))
        self.clock[0] += 3.0

    def Recv(self, message, source):  # noqa: N802
        self.calls.append(("recv", message[0].nbytes, source))
        self.clock[0] += 1.0

    def Sendrecv(self, sent, dest, tag, received, source):  # noqa: N802
        self.calls.append(("sendrecv", sent[0].nbytes, dest, received[0].nbytes, source))
        self.clock[0] += 5.0


def test_half_of_the_median_round_trip_without_warm_up(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("allreduce_bench.lab.pingpong.perf_counter", lambda: clock[0])
    partner = Partner(clock)
    assert half_round_trip(partner, SHORT) == 2.0
    assert partner.calls == [("recv", SHORT, 0), ("send", SHORT, 0)] * (WARM_UP + REPETITIONS[SHORT])


def test_an_exchange_sends_both_ways_at_once(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("allreduce_bench.lab.pingpong.perf_counter", lambda: clock[0])
    partner = Partner(clock)
    assert exchange(partner, LONG) == 5.0
    assert partner.calls == [("sendrecv", LONG, 0, LONG, 0)] * (WARM_UP + REPETITIONS[LONG])


@pytest.mark.slow
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_two_ranks_print_times_that_grow_with_the_message(python):
    in_turn(0, python)
    command = mpirun(python, 2)
    command = [*command[: command.index("-m")], "-m", "allreduce_bench.lab.pingpong"]
    result = subprocess.run(command, env=with_package(), capture_output=True, text=True, timeout=120, check=True)
    times_s = json.loads(result.stdout)
    assert 0 < times_s["message"][str(SHORT)] < times_s["message"][str(LONG)] and times_s["exchange"][str(SHORT)] > 0

"""What messages cost between nodes: measured on played links and over MPI, and what steps cost by that."""

import pytest
from interpreters import in_turn, interpreters
from mpi4py import MPI

from allreduce_bench.programs import own_comm
from allreduce_bench.programs.own_comm import PROBE_NBYTES, SLOW_LINK_S_PER_BYTE, Links, measured_links, price_s
from allreduce_bench.schedule.algorithm import Cost

ETHERNET = Links(50e-6, 80e-9)


class PlayedComm:
    """The ranks of links that are known; the first exchange takes a second, as one does that connects."""

    def __init__(self, rank: int, size: int, of: Links):
        self.rank, self.size, self._of = rank, size, of
        self.now_s, self._is_connected = 0.0, False

    def Barrier(self) -> None:
        """Nobody comes late."""

    def Sendrecv(self, sent, dest, tag, received, source, its_tag) -> None:
        """Takes what the links say."""
        assert sent.nbytes == received.nbytes and tag == its_tag
        self.now_s += 0 if self._is_connected else 1.0
        self._is_connected = True
        self.now_s += self._of.alpha_s + (sent.nbytes if sent.nbytes == PROBE_NBYTES else 0) * self._of.s_per_byte

    def Allreduce(self, in_place, times, op) -> None:
        """The other ranks took as long."""
        assert in_place is MPI.IN_PLACE and op is MPI.MAX and (times >= 0).all()


@pytest.mark.parametrize("rank", [0, 3])
def test_links_are_found_as_they_are(rank, monkeypatch):
    comm = PlayedComm(rank, 4, ETHERNET)
    monkeypatch.setattr(own_comm.time, "perf_counter", lambda: comm.now_s)
    assert measured_links(comm) == pytest.approx(ETHERNET)


def test_a_schedule_costs_its_messages_and_its_bytes():
    assert price_s(Cost(0, 0, 0), 4, ETHERNET) == 0
    assert price_s(Cost(6, 1000, 500), 8, ETHERNET) == pytest.approx(6 * 50e-6 + 8000 * 80e-9)


def test_links_are_slow_by_their_bytes():
    assert ETHERNET.are_slow and not Links(1.0, SLOW_LINK_S_PER_BYTE).are_slow


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_all_ranks_have_the_same(python, on_ranks, ranks):
    in_turn(ranks, python)
    on_ranks(ranks, "own_comms.links")

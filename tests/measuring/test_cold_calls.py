"""Cold calls find their buffers out of the cache: places take turns, and what lies between two uses is large."""

import numpy as np
import pytest
from interpreters import interpreters

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

KIB, MIB = 1024, 1024**2


@pytest.fixture
def cold_calls():
    from allreduce_bench.measuring import cold_calls

    return cold_calls


@pytest.fixture
def memory(cold_calls):
    """Where the buffers of a run lie by default."""
    from allreduce_bench.executing.memory import PAGES

    return PAGES


class Calls:
    """Binds calls that only note which of them ran, and on which buffers."""

    def __init__(self):
        self.buffers: list = []
        self.ran: list[int] = []
        self.closed: list[int] = []

    def bind(self, sendbuf, recvbuf):
        from allreduce_bench.executing import Prepared

        number = len(self.buffers)
        self.buffers.append((sendbuf, recvbuf))
        return Prepared(lambda: self.ran.append(number), lambda: self.closed.append(number))


def test_two_uses_of_a_place_have_more_than_the_region_between_them(cold_calls):
    for size_bytes in (1, 4 * KIB, 512 * KIB, MIB, 16 * MIB, 1 << 30):
        places = cold_calls.places_for(size_bytes, 32 * MIB, 10)
        touched = 2 * size_bytes * (places - 1)
        assert 2 <= places <= cold_calls.MOST_PLACES
        assert touched >= 32 * MIB or places == cold_calls.MOST_PLACES
    assert cold_calls.places_for(16 * MIB, 32 * MIB, 10) == 2
    assert cold_calls.places_for(MIB, 32 * MIB, 10) == 17


def test_long_schedules_are_bound_fewer_times(cold_calls):
    assert cold_calls.places_for(8, 32 * MIB, 20_000) == 5
    assert cold_calls.places_for(8, 32 * MIB, 10**9) == 2


def test_every_place_has_pages_and_contents_of_its_own(cold_calls, memory):
    calls, vector = Calls(), np.arange(5, dtype="f")
    made = cold_calls.Rotation(calls.bind, memory, vector, MIB, 8)
    addresses = [buffer.ctypes.data for pair in calls.buffers for buffer in pair]
    assert len({address // cold_calls.PAGE_NBYTES for address in addresses}) == 16
    assert all((buffer == vector).all() and buffer.size == 5 for pair in calls.buffers for buffer in pair)
    assert calls.ran == list(range(8))  # so that no timed call is the first
    made.close()
    assert calls.closed == list(range(8))


def test_large_vectors_take_turns_and_nothing_else_is_read(cold_calls, memory):
    calls = Calls()
    made = cold_calls.Rotation(calls.bind, memory, np.zeros(MIB // 4, "f"), 4 * MIB, 3)
    calls.ran.clear()
    for _ in range(7):
        made.prepare_call()()
    assert calls.ran == [0, 1, 2, 0, 1, 2, 0]


def test_small_vectors_have_the_cache_filled_before_a_place_comes_again(cold_calls, memory, monkeypatch):
    calls, region = Calls(), 4 * MIB
    made = cold_calls.Rotation(calls.bind, memory, np.zeros(2, "f"), region, 3)
    assert made._scratch.nbytes == region
    calls.ran.clear()

    class Scratch:
        def max(self):
            calls.ran.append("filled")

    made._scratch = Scratch()
    for _ in range(4):
        made.prepare_call()()
    assert calls.ran == ["filled", 0, 1, 2, "filled", 0, 1, 2]  # place 0: what brings the library back, untimed


def test_what_the_interpreter_reads_is_touched_but_not_the_vectors(cold_calls):
    from allreduce_bench.executing.sendrecv import floor

    send, receive = np.ones(4, "f"), np.ones(4, "f")
    objects = cold_calls._objects_read_by(floor("copy", send, receive, "sum").run)
    views = [item for item in objects if isinstance(item, np.ndarray)]
    assert {item.ctypes.data for item in views} == {send.ctypes.data, receive.ctypes.data}
    assert len(objects) < 100 and not any(isinstance(item, dict) for item in objects)


@pytest.mark.parametrize("size_bytes", [0, 8, 64 * KIB, MIB, 64 * MIB])
def test_the_memory_that_is_announced_is_enough(cold_calls, memory, size_bytes):
    calls, region = Calls(), 2 * MIB
    places = cold_calls.places_for(size_bytes, region, 1)
    made = cold_calls.Rotation(calls.bind, memory, np.zeros(size_bytes, "u1"), region, places)
    scratch = 0 if made._scratch is None else made._scratch.nbytes
    assert 2 * places * max(size_bytes, 1) + scratch <= cold_calls.memory_for(size_bytes, region)

"""The bound of the common clock holds, whatever the clocks of the nodes show: threads as nodes, clocks made up."""

from queue import SimpleQueue
from threading import Thread
from time import perf_counter, sleep

import numpy as np
import pytest

from allreduce_bench.stragglers.monitor.blocks import ClockLine, CommonClock, error_of_two


class Node:
    """Carries values between threads, and has a clock of its own."""

    def __init__(self, rank: int, boxes: dict, offset: float, drift: float):
        self.rank, self._boxes, self._offset, self._drift = rank, boxes, offset, drift

    def now(self) -> float:
        return self.at(perf_counter())

    def at(self, true: float) -> float:
        return true * (1 + self._drift) + self._offset

    def send(self, values: np.ndarray, partner: int) -> None:
        self._boxes[self.rank, partner].put(values.copy())

    def receive(self, values: np.ndarray, partner: int) -> None:
        values[:] = self._boxes[partner, self.rank].get(timeout=240)


@pytest.mark.parametrize("leaders", [[0], [0, 2], [0, 2, 3], [0, 1, 2, 3, 5]])
def test_the_bound_holds_now_and_later(leaders):
    boxes = {(a, b): SimpleQueue() for a in leaders for b in leaders}
    nodes = [Node(rank, boxes, 1000.0 * rank, 1e-5 * rank) for rank in leaders]
    clocks: dict[int, CommonClock] = {}

    def compare(node: Node) -> None:
        clocks[node.rank] = CommonClock(node, leaders, node.now)
        sleep(0.05)
        clocks[node.rank].compare()

    threads = [Thread(target=compare, args=[node]) for node in nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for later_s in (0.0, 100.0):
        true = perf_counter() + later_s
        for node in nodes:
            line, reading = clocks[node.rank].line, node.at(true)
            assert abs(line.common(reading) - nodes[0].at(true)) <= line.error_at(reading) + 1e-9
            assert (line.error_s > 0) == (node.rank > 0)


def test_a_clock_that_jumps_starts_again():
    boxes = {(a, b): SimpleQueue() for a in (0, 1) for b in (0, 1)}
    nodes = [Node(rank, boxes, 0.0, 0.0) for rank in (0, 1)]

    def answer() -> None:
        CommonClock(nodes[0], [0, 1], nodes[0].now).compare()

    other = Thread(target=answer)
    other.start()
    clock = CommonClock(nodes[1], [0, 1], nodes[1].now)
    nodes[1]._offset = 5.0
    clock.compare()
    other.join()
    assert abs(clock.line.offset + 5.0) <= clock.line.error_s


def test_ranks_that_do_not_compare_have_the_clock_of_none():
    assert CommonClock(Node(1, {}, 0.0, 0.0), [0]).line == ClockLine()


def test_the_error_of_two_ranks_is_that_of_the_two_worst_clocks():
    assert error_of_two([0, 0, 0], [0.0, 0.0, 0.0]) == 0.0
    assert error_of_two([0, 0, 2, 2, 4], [0.0, 0.0, 1.0, 2.0, 0.5]) == 2.5

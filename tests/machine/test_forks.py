"""The same work on several items by all cores."""

import os
import threading

import pytest

from allreduce_bench.machine import forks
from allreduce_bench.machine.forks import in_forks


@pytest.fixture(autouse=True)
def three_cores(monkeypatch):
    monkeypatch.setattr(forks, "cores", lambda: 3)


@pytest.fixture
def may_fork(monkeypatch):
    """Whatever else the process of the tests has loaded or started."""
    monkeypatch.setattr(forks, "_may_fork", lambda: True)


def with_pid(item: int) -> tuple[int, int]:
    threading.Event().wait(0.02)
    return item, os.getpid()


def test_results_come_in_order_from_several_processes(may_fork, tmp_path):
    def once_all_are_at_work(item: int) -> tuple[int, int]:
        (tmp_path / str(os.getpid())).touch()
        for _ in range(6000):
            if len(os.listdir(tmp_path)) == 3:
                break
            threading.Event().wait(0.02)
        return item, os.getpid()

    results = in_forks(once_all_are_at_work, range(20))
    assert [item for item, _ in results] == [*range(20)] and len({pid for _, pid in results}) == 3


def test_this_process_does_something_else_first_and_tells_what_it_takes(may_fork):
    told: list[object] = []
    results = in_forks(with_pid, range(10), told.append, lambda: told.append("meanwhile"))
    assert told == ["meanwhile", *(item for item, pid in results if pid == os.getpid())]


@pytest.mark.parametrize("count", [0, 1])
def test_few_items_need_no_child(count):
    assert in_forks(lambda item: os.getpid(), range(count)) == [os.getpid()] * count


def test_beside_a_thread_nothing_is_forked():
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert {pid for _, pid in in_forks(with_pid, range(4))} == {os.getpid()}
    finally:
        end.set()
        thread.join()


def test_what_a_child_fails_at_is_done_again_here(may_fork):
    here = os.getpid()

    def dies_elsewhere(item: int) -> int:
        if os.getpid() != here:
            os._exit(1)
        return item

    assert in_forks(dies_elsewhere, range(9)) == [*range(9)]
    assert {made() for made in in_forks(lambda item: lambda: item, range(3))} == {0, 1, 2}  # cannot be sent


@pytest.mark.parametrize("wrong", [0, 3])
def test_an_error_is_raised_and_no_child_is_left(wrong, monkeypatch, may_fork):
    children = []
    begin = forks._begin
    monkeypatch.setattr(forks, "_begin", lambda *given: children.append(begin(*given)) or children[-1])

    def fail(item: int) -> int:
        threading.Event().wait(0.02)
        if item == wrong:
            raise ValueError(item)
        return item

    with pytest.raises(ValueError, match=str(wrong)):
        in_forks(fail, range(6))
    assert len(children) == 2
    for child, _ in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_without_further_processes_fewer_do(monkeypatch):
    def refuse() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refuse)
    opened = len(os.listdir("/proc/self/fd"))
    assert in_forks(lambda item: item, range(5)) == [*range(5)]
    assert len(os.listdir("/proc/self/fd")) == opened

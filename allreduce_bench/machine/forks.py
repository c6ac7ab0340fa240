"""The same work on several items by all cores: children, forked, take one item after the other from a pipe.

A fork has everything that this process has, so that neither work nor items are copied; only results are, by pickle
between a process and its own child. A child never waits for its parent: it ends when no item is left.
"""

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from signal import SIGKILL
from typing import NamedTuple, TypeVar

from .node import affinity

Item = TypeVar("Item")
Result = TypeVar("Result")

NUMBER_NBYTES = 4  # of an item, in the pipe
MOST_ITEMS = 4096  # whose numbers every pipe holds at once
MOST_PROCESSES = 8  # each takes memory, and a login node has other users


class _Child(NamedTuple):
    pid: int
    answer: int  # descriptor: its results, pickled, by number


def _unsaid(item: object) -> None:
    """Take no notice of an item."""


def in_forks(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    before: Callable[[Item], None] = _unsaid,
    meanwhile: Callable[[], object] = lambda: None,
) -> list[Result]:
    """Return what `work` makes of each item; this process calls `before` with each of those that it takes itself.

    `meanwhile` is called in this process before it takes any. An error is the one that `work` raises here: what a child
    could not do, or send, is done again.
    """
    processes = min(cores(), len(items), MOST_PROCESSES)
    if processes < 2 or len(items) > MOST_ITEMS or not _may_fork():
        meanwhile()
        return [_told(work, before, item) for item in items]
    numbers, fill = os.pipe()
    os.write(fill, b"".join(number.to_bytes(NUMBER_NBYTES, "little") for number in range(len(items))))
    os.close(fill)
    children: list[_Child] = []
    done = {}
    try:
        with suppress(OSError):  # without further processes fewer do
            while len(children) < processes - 1:
                children.append(_begun(work, items, numbers))
        meanwhile()
        for number in _taken(numbers):
            done[number] = _told(work, before, items[number])
        for child in children:
            done |= _answer(child)
    finally:
        os.close(numbers)
        for child in children:
            os.close(child.answer)
            os.kill(child.pid, SIGKILL)  # it has ended, but after an error here
            os.waitpid(child.pid, 0)
    return [done[number] if number in done else work(item) for number, item in enumerate(items)]


def cores() -> int:
    """Return how many cores, or hardware threads, this process may use; 1: unknown."""
    return len(affinity() or [0])


def _may_fork() -> bool:
    """Return whether a copy of this process works: it would lack threads, and MPI."""
    return threading.active_count() == 1 and "mpi4py.MPI" not in sys.modules


def _told(work: Callable[[Item], Result], before: Callable[[Item], None], item: Item) -> Result:
    before(item)
    return work(item)


def _taken(numbers: int) -> Iterator[int]:
    """Yield numbers of items until none is left."""
    while number := os.read(numbers, NUMBER_NBYTES):
        yield int.from_bytes(number, "little")


def _begun(work: Callable[[Item], Result], items: Sequence[Item], numbers: int) -> _Child:
    answer, tell = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(answer)
        os.close(tell)
        raise
    if pid:
        os.close(tell)
        return _Child(pid, answer)
    done = {}
    with suppress(BaseException), os.fdopen(tell, "wb") as file:
        for number in _taken(numbers):
            with suppress(Exception):  # the parent does it again, and says what is wrong
                done[number] = pickle.dumps(work(items[number]), pickle.HIGHEST_PROTOCOL)
        pickle.dump(done, file)
    os._exit(0)


def _answer(child: _Child) -> dict:
    """Return the results of a child, by number; none if it failed."""
    with os.fdopen(os.dup(child.answer), "rb") as file, suppress(EOFError, pickle.UnpicklingError):
        return {number: pickle.loads(result) for number, result in pickle.load(file).items()}
    return {}

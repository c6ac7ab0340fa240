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
from typing import TypeVar

from .node import affinity

Item = TypeVar("Item")
Result = TypeVar("Result")

NUMBER_NBYTES = 4  # of an item, in the pipe
MOST_ITEMS = 4096  # whose numbers every pipe holds at once
MOST_PROCESSES = 8  # each takes memory, and a login node has other users


def in_forks(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    before: Callable[[Item], object] = lambda item: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> list[Result]:
    """Return what `work` makes of each item; this process calls `before` with each of those that it takes itself.

    `meanwhile` is called in this process before it takes any. An error is the one that `work` raises here: what a child
    could not do, or send, is done again.
    """

    def do_here(number: int) -> Result:
        before(items[number])
        return work(items[number])

    processes = min(cores(), len(items), MOST_PROCESSES)
    if processes < 2 or len(items) > MOST_ITEMS or not _may_fork():
        meanwhile()
        return [do_here(number) for number in range(len(items))]
    numbers, fill = os.pipe()
    os.write(fill, b"".join(number.to_bytes(NUMBER_NBYTES, "little") for number in range(len(items))))
    os.close(fill)
    children: list[tuple[int, int]] = []  # process, and the pipe of its results
    done: dict[int, Result] = {}
    try:
        with suppress(OSError):  # without further processes fewer do
            while len(children) < processes - 1:
                children.append(_begin(work, items, numbers))
        meanwhile()
        done = {number: do_here(number) for number in _taken(numbers)}
        for _, answer in children:
            with open(answer, "rb", closefd=False) as file, suppress(EOFError, pickle.UnpicklingError):
                done |= {number: pickle.loads(result) for number, result in pickle.load(file).items()}
    finally:
        os.close(numbers)
        for child, answer in children:
            os.close(answer)
            os.kill(child, SIGKILL)  # it has ended, but after an error here
            os.waitpid(child, 0)
    return [done[number] if number in done else work(item) for number, item in enumerate(items)]


def cores() -> int:
    """Return how many cores, or hardware threads, this process may use; 1: unknown."""
    return len(affinity() or [0])


def _may_fork() -> bool:
    """Return whether a copy of this process works: it would lack threads, and MPI."""
    return threading.active_count() == 1 and "mpi4py.MPI" not in sys.modules


def _taken(numbers: int) -> Iterator[int]:
    """Yield numbers of items until none is left."""
    while number := os.read(numbers, NUMBER_NBYTES):
        yield int.from_bytes(number, "little")


def _begin(work: Callable[[Item], Result], items: Sequence[Item], numbers: int) -> tuple[int, int]:
    """Fork a child; return its number, and the pipe with its results, pickled, by number of the item."""
    answer, tell = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(answer)
        os.close(tell)
        raise
    if child:
        os.close(tell)
        return child, answer
    done = {}
    with suppress(BaseException), os.fdopen(tell, "wb") as file:
        for number in _taken(numbers):
            with suppress(Exception):  # the parent does it again, and says what is wrong
                done[number] = pickle.dumps(work(items[number]), pickle.HIGHEST_PROTOCOL)
        pickle.dump(done, file)
    os._exit(0)

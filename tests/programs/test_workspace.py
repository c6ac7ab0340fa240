"""Memory that all-reduces share, and what is bound to it: how much is kept, and what is closed when."""

import weakref

import numpy as np
import pytest

from allreduce_bench.executing import Prepared
from allreduce_bench.programs.bound import COPIED_NBYTES, MOST_STEPS, STEPS_OF_EACH, Workspace, view_address


def address(vector: np.ndarray) -> int:
    return vector.ctypes.data


class Bindings:
    """A workspace, and the keys of what was closed."""

    def __init__(self) -> None:
        self.workspace, self.closed = Workspace(), list[object]()

    def keep(self, key: object, steps: int = 1) -> Prepared:
        call = Prepared(lambda: None, lambda: self.closed.append(key))
        self.workspace.keep(key, call, steps)
        return call


@pytest.fixture
def bindings() -> Bindings:
    return Bindings()


def test_what_is_bound_is_found_until_it_is_dropped(bindings):
    call = bindings.keep("ring")
    assert bindings.workspace.find("ring") is call and bindings.workspace.find("tree") is None
    bindings.workspace.drop("tree")
    bindings.workspace.drop("ring")
    bindings.workspace.drop("ring")
    assert bindings.workspace.find("ring") is None and bindings.closed == ["ring"]


def test_of_too_many_steps_those_that_were_not_used_for_longest_are_closed(bindings):
    steps = MOST_STEPS // 4 - STEPS_OF_EACH
    for key in "abcd":
        bindings.keep(key, steps)
    assert not bindings.closed
    bindings.workspace.find("a")
    bindings.keep("e", steps)
    assert bindings.closed == ["b"]
    bindings.keep("f", 2 * steps + STEPS_OF_EACH)
    assert bindings.closed == ["b", "c", "d"]


def test_one_that_has_too_many_steps_alone_is_kept_alone(bindings):
    bindings.keep("short")
    call = bindings.keep("long", 2 * MOST_STEPS)
    assert bindings.closed == ["short"] and bindings.workspace.find("long") is call


def test_what_was_dropped_weighs_nothing(bindings):
    for _ in range(3):
        bindings.keep("long", MOST_STEPS - 2 * STEPS_OF_EACH)
        bindings.workspace.drop("long")
    bindings.keep("short", 0)
    bindings.keep("long", MOST_STEPS - 2 * STEPS_OF_EACH)
    assert bindings.closed == 3 * ["long"]


def test_what_belongs_to_one_goes_without_the_others(bindings):
    owner, other = object(), object()
    keys = [(owner,), (owner, 1, 2), (other,), (other, 1, 2)]
    for key in keys:
        bindings.keep(key)
    bindings.workspace.drop_of(owner)
    assert bindings.closed == keys[:2]
    bindings.workspace.clear()
    bindings.workspace.clear()
    assert bindings.closed == keys


@pytest.mark.parametrize("longer", ["scratch", "input"])
def test_what_is_bound_to_memory_that_was_too_short_is_closed(bindings, longer):
    def ask(count: int) -> np.ndarray:
        if longer == "scratch":
            return bindings.workspace.scratch(count, "f8")
        return bindings.workspace.copy_input(np.arange(count, dtype="f8"))

    long = ask(1000)
    bindings.keep("ring")
    shorter = ask(10)
    assert shorter.size == 10 and np.shares_memory(shorter, long) and not bindings.closed
    longest = ask(1001)
    assert longest.size == 1001 and not np.shares_memory(longest, long) and bindings.closed == ["ring"]


def test_an_input_is_copied():
    vector = np.arange(5.0)
    copied = Workspace().copy_input(vector)
    assert (copied == vector).all() and copied.dtype == vector.dtype and not np.shares_memory(copied, vector)


@pytest.mark.parametrize("dtype", ["f2", "f4", "i8"])
def test_short_vectors_have_the_same_places_always(dtype):
    workspace, most = Workspace(), COPIED_NBYTES // np.dtype(dtype).itemsize
    places = {tuple(map(address, workspace.short(count, dtype))) for count in (1, most, 7)}
    assert len(places) == 1
    send, recv = workspace.short(most, dtype)
    assert send.size == recv.size == most and send.dtype == dtype and not np.shares_memory(send, recv)
    assert not np.shares_memory(workspace.scratch(most, dtype), send)


def test_no_element_takes_no_memory():
    workspace, nothing = Workspace(), np.empty(0)
    assert (
        workspace.scratch(0, "f8").size == workspace.copy_input(nothing).size == workspace.short(0, "f4")[0].size == 0
    )
    assert view_address(address(nothing), nothing).size == 0


def test_an_array_that_is_named_by_its_address_is_not_kept_alive():
    vector = np.arange(10, dtype="i4")
    same, alive = view_address(address(vector), vector), weakref.ref(vector)
    vector[3] = 30
    same[4] = 40
    assert same.dtype == vector.dtype and same.tolist() == vector.tolist() == [0, 1, 2, 30, 40, 5, 6, 7, 8, 9]
    del vector
    assert alive() is None

"""Where the main thread of this rank is, read from outside it: nothing is added to what is timed.

A place is the stack of our own functions, outermost first, each with the count of its loop and its line. All ranks run
the same code in the same order, so that comparing two places tells which rank is behind.
"""

import os
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
ALGORITHMS = os.path.join(PACKAGE, "algorithms") + os.sep  # generators: a loop without an end is no progress
LOOPS = {
    "sweep": "number",
    "outcome_alone": "turn",
    "repeat": "done",
    "_timed": "call",
    "back_to_back": "call",
}  # function -> its counter
POLLING = frozenset({"wait_quietly"})  # they look again and again: their lines are no progress either
TIMING = "_timed"
CALL, EXECUTE = (
    "run",
    os.path.join(PACKAGE, "measuring", "execute.py"),
)  # the function in whose frame a bound all-reduce runs
DOING = {
    "_timed": "in the common start of a call",
    "back_to_back": "between calls",
    "compare": "comparing clocks",
    "choose": "trying common starts",
    "repeat": "between calls",
    "check": "checking the result",
    "same_bits": "comparing bits",
    "same_bits_calls": "comparing the bits of repeated calls",
    "accuracy_of_first": "comparing with the exact result",
    "own_steps": "making its schedule",
    "proof": "proving the schedule",
    "_bound": "binding the schedule",
    "wait_quietly": "waiting for rank 0",
    "_agree": "waiting for rank 0",
    "start_mpi": "starting MPI",
}
_called: Sequence[int] = ()  # what the ranks of this rank's group are called among all; none: the same


def call_ranks(ranks: Sequence[int]) -> None:
    """From now on the partners of steps are ranks of a group, and these are their names among all ranks."""
    global _called
    _called = ranks


def where() -> dict[str, Any]:
    """The place of the main thread and what it does there, as JSON values.

    `place` is [[function, count of its loop, line], ...] without the call itself; `at` changes whenever there was
    progress; `doing` says it in words; `call` is None outside an all-reduce, and inside one the step, see `_call`.
    """
    stack = _stack(sys._current_frames().get(threading.main_thread().ident or 0))
    call = next((frame for frame in stack if _is_call(frame)), None)
    outside = stack[: stack.index(call)] if call else stack
    if call is None and stack and _is_timing(stack[-1]):
        call = stack[-1]
    place = [_entry(frame) for frame in outside]
    inner = stack[-1] if stack else None
    known = [DOING[frame.f_code.co_name] for frame in outside if frame.f_code.co_name in DOING]
    name = inner.f_code.co_name if inner else "start"
    step = _call(call) if call else None
    return {
        "place": place,
        "at": [*place, -1 if inner is None or name in POLLING else inner.f_lasti, step and step["step"]],
        "doing": known[-1] if known else "starting" if name.startswith("<") or name == "start" else f"in {name}",
        "call": step,
    }


def step_of(error: BaseException) -> str:
    """` in step 3 (to 4, from 2)`: the step of an all-reduce in which `error` was raised; empty outside of one."""
    trace = error.__traceback__
    while trace is not None:
        if _is_call(trace.tb_frame):
            call = _call(trace.tb_frame)
            return f" in step {call['step']} (to {call['dest']}, from {call['source']})" if call["step"] else ""
        trace = trace.tb_next
    return ""


def _stack(frame: FrameType | None) -> list[FrameType]:
    """Our own frames, outermost first."""
    found = []
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE) and not file.startswith(ALGORITHMS) and file != __file__:
            found.append(frame)
        frame = frame.f_back
    return found[::-1]


def _is_call(frame: FrameType) -> bool:
    return frame.f_code.co_name == CALL and frame.f_code.co_filename == EXECUTE


def _is_timing(frame: FrameType) -> bool:
    """Whether the function that times calls has entered one and not left it: the library's own has no frame."""
    names = frame.f_locals
    return (
        frame.f_code.co_name == TIMING and "entry" in names and ("exit" not in names or names["entry"] > names["exit"])
    )


def _entry(frame: FrameType) -> list:
    name = frame.f_code.co_name
    count = frame.f_locals.get(LOOPS[name], 0) if name in LOOPS else 0
    return [name, count, 0 if name in POLLING else frame.f_lineno]


def _call(frame: FrameType) -> dict[str, Any]:
    """The step that this rank is in: its number from 1, its partners, and how many messages each was sent so far.

    `sent` and `received` count the messages to and from each rank, the current step included: whoever is asked can be
    told apart from those who wait for him. Of the library's own all-reduce no step is known.
    """
    calls, current = frame.f_locals.get("frozen", ()), frame.f_locals.get("call")
    here = next((i for i, call in enumerate(calls) if call is current), 0)
    steps = [call.args for call in calls[: here + 1] if getattr(call.func, "__name__", "") == "Sendrecv"]
    if not steps:
        return {"step": 0, "of": 0, "dest": None, "source": None, "sent": {}, "received": {}}
    sent, received = _counts(args[1] for args in steps), _counts(args[4] for args in steps)
    every = sum(getattr(call.func, "__name__", "") == "Sendrecv" for call in calls)
    _, dest, _, _, source, _ = steps[-1]
    partners = {"dest": _name(dest) if dest >= 0 else None, "source": _name(source) if source >= 0 else None}
    return {"step": len(steps), "of": every, **partners, "sent": sent, "received": received}


def _counts(partners) -> dict[str, int]:
    counts: dict[str, int] = {}
    for partner in partners:
        if partner >= 0:  # MPI_PROC_NULL is negative
            name = str(_name(partner))
            counts[name] = counts.get(name, 0) + 1
    return counts


def _name(partner: int) -> int:
    return _called[partner] if _called else partner

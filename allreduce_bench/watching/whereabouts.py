"""The position of the main thread of this rank, read from another thread: adds nothing to timed calls.

A place is the stack of our own functions, outermost first, each with the count of its loop and its line. All ranks run
the same code in the same order, so that comparing two places tells which rank is behind. What a function does, and
which of its variables tell how far it is, is declared at the function by `doing` and `stepping`: both note its code and
return it as it is, and refuse a variable that it does not have.
"""

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeVar

PACKAGE = __name__.partition(".")[0]  # frames of other packages are ignored

Function = TypeVar("Function", bound=Callable[..., Any])


class Partners(NamedTuple):
    """The ranks a call sends to and receives from, or waits for; negative: none."""

    dest: int
    source: int
    step: int | None = None  # from 1; None: each such call is a step


class _Activity(NamedTuple):
    """Words for what a function does, and the variables that show its progress."""

    text: str = ""  # empty: not reported
    counts: str = ""  # the counter of its loop
    polls: bool = False  # a polling loop: its lines are not progress
    times: tuple[str, str] | None = None  # its readings of the clock right before and after a call


class _Stepping(NamedTuple):
    """The variables of a function that runs the calls of a bound all-reduce in turn."""

    calls: str
    current: str  # of compiled code, its counters: the number of the all-reduce, and of the row in it
    partners: str | Callable[[Any], Any]
    is_compiled: bool = False  # the calls are rows, and `partners` takes all of them


_activities: dict[CodeType, _Activity] = {}
_stepping: dict[CodeType, _Stepping] = {}
_excluded: set[str] = set()  # names of modules and packages
_group_ranks: Sequence[int] = ()  # world ranks of this rank's group; empty: identity


def doing(
    text: str = "", *, counts: str = "", polls: bool = False, times: tuple[str, str] | None = None
) -> Callable[[Function], Function]:
    """Declare what the decorated function does, in words that follow `rank 3 is behind`.

    `counts` names the variable that counts its loop; `times` those that hold the clock right before and after a call
    whose own frame, that of a library, cannot be seen. `polls`: its lines are no progress. Raises NameError for a name
    that is no variable of the function.
    """

    def declare(function: Function) -> Function:
        _refuse_unknown(function, [*([counts] if counts else []), *(times or ())])
        _activities[function.__code__] = _Activity(text, counts, polls, times)
        return function

    return declare


def stepping(calls: str, current: str, partners: str | Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Declare that the decorated function runs a bound all-reduce: the variables that hold all its calls and this one.

    `partners` gives those of a call that is a step or waits for a message of one, and None of any other; or it names
    the variable that holds them, in the order of the calls. Raises NameError for a name that is no variable of the
    function.
    """

    def declare(function: Function) -> Function:
        _refuse_unknown(function, [calls, current, *([partners] if isinstance(partners, str) else [])])
        _stepping[function.__code__] = _Stepping(calls, current, partners)
        return function

    return declare


def counting(counters: str, rows: str, partners: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Declare that the decorated function runs calls of a bound all-reduce in compiled code.

    The variable `counters` holds the number of the call, and of the row in it (negative: in no call); that code writes
    them. `rows` holds what it runs, and `partners` gives those of every row. Raises NameError as `stepping` does.
    """

    def declare(function: Function) -> Function:
        _refuse_unknown(function, [counters, rows])
        _stepping[function.__code__] = _Stepping(rows, counters, partners, is_compiled=True)
        return function

    return declare


def exclude(*modules: str) -> None:
    """Ignore frames of these modules and packages from now on: an endless loop there is no progress."""
    _excluded.update(modules)


def set_group_ranks(ranks: Sequence[int]) -> None:
    """Map the partners of steps, ranks of a group from now on, to `ranks` among all."""
    global _group_ranks
    _group_ranks = ranks


def where() -> dict[str, Any]:
    """Return the place of the main thread and its activity, as JSON values.

    `place` is [[function, count of its loop, line], ...] without the call itself; `at` changes with every progress;
    `doing` says it in words; `call` is None outside an all-reduce, else see `_current_step`.
    """
    stack = _stack(sys._current_frames().get(threading.main_thread().ident or 0))
    call = next((frame for frame in stack if frame.f_code in _stepping and _position(frame) is not None), None)
    outside = stack[: stack.index(call) + _stepping[call.f_code].is_compiled] if call else stack
    if call is None and stack and _is_timing(stack[-1]):
        call = stack[-1]
    place = [_place_entry(frame) for frame in outside]
    inner = stack[-1] if stack else None
    step = _current_step(call) if call else None
    return {
        "place": place,
        "at": [*place, -1 if inner is None or _activity(inner).polls else inner.f_lasti, step and step["step"]],
        "doing": _doing_text(outside, inner),
        "call": step,
    }


def _doing_text(outside: Sequence[FrameType], inner: FrameType | None) -> str:
    """Return the declared activity of the innermost of our functions, else its name."""
    activities = [activity.text for activity in map(_activity, outside) if activity.text]
    if activities:
        return activities[-1]
    name = inner.f_code.co_name if inner else "start"
    return "starting" if name.startswith("<") or name == "start" else f"in {name}"


def step_of(error: BaseException) -> str:
    """Return ` in step 3 (to 4, from 2)`: the step of an all-reduce in which `error` was raised;
    empty outside of one.
    """
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in _stepping:
            call = _current_step(trace.tb_frame)
            return f" in step {call['step']} (to {call['dest']}, from {call['source']})" if call["step"] else ""
        trace = trace.tb_next
    return ""


def _refuse_unknown(function: Callable[..., Any], names: Iterable[str]) -> None:
    """Raise NameError for a name that is no variable of `function`."""
    code = function.__code__
    for name in names:
        if name not in {*code.co_varnames, *code.co_cellvars, *code.co_freevars}:
            raise NameError(f"{function.__module__}.{function.__qualname__} has no variable '{name}'")


def _stack(frame: FrameType | None) -> list[FrameType]:
    """Return our own frames, outermost first."""
    frames = []
    while frame is not None:
        if _counts_in_place(frame.f_globals):
            frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _counts_in_place(module_globals: dict[str, Any]) -> bool:
    """Return whether frames with these globals count in a place; `__package__` also covers a module run as a script."""
    package, module = (f"{module_globals.get(name) or ''}." for name in ("__package__", "__name__"))
    if not package.startswith(f"{PACKAGE}.") or module_globals is globals():
        return False
    return not any(module.startswith(f"{excluded}.") for excluded in _excluded)


def _activity(frame: FrameType) -> _Activity:
    return _activities.get(frame.f_code, _Activity())


def _is_timing(frame: FrameType) -> bool:
    """Return whether a timed call is in progress, by the clock variables: the library's own all-reduce has no frame."""
    times = _activity(frame).times
    if times is None:
        return False
    (entry, exit), values = times, frame.f_locals
    return entry in values and (exit not in values or values[entry] > values[exit])


def _position(frame: FrameType) -> int | None:
    """Return the index of the current call or row of a bound all-reduce; None if compiled code is between two."""
    values, stepping_of = frame.f_locals, _stepping[frame.f_code]
    current = values.get(stepping_of.current)
    if not stepping_of.is_compiled:
        return next((i for i, call in enumerate(values.get(stepping_of.calls, ())) if call is current), 0)
    return None if current is None or current[1] < 0 else int(current[1])


def _place_entry(frame: FrameType) -> list:
    if (stepping_of := _stepping.get(frame.f_code)) and stepping_of.is_compiled:
        number, row = frame.f_locals.get(stepping_of.current, (0, -1))
        return [frame.f_code.co_name, int(number), int(row >= 0)]
    activity = _activity(frame)
    count = frame.f_locals.get(activity.counts, 0) if activity.counts else 0
    return [frame.f_code.co_name, count, 0 if activity.polls else frame.f_lineno]


def _current_step(frame: FrameType) -> dict[str, Any]:
    """Describe the step of this rank: its number from 1, its partners, and the messages to and from each rank so far.

    `sent` and `received` count the messages by rank, the current step included: they tell a rank that blocks others
    from those that wait for it. No step is known of the library's own all-reduce.
    """
    partners = _partners(frame)
    so_far = [call for call in partners[: (_position(frame) or 0) + 1] if call] if partners else []
    if not so_far:
        return {"step": 0, "of": 0, "dest": None, "source": None, "sent": {}, "received": {}}
    dest, source = (_rank_among_all(partner) if partner >= 0 else None for partner in so_far[-1][:2])
    return {
        "step": so_far[-1].step or len(so_far),
        "of": max(call.step or number for number, call in enumerate(filter(None, partners), start=1)),
        "dest": dest,
        "source": source,
        "sent": _count_by_rank(call.dest for call in so_far),
        "received": _count_by_rank(call.source for call in so_far),
    }


def _partners(frame: FrameType) -> Sequence[Partners | None]:
    stepping_of, values = _stepping.get(frame.f_code, _Stepping("", "", "")), frame.f_locals
    calls, partners = values.get(stepping_of.calls, ()), stepping_of.partners
    if isinstance(partners, str):
        return values.get(partners, ())
    return partners(calls) if stepping_of.is_compiled else [partners(call) for call in calls]


def _count_by_rank(partners: Iterable[int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for partner in partners:
        if partner >= 0:  # MPI_PROC_NULL is negative
            rank = str(_rank_among_all(partner))
            counts[rank] = counts.get(rank, 0) + 1
    return counts


def _rank_among_all(partner: int) -> int:
    return _group_ranks[partner] if _group_ranks else partner

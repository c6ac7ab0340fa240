"""A profile as a table for people."""

from ..message import say
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_size, format_time
from .profile import CountedAllreduce, Profile

MOST_ROWS = 30  # beyond, the others are counted; the file has all
HEADS = ("size", "ranks", "dtype", "op", "in place", "call", "calls", "gap")
LEFT, LEFT_OUT = (2, 3, 4, 5), (5, 4)  # columns


def profile_lines(profile: Profile, screen: Screen = UNBOUNDED) -> list[str]:
    """Return a row for each kind of all-reduce, those with the most bytes first, and what is missing."""
    shown = profile.allreduces[:MOST_ROWS]
    rows = [list(HEADS), *map(_row, shown)]
    calls = sum(one.calls for one in profile.allreduces)
    lines = wrapped([say("profiling.caption", calls=calls, kinds=_counted(len(profile.allreduces), "kind"))], screen)
    lines += fitted(columns_of(rows, left=LEFT, left_out=LEFT_OUT), screen)
    notes = []
    if hidden := len(profile.allreduces) - len(shown):
        notes.append(say("profiling.more_rows", hidden=hidden))
    if profile.left_out_calls:
        notes.append(say("profiling.left_out", calls=profile.left_out_calls))
    if profile.processes < profile.ranks:
        notes.append(say("profiling.some_ranks", processes=profile.processes, ranks=profile.ranks))
    return [*lines, *wrapped(notes, screen)]


def _row(one: CountedAllreduce) -> list[str]:
    size = "?" if one.nbytes is None else format_size(one.nbytes)
    gap = "-" if one.median_gap_s is None else format_time(one.median_gap_s)
    in_place = "yes" if one.in_place else "no"
    return [size, str(one.ranks), one.dtype, one.op, in_place, one.call, f"{one.calls:,}", gap]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

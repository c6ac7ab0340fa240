"""Options of `run` from a profile: the sizes, the dtype and the operation of a program."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..message import say
from ..runs.dtypes import DTYPES, OPS
from ..units import format_size, printable
from .profile import CountedAllreduce, ProfileError, read_profile

MOST_SIZES = 12  # of a run, which measures each with every algorithm
MOST_NAMED = 6  # sizes, or pairs of dtype and operation, in a sentence
SIZES = {"sizes", "minbytes", "maxbytes", "stepfactor"}  # options that say the sizes


def options_like(path: Path, options: Mapping[str, Any], asked: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the options that a profile decides, of those not `asked` for, and sentences about its choice.

    Raises ProfileError, OSError.
    """
    every = read_profile(path).allreduces
    rows = [one for one in every if one.nbytes and one.dtype in DTYPES and one.op in OPS]
    if not rows:
        raise ProfileError("profiling.nothing_to_measure", path=path, dtypes=", ".join(DTYPES), ops=", ".join(OPS))
    wanted = {name: options[name] for name in ("dtype", "op") if name in asked}
    fitting = [one for one in rows if all(getattr(one, name) == value for name, value in wanted.items())]
    dtype, op = _most_bytes(fitting or rows)
    chosen = [one for one in rows if (one.dtype, one.op) == (dtype, op)]
    decided = {"dtype": dtype, "op": op, **wanted}
    if SIZES & set(asked):
        sizes = kept = []
    else:
        itemsize = DTYPES[decided["dtype"]]
        calls = _calls_by((one.nbytes, one.calls) for one in chosen if (one.nbytes or 0) % itemsize == 0)
        sizes = sorted(calls, key=lambda nbytes: (-calls[nbytes], -nbytes))
        if not sizes:
            raise ProfileError("profiling.no_whole_elements", path=path, dtype=decided["dtype"], itemsize=itemsize)
        kept = sorted(sizes[:MOST_SIZES])
        decided["sizes"] = tuple(kept)
    said = [_choice(path, decided, kept, chosen, every), *_left_out(sizes[MOST_SIZES:], chosen, every)]
    return decided, said


def _most_bytes(rows: Iterable[CountedAllreduce]) -> tuple[str, str]:
    """Return the pair of dtype and operation with the most bytes."""
    return _calls_by(((one.dtype, one.op), one.total_nbytes) for one in rows).most_common(1)[0][0]


def _calls_by(counted: Iterable[tuple[Any, int]]) -> Counter:
    """Return the sums by what is counted."""
    sums: Counter = Counter()
    for key, number in counted:
        sums[key] += number
    return sums


def _choice(
    path: Path,
    decided: Mapping[str, Any],
    sizes: Collection[int],
    chosen: Collection[CountedAllreduce],
    every: Collection[CountedAllreduce],
) -> str:
    """Return what is measured, which share of the calls that is, and how it differs from them."""
    measured = [one for one in chosen if one.nbytes in sizes] if sizes else chosen
    calls = sum(one.calls for one in measured)
    return say(
        "profiling.like",
        path=path,
        sizes=", ".join(map(format_size, sizes)) or say("profiling.sizes_given"),
        dtype=decided["dtype"],
        op=decided["op"],
        share=calls / sum(one.calls for one in every),
        share_of_bytes=sum(one.total_nbytes for one in measured) / sum(one.total_nbytes for one in every),
        ranks=", ".join(map(str, sorted({one.ranks for one in measured}))),
        in_place=sum(one.calls for one in measured if one.in_place) / calls,
    )


def _left_out(
    sizes: Collection[int], chosen: Collection[CountedAllreduce], every: Iterable[CountedAllreduce]
) -> list[str]:
    """Return a sentence about sizes beyond MOST_SIZES, and one about other dtypes and operations, where there are."""
    others = _calls_by((printable(f"{one.dtype} {one.op}"), one.calls) for one in every if one not in chosen)
    said = []
    if sizes:
        said.append(say("profiling.left_out_sizes", count=len(sizes), sizes=_named(map(format_size, sizes))))
    if others:
        said.append(
            say("profiling.left_out_others", others=_named(f"{name} ({n:,})" for name, n in others.most_common()))
        )
    return said


def _named(names: Iterable[str]) -> str:
    first, *rest = [*names]
    return ", ".join([first, *rest][:MOST_NAMED]) + (", ..." if len(rest) >= MOST_NAMED else "")

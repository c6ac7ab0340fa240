"""What the ranks of a run do before they enter a call: a phase of work, and delays that are injected.

`run --compute` gives every rank a phase of work before each call, `--inject-slowdown 5:12%` makes it 12 % longer on
rank 5.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Slowdown(NamedTuple):
    """One rank whose phase of work takes longer."""

    rank: int
    share: float  # of the phase, by which it is longer


def parse_slowdown(text: str) -> str:
    """`text` as it is kept: `5:12%`. Raises ValueError."""
    match = re.fullmatch(r"\s*0*(\d{1,8})\s*:\s*(\d{1,6}(?:\.\d{1,6})?)\s*%\s*", text)
    if not match or not float(match[2]):
        raise ValueError(f"'{text}' is not a slowdown; expected a rank and a share above 0 %, such as 5:12%")
    return f"{match[1]}:{float(match[2]):g}%"


def slowdown_of(word: str) -> Slowdown:
    """The slowdown that `parse_slowdown` wrote."""
    rank, share = word.removesuffix("%").split(":")
    return Slowdown(int(rank), float(share) / 100)


def factor_of(slowdowns: Sequence[str], rank: int) -> float:
    """How many times as long the phase of work of `rank` takes as that of a rank without a slowdown."""
    return 1.0 + sum(slowdown.share for slowdown in map(slowdown_of, slowdowns) if slowdown.rank == rank)


def longest_phase_s(compute_s: float, slowdowns: Sequence[str]) -> float:
    """The phase of work of the slowest rank, seconds."""
    return compute_s * (1 + max((slowdown_of(word).share for word in slowdowns), default=0.0))


def refuse_slowdowns(compute_s: float, slowdowns: Sequence[str], ranks: Sequence[int]) -> None:
    """Raises ValueError where a slowdown has no phase of work, or no such rank in a launch of so many `ranks`."""
    if not slowdowns:
        return
    if not compute_s:
        raise ValueError("--inject-slowdown makes the phase of work longer; add one with --compute, such as 10ms")
    named = [slowdown_of(word).rank for word in slowdowns]
    for size in sorted(ranks):
        if outside := [rank for rank in named if rank >= size]:
            raise ValueError(
                f"--inject-slowdown {outside[0]}: a launch of {size} rank{'s' if size > 1 else ''} has no rank "
                f"{outside[0]}; name one of 0 to {size - 1}, or use more ranks with -n"
            )
    if len({*named}) < len(named):
        raise ValueError("--inject-slowdown names one rank twice; name each rank once")

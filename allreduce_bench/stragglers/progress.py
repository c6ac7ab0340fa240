"""How far the ranks of a group have come in their collective calls, at one moment: who is behind, who is missing.

Counts say who has not entered a call that others wait in. They say nothing of time: not by how much a rank is slower,
and of one moment alone not whether it hangs. A second look tells: whoever has not moved hangs.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from ..runs.typed_json import Natural, one_of

REASONS = NO_RECORD, UNRESPONSIVE, DEAD, NO_MEMBER = "no record", "unresponsive", "dead", "no member"
RankNumbers = tuple[Natural, ...]


class Missing(NamedTuple):
    """A rank of the group of which nothing is known."""

    rank: Annotated[Natural, "its number"]
    why: Annotated[str, one_of(*REASONS), "why"]


class Count(NamedTuple):
    """How many calls of a kind each rank has made."""

    collective: str  # AllReduce; empty: one count for all collective calls of the group
    entered: Mapping[int, int]  # of each rank: the last call that it has entered
    left: Mapping[int, int]  # the last call that it has left; of ranks that say so

    @property
    def behind(self) -> dict[int, int]:
        """Of each rank that has entered fewer calls than another: how many fewer."""
        most = max(self.entered.values(), default=0)
        return {rank: most - count for rank, count in self.entered.items() if count < most}


class Held(NamedTuple):
    """A call that some ranks have entered and not every rank has left."""

    number: Annotated[Natural, "number of the call in its group"]
    collective: Annotated[str, "which it is, such as all_reduce"]
    nbytes: Annotated[Natural | None, "vector of a rank; unit: bytes; null: not known"]
    waiting: Annotated[RankNumbers, "ranks that have entered it and not left"]
    absent: Annotated[RankNumbers, "ranks with a record that have not entered it"]
    started: Annotated[RankNumbers, "of those waiting: where the GPU is known to have begun it"] = ()


class Unlike(NamedTuple):
    """A call in which the ranks do not do the same."""

    number: int
    done: Mapping[str, tuple[int, ...]]  # what is done -> by whom; what most do first


class Progress(NamedTuple):
    """What is known of the ranks of one group."""

    path: str  # where it is from: the first file
    kind: str  # what that is
    group: str
    members: tuple[int, ...]
    hosts: Mapping[int, str]  # of each rank, where it is known
    counts: tuple[Count, ...]
    missing: tuple[Missing, ...] = ()
    held: tuple[Held, ...] = ()  # the earliest first
    unlike: tuple[Unlike, ...] = ()  # the earliest first
    failed: Mapping[int, str] = {}  # of each rank that says so: its error

    @property
    def behind(self) -> dict[int, int]:
        """Of each rank that is behind in some kind of call: by how many calls at most."""
        most: dict[int, int] = {}
        for count in self.counts:
            for rank, fewer in count.behind.items():
                most[rank] = max(fewer, most.get(rank, 0))
        return most

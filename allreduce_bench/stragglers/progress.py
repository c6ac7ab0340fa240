"""Progress of the ranks of a group in their collective calls, at one moment: who is behind, who is missing.

Counts show who has not entered a call that others wait in. They say nothing of time: not by how much a rank is slower,
nor, from one moment, whether it hangs. A second record shows that: a rank that has not moved hangs.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from ..runs.typed_json import Natural, one_of

REASONS = NO_RECORD, UNRESPONSIVE, DEAD, NO_MEMBER = "no record", "unresponsive", "dead", "no member"
RankNumbers = tuple[Natural, ...]


class Missing(NamedTuple):
    """A rank of the group without any record."""

    rank: Annotated[Natural, "its number"]
    why: Annotated[str, one_of(*REASONS), "why"]


class Count(NamedTuple):
    """The number of calls of a kind that each rank has made."""

    collective: str  # AllReduce; empty: one count for all collective calls of the group
    entered: Mapping[int, int]  # of each rank: the last call that it has entered
    left: Mapping[int, int]  # the last call that it has left; of ranks that say so

    @property
    def behind(self) -> dict[int, int]:
        """Rank -> number of calls that it is behind the first."""
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
    """A call in which ranks differ."""

    number: int
    done: Mapping[str, tuple[int, ...]]  # what is done -> by whom; what most do first


class Progress(NamedTuple):
    """The state of the ranks of one group."""

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
        """Rank -> the most calls by which it is behind in any kind of call."""
        most: dict[int, int] = {}
        for count in self.counts:
            for rank, fewer in count.behind.items():
                most[rank] = max(fewer, most.get(rank, 0))
        return most

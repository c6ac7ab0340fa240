"""What `sinfo` prints of partitions, read: pure text in, values out. Tried with Slurm 22.05."""

from typing import NamedTuple

from .nodelist import expand

SINFO_FORMAT = "%P|%a|%l|%s|%D|%T|%N"  # what of_sinfo reads: a line for each state in each partition


class Partition(NamedTuple):
    """What Slurm says of one partition."""

    name: str
    default: bool
    available: str  # in Slurm's words: up, down, drain, inact
    limit: str  # of a job's time, in Slurm's words: 1-00:00:00, infinite
    sizes: str  # nodes of a job, in Slurm's words: 1-infinite, 1-4
    states: dict[str, list[str]]  # state, in Slurm's words (idle, mixed, down*, ...) -> its nodes

    @property
    def nodes(self) -> list[str]:
        """All of them, those that are down included."""
        return [name for names in self.states.values() for name in names]


def of_sinfo(text: str) -> list[Partition]:
    """The partitions that `sinfo --noheader --format SINFO_FORMAT` printed. Raises ValueError for odd nodes."""
    found: dict[str, Partition] = {}
    for line in text.splitlines():
        words = line.split("|")
        if len(words) != 7:
            continue
        name, available, limit, sizes, _, state, nodes = words
        one = found.setdefault(name, Partition(name.rstrip("*"), name.endswith("*"), available, limit, sizes, {}))
        one.states.setdefault(state, []).extend(expand(nodes))
    return list(found.values())

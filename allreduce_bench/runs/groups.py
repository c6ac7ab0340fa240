"""Groups of ranks that all-reduce among themselves at the same time, as `--groups` defines them.

`2` makes two groups of consecutive ranks; `div:8` groups of 8 consecutive ranks, as tensor-parallel ranks are laid out;
`mod:8` 8 groups of every 8th rank, as data-parallel ones are. The words are those of nccl-tests' NCCL_TESTS_SPLIT.
"""

import re

Groups = tuple[tuple[int, ...], ...]  # the ranks of each group


def parse_groups(text: str) -> str:
    """Normalise `text` for the plan: `2`, `div:8` or `mod:8`; empty: none. Raises ValueError."""
    if not text:
        return ""
    match = re.fullmatch(r"(?:(div|mod):)?0*([1-9]\d{0,6})", text.strip().lower())
    if not match:
        raise ValueError(f"'{text}' is not a grouping; expected a number of groups such as 2, or div:8 or mod:8")
    return f"{match[1]}:{match[2]}" if match[1] else match[2]


def groups_of(groups: str, size: int) -> Groups:
    """Return the ranks of each group, ascending, the group of rank 0 first; without `groups` one of all `size` ranks.

    Raises ValueError for a single group, groups of one rank, or groups of different sizes, which have no common bus
    bandwidth.
    """
    if not groups:
        return (tuple(range(size)),)
    kind, _, number = groups.rpartition(":")
    n = int(number)
    colour = {"mod": lambda rank: rank % n, "div": lambda rank: rank // n, "": lambda rank: rank * n // size}[kind]
    members: dict[int, list[int]] = {}
    for rank in range(size):
        members.setdefault(colour(rank), []).append(rank)
    sizes = sorted({len(ranks) for ranks in members.values()})
    if len(members) == 1:
        raise ValueError(f"--groups {groups} makes a single group of {size} ranks; use more ranks, or leave it out")
    if sizes == [1]:
        raise ValueError(f"--groups {groups} makes groups of one rank out of {size}; use more ranks or fewer groups")
    if len(sizes) > 1:
        raise ValueError(
            f"--groups {groups} makes unequal groups, of {sizes[0]} and {sizes[-1]} ranks, out of {size}; use a "
            "number of ranks that it divides"
        )
    return tuple(map(tuple, members.values()))


def describe(groups: str, size: int) -> str:
    """Format as `2 groups of 4 ranks (div:4)`. Raises as `groups_of`."""
    members = groups_of(groups, size)
    return f"{len(members)} groups of {len(members[0])} ranks ({groups if ':' in groups else 'consecutive'})"

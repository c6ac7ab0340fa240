"""What a setting changes: the answers of one launch, and of the same launch without the setting.

An answer is the names that fit what was seen at a size: one, several where the evidence leaves it open, or none.
`settings.without` gives the environment and the command of the second launch.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..identifying.evidence import BETWEEN, either
from ..units import format_size

HAN = "han"  # names of what han composed begin so: `han: ring in node, recursive_doubling between`
MOST_NAMED = 3  # in a table
SAME, OTHER, OPEN = "same", "other", "open"  # one name fits both; no name does; some may

Names = Sequence[str]


class Difference(NamedTuple):
    """The answers at one size."""

    kind: str  # SAME, OTHER or OPEN
    with_it: tuple[str, ...]
    without_it: tuple[str, ...]


class Effect(NamedTuple):
    """The answers at all sizes that both launches have."""

    at: Mapping[int, Difference]  # size in bytes -> difference

    @property
    def is_none(self) -> bool:
        """Whether the same one ran at all sizes."""
        return all(difference.kind == SAME for difference in self.at.values())

    @property
    def is_in_han(self) -> bool:
        """Whether han ran at all sizes, with the setting and without it."""
        names = [name for difference in self.at.values() for name in (*difference.with_it, *difference.without_it)]
        return bool(names) and all(name.startswith(HAN) for name in names)


def effect(with_it: Mapping[int, Names], without_it: Mapping[int, Names]) -> Effect:
    """Compare the answers of two launches, as size in bytes -> names."""
    sizes = sorted(set(with_it) & set(without_it))
    return Effect({size_bytes: _difference(with_it[size_bytes], without_it[size_bytes]) for size_bytes in sizes})


def _difference(with_it: Names, without_it: Names) -> Difference:
    one, other = set(with_it), set(without_it)
    kind = OPEN if one & other or not one or not other else OTHER  # of several that fit, each may have run
    return Difference(SAME if one == other and len(one) == 1 else kind, tuple(with_it), tuple(without_it))


def without_words(difference: Difference) -> str:
    """Return what ran without the setting, for a table: `unchanged`, a name, or that it cannot be told."""
    if difference.kind == SAME:
        return "unchanged"
    return "cannot tell" if difference.kind == OPEN else names_words(difference.without_it)


def sentence(effect: Effect, is_below_han: bool = False) -> str:
    """Return the effect in a few words: `unchanged`, or from which size on what became what.

    A setting of what han calls acts only in its parts, if han ran.
    """
    words = _sentence(effect)
    return f"only inside han's sub-communicators: {words}" if is_below_han and effect.is_in_han else words


def _sentence(effect: Effect) -> str:
    if effect.is_none:
        return "unchanged"
    changes: list[tuple[int, str]] = []  # where one begins
    for size_bytes, difference in effect.at.items():
        change = _change(difference)
        if not changes or changes[-1][1] != change:
            changes.append((size_bytes, change))
    if len(changes) == 1:
        return changes[0][1]
    return "; ".join(f"from {format_size(size_bytes)} {change}" for size_bytes, change in changes)


def _change(difference: Difference) -> str:
    if difference.kind != OTHER:
        return without_words(difference)
    was, now = names_words(difference.without_it), names_words(difference.with_it)
    one, other = BETWEEN.fullmatch(was), BETWEEN.fullmatch(now)
    if one and other and one[1] == other[1]:
        return f"between nodes {one[2]} -> {other[2]}"
    return f"{was} -> {now}"


def names_words(names: Names) -> str:
    """Return what may have run, for a table: `ring or segmented_ring`, `unknown`; of many the first and a count."""
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[: MOST_NAMED - 1])} or {len(names) - MOST_NAMED + 1} more"
    return either(names) if names else "unknown"

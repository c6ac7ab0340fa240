"""With which cache times were measured, where that must be chosen or said: warm is the usual one, cold the other."""

from collections.abc import Collection

WARM, COLD = "warm", "cold"


def preferred_cache(caches: Collection[str]) -> str:
    """Of those measured the one that is looked at where one is enough: warm where that was measured."""
    return WARM if WARM in caches else COLD


def cache_label(cache: str) -> str:
    """`cold`; empty for the usual one."""
    return COLD if cache == COLD else ""

"""What a merged run says of its sources."""

from collections.abc import Sequence
from typing import Any

from .folder import RunFolder
from .rows import RunError


def merged_sources(folder: RunFolder) -> list[dict[str, Any]]:
    """Of a merged run its sources: name, sha256, seed and {their launch: ours}; of any other none. Raises RunError."""
    merged = folder.open().get("merged", [])
    kinds = {"name": str, "sha256": str, "seed": int, "launches": dict}
    if isinstance(merged, list) and all(
        isinstance(source, dict) and all(type(source.get(key)) is kind for key, kind in kinds.items())
        for source in merged
    ):
        return merged
    raise RunError(f"{folder.run_json}: damaged: merged is {merged!r:.60}")


def merged_sources_sentence(merged: Sequence[dict[str, Any]]) -> str:
    """`a (sha256 0123456789abcdef, seed 1); b (sha256 ..., seed 2, 8r-1 as 8r-6)` of what `merged_sources` gave."""
    descriptions = []
    for source in merged:
        renamed = [f"{old} as {new}" for old, new in source["launches"].items() if old != new]
        details = [f"sha256 {source['sha256'][:16]}", f"seed {source['seed']}", *renamed]
        descriptions.append(f"{source['name']} ({', '.join(details)})")
    return "; ".join([*descriptions, "the cells are in the order of the seed and the launch of each source"])

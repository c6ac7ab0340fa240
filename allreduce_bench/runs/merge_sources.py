"""What a merged run says of its sources."""

from collections.abc import Sequence
from typing import Any

from .folder import RunFolder
from .rows import RunError


def sources(folder: RunFolder) -> list[dict[str, Any]]:
    """Of a merged run its sources: name, sha256, seed and {their launch: ours}; of any other none. Raises RunError."""
    found = folder.open().get("merged", [])
    known = {"name": str, "sha256": str, "seed": int, "launches": dict}
    if isinstance(found, list) and all(
        isinstance(one, dict) and all(type(one.get(key)) is kind for key, kind in known.items()) for one in found
    ):
        return found
    raise RunError(f"{folder.run_json}: damaged: merged is {found!r:.60}")


def sources_sentence(found: Sequence[dict[str, Any]]) -> str:
    """`a (sha256 0123456789abcdef, seed 1); b (sha256 ..., seed 2, 8r-1 as 8r-6); ...` of what `sources` gave."""
    words = []
    for source in found:
        renamed = [f"{old} as {new}" for old, new in source["launches"].items() if old != new]
        said = [f"sha256 {source['sha256'][:16]}", f"seed {source['seed']}", *renamed]
        words.append(f"{source['name']} ({', '.join(said)})")
    return "; ".join([*words, "the order of cells is that of each source's own seed and launch"])

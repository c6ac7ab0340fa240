"""Sentences about the times of a single algorithm: latency, peak bandwidth, and how two logs or rank counts differ."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..evaluation.rounds import NEGLIGIBLE
from ..evaluation.single_algorithm import Contrast, Performance, contrasts, directions_words
from ..evaluation.summary_row import SummaryRow
from ..units import format_size, format_time, printable, three_digits

MOST_OF_LATENCY = 4096  # bytes: the time of a larger size is mostly bandwidth, not latency


def performance_words(found: Performance) -> str:
    """Return `latency 17.9 us at 8 B, peak bus bandwidth 123 GB/s at 128 MiB`."""
    time = f"{format_time(found.latency_s)} at {format_size(found.latency_nbytes)}"
    latency = f"latency {time}" if found.latency_nbytes <= MOST_OF_LATENCY else time
    rate = f"{three_digits(found.peak_busbw_bytes_per_s / 1e9)} GB/s"
    some = f" (of {found.ranked} of {found.sizes} sizes: times of the others are not ranked)"
    beside = some if found.ranked < found.sizes else ""
    return f"{latency}, peak bus bandwidth {rate} at {format_size(found.peak_nbytes)}{beside}"


def contrast_sentences(rows: Sequence[SummaryRow], attempts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each contrast of the rows; `attempts`: the facts of the launches."""
    return list(map(_contrast_sentence, contrasts(rows, sources_of(attempts))))


def _contrast_sentence(contrast: Contrast) -> str:
    """Return `new.log compared with old.log: 25 of 25 slower, 1.6 to 25 times (most: 32 MiB); no interval`."""
    words = directions_words(contrast.directions, NEGLIGIBLE - 1)
    return f"{contrast.other} compared with {contrast.base}: {words}; no interval"


def sources_of(attempts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return launch -> name of its log, of an imported run; if logs share names, what identifies the launch."""
    sources = {fact["launch"]: fact["source"] for fact in attempts if fact.get("source")}
    names = {launch: Path(str(source["files"][0])).name for launch, source in sources.items() if source.get("files")}
    if len(set(names.values())) < len(sources):
        names = {launch: str(source["launch"]) for launch, source in sources.items()}
    return {launch: printable(name) for launch, name in names.items()}

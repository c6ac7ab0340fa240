"""The traffic on the networks, as a sentence."""

from collections.abc import Iterable, Mapping

from ..machine.interfaces import parse_traffic, total_traffic
from ..units import format_size

LARGE = 1024**2  # bytes of a vector: below, other traffic distorts the counters too much


def sentence(rows: Iterable[Mapping]) -> str | None:
    """Which networks carried the schedules' bytes, from summary rows of one rank count; None where not counted.

    Only rows of known schedules and of at least LARGE bytes count. What bypasses the kernel has no counter here: bytes
    that no interface carried are said to be not counted, not to be 0.
    """
    counted = [
        row for row in rows if row.get("wire") and row.get("internode_nbytes") is not None and row["nbytes"] >= LARGE
    ]
    required, counts = (
        sum(row["internode_nbytes"] for row in counted),
        total_traffic(parse_traffic(row["wire"]) for row in counted),
    )
    if not counted:
        return None
    if required and _ratio_text(sum(counts.values()) / required) == "0":
        names = ", ".join(name for name, _ in _busiest(counts))
        return f"network traffic at {format_size(LARGE)} and above: not counted by {names}, which carried none of it"
    if required:
        shares = ", ".join(f"{_ratio_text(nbytes / required)} on {name}" for name, nbytes in _busiest(counts))
        return (
            f"network traffic at {format_size(LARGE)} and above, relative to the schedules' inter-node bytes: {shares}"
        )
    moved = sum(row["nbytes"] for row in counted)
    used = ", ".join(f"{_ratio_text(nbytes / moved)} the vector size on {name}" for name, nbytes in _busiest(counts))
    busy = [name for name, nbytes in counts.items() if nbytes > 0.01 * moved]
    if not busy:
        return f"no network traffic at {format_size(LARGE)} and above: one node, shared memory"
    return f"one node, but with network traffic at {format_size(LARGE)} and above: {used}"


def _busiest(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _ratio_text(ratio: float) -> str:
    return "0" if ratio < 0.005 else f"{ratio:.2f} x"

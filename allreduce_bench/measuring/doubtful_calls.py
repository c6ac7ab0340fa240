"""Why calls of a cell are not valid, and what a reader must know of how they were timed."""

from ..machine import finding
from ..units import format_ranges


def why_unusable(backwards_ranks: list[int], unsteady: list[int], is_completion: bool) -> str:
    """Why no timed call is valid; `is_completion`: their time needs a common clock."""
    if is_completion and unsteady and not backwards_ranks:
        return f"no call is valid: {_ranks(unsteady)} had no common clock, and a completion is told by nothing else"
    cause = f"the clock of {_ranks(backwards_ranks)} ran backwards" if backwards_ranks else "every call had a late rank"
    return f"no call is valid: {cause}"


def findings(unsteady: list[int], backwards: list[int], fell_back: bool, odd_ratio: float | None = None) -> list[dict]:
    """What a reader must know of how the calls of a cell were timed.

    `odd_ratio`: the time of calls that were looked at over that of others, where these differ.
    """
    found = []
    if odd_ratio is not None:
        found.append(
            finding(
                "looks",
                "severe",
                f"calls whose result was looked at took their quickest rank {odd_ratio:.2f} times as long as others"
                " in some cells",
                "looking comes after the call and cannot change that: something does less work where nobody looks",
                "measure again with another --seed; if it stays, report the MPI library's version",
            )
        )
    if backwards:
        found.append(
            finding(
                "clock",
                "severe",
                f"the clock of {_ranks(backwards)} ran backwards",
                "the affected calls are marked as invalid and excluded from all statistics",
                "check the clock source of that node, and exclude the node",
            )
        )
    if unsteady:
        found.append(
            finding(
                "clock",
                "caution",
                f"the clock of {_ranks(unsteady)} has no linear relation to that of rank 0 in some cells",
                "completion and arrival skew are unknown there; time_s needs no common clock and is correct",
                "check whether a time daemon steps the clocks during the measurement",
            )
        )
    if fell_back:
        found.append(
            finding(
                "sync",
                "caution",
                "in some cells no call started on time, so they fell back to a barrier",
                "their timing method differs from that of other cells, see time_definition",
                "measure with --sync barrier, or on an idle machine",
            )
        )
    return found


def _ranks(ranks: list[int]) -> str:
    """`rank 3`, or `ranks 0-2, 5`."""
    return f"rank{'s' if len(ranks) > 1 else ''} {format_ranges(ranks)}"

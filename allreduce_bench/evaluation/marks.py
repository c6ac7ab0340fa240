"""The marks of a cell, a row of CELLS for each launch that ended it, as columns of the summary.

Pure; standard library only.
"""

from collections.abc import Iterable, Sequence
from typing import cast

from ..machine.traffic import format_traffic, parse_traffic
from ..runs.rows import Row
from ..runs.schema import FINAL, QUANTILES_OF_LOGS, join_values
from ..stats import median
from .summary_row import Accident, SummaryRow

DESCRIBED = (  # columns of a mark that one launch tells of a cell and of its schedule: whole numbers
    *("nodes", "nodes_declared", "internode_nbytes", "node_nbytes", "received_nbytes", "reduced_nbytes"),
    *("path_messages", "path_nbytes", "path_reduced_nbytes"),
)


def outcome(marks: Sequence[Row]) -> SummaryRow:
    """Return how the cell ended: as in a launch that did it, else as in the last one; unless a check failed.

    Without marks only `accidents`: none.
    """
    row: SummaryRow = {
        "accidents": [Accident(mark["launch"], mark["reason"]) for mark in _marks_in_state(marks, "hung")]
    }
    if not marks:
        return row
    row |= _described_columns((_marks_in_state(marks, "done") or marks[-1:])[0])
    wrong = [int(mark["wrong"]) for mark in marks if mark["wrong"]]
    checks = [int(mark["checks"]) for mark in marks if mark["checks"]]
    row |= {"wire": _median_wire(marks), "wrong": sum(wrong) if wrong else None}
    row["checks"] = sum(checks) if checks else None
    row |= _bit_columns(marks)
    if failed := _marks_in_state(marks, *FINAL):
        row |= {"state": failed[0]["state"], "reason": failed[0]["reason"] or f"{failed[0]['wrong']} wrong elements"}
    return row


def _described_columns(mark: Row) -> SummaryRow:
    """Return the report of one launch on the cell and on its schedule."""
    words = {"state": mark["state"], "reason": mark["reason"] or None, "run_whole": mark.get("run_whole") or None}
    row = cast("SummaryRow", words | {name: _whole_or_none(mark[name]) for name in DESCRIBED})
    if size_bytes := _whole_or_none(mark["size_bytes"]):  # an imported type may have an unknown size
        row["size_bytes"] = size_bytes
    return row


def _median_wire(marks: Sequence[Row]) -> str | None:
    """Return the median count of every interface over the launches that have it."""
    counts = [parse_traffic(mark["wire"]) for mark in _marks_in_state(marks, "done")]
    names = {name for count in counts for name in count}
    middle = {name: round(median([count[name] for count in counts if name in count])) for name in names}
    return format_traffic(middle) or None


def _bit_columns(marks: Sequence[Row]) -> SummaryRow:
    """Return the bits over all launches: an equality holds if no launch contradicts it.

    `schedules` is the number of schedules that they ran.
    """

    def whole_values(name: str) -> list[int]:
        return [int(mark[name]) for mark in marks if mark[name]]

    fingerprints = [mark["bits"] for mark in marks if mark["bits"]]
    row: SummaryRow = {
        "same_bits": min(whole_values("same_bits"), default=None),
        "same_bits_calls": min(whole_values("same_bits_calls"), default=None),
        "same_bits_launches": int(len(set(fingerprints)) == 1) if len(fingerprints) > 1 else None,
        "promised_same_bits": min(whole_values("promised_same_bits"), default=None),
        "promised_rank_order": min(whole_values("promised_rank_order"), default=None),
        "promised_depth": max(whole_values("promised_depth"), default=None),
        "schedules": len({mark["schedule_digest"] for mark in marks if mark["bits"]}),
    }
    stable = 0 not in (row["same_bits"], row["same_bits_calls"], row["same_bits_launches"])
    row["bits"] = fingerprints[0] if fingerprints and stable else None
    return row


def statistics(marks: Sequence[Row]) -> SummaryRow:
    """Return the reports of the launches that measured the cell on its calls."""
    done = _marks_in_state(marks, "done")
    energies_j = _real_values(done, "energy_j")
    row: SummaryRow = {
        "stopped": _joined(done, "stopped"),
        "start": _joined(done, "start"),
        "imb_t_max_s": known_median(_real_values(done, "imb_t_max_s")),
        "nccl_tests_s": known_median(_real_values(done, "nccl_tests_s")),
        "energy_j": known_median(energies_j),
        "energy_low_j": min(energies_j, default=None),
        "energy_high_j": max(energies_j, default=None),
        "energy_idle_share": known_median(_real_values(done, "energy_idle_share")),
        "energy_counters": _joined(done, "energy_counters"),
        "clock_error_s": max(_real_values(done, "clock_error_s"), default=None),
        "late_by_s": known_median(_real_values(done, "late_by_s")),
    }
    for name in QUANTILES_OF_LOGS:
        if (value := known_median(_real_values(done, name))) is not None:
            row[name] = value
    return row


def known_median(values: Iterable[float | None]) -> float | None:
    """Return the median of the known values; None: there are none."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _joined(marks: Iterable[Row], name: str) -> str | None:
    return join_values(sorted({mark[name] for mark in marks if mark[name]})) or None


def _marks_in_state(marks: Iterable[Row], *states: str) -> list[Row]:
    return [mark for mark in marks if mark["state"] in states]


def _real_values(marks: Iterable[Row], name: str) -> list[float]:
    return [float(mark[name]) for mark in marks if mark[name]]


def _whole_or_none(text: str) -> int | None:
    return int(text) if text else None

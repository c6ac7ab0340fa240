"""Times below their limit, which links, latency or local work set, and likely causes: findings as text."""

from collections.abc import Sequence

from ..evaluation.competitors import competing
from ..evaluation.limits import LATENCY, LIMITS, LINKS, LOCAL, passes_limit, refutes_limit
from ..evaluation.summary_row import SummaryRow, time_of
from ..machine import finding
from ..units import three_digits
from .caveat import cells_text

CODE = "limit"
FASTER = {  # what sets the limit -> what a shorter time is faster than
    LINKS: "the link allows",
    LATENCY: "the measured latency between nodes allows",
    LOCAL: "local work allows (the reference times of copy and reduction)",
}
CAUSES = {
    LINKS: "likely causes: the stated rate is wrong; the bytes took another path (several links, shared memory); "
    "the last bytes were still in kernel buffers when the calls returned",
    LATENCY: "likely causes: the clocks were compared while the network was busy",
    LOCAL: "likely causes: the reference times were disturbed; this all-reduce reduces in a "
    "faster way, or more than two vectors at once",
}
ADVICE = {
    LINKS: "give the total rate of all links of a node (--link-rate), check which networks carried the bytes, and "
    "measure larger vectors, for which buffers matter less",
    LATENCY: "measure again on quiet nodes",
    LOCAL: "measure again on a quiet machine; if it happens again, this limit does not hold for this all-reduce",
}


def limit_findings(rows: Sequence[SummaryRow]) -> list[dict]:
    """A finding, as `machine.finding` makes them, and its `ranks`, for every number of ranks and every kind of limit
    with such times.
    """
    findings = []
    for ranks in sorted({row["ranks"] for row in rows}):
        passing = [row for row in competing(rows) if row["ranks"] == ranks and passes_limit(row)]
        for kind in LIMITS:
            if of_kind := [row for row in passing if row["limit_by"] == kind]:
                findings.append({"ranks": ranks, **_finding(kind, of_kind)})
    return findings


def faster_than(row: SummaryRow) -> str:
    """`faster than the link allows (hsn0, 40 Gbit/s from --link-rate)`, of a row whose time is below its limit."""
    kind = row.get("limit_by") or LINKS
    return f"faster than {FASTER[kind]}" + (f" ({row.get('link')})" if kind == LINKS else "")


def _finding(kind: str, passing: Sequence[SummaryRow]) -> dict:
    """The finding about rows of one number of ranks; all have times below the limit, and there is at least one."""
    most = max((row["limit_s"] or 0.0) / time_of(row) for row in passing)
    cells = cells_text(passing)
    text = f"{faster_than(passing[0])}, up to {three_digits(most)} times: {cells}"
    refuting = [row for row in passing if refutes_limit(row)]
    said = "the intervals contain the limit, so this may be noise"
    if refuting:
        whose = "the intervals" if len(refuting) == len(passing) else f"the intervals of {cells_text(refuting)}"
        figures = "the rate is" if kind == LINKS else "its figures are"
        said = f"{whose} exclude the limit; if {figures} wrong, the other shares of the limit are wrong too"
    effect = f"no share of the limit is given above 100 %; {said}; {CAUSES[kind]}"
    return finding(CODE, "caution", text, effect, ADVICE[kind])

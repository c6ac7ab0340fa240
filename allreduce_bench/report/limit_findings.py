"""Times below what the known rate of the links between the nodes allows, and likely causes: findings as text."""

from collections.abc import Sequence

from ..evaluation.competitors import competing
from ..evaluation.link_limit import passes_limit, refutes_limit
from ..evaluation.summary_row import SummaryRow, time_of
from ..machine import finding
from ..units import three_digits
from .caveat import cells_text

CODE = "limit"
CAUSES = (
    "likely causes: the stated rate is wrong; the bytes took another path (several links, shared memory); "
    "the last bytes were still in kernel buffers when the calls returned"
)
ADVICE = (
    "give the total rate of all links of a node (--link-rate), check which networks carried the bytes, and measure "
    "larger vectors, for which buffers matter less"
)


def limit_findings(rows: Sequence[SummaryRow]) -> list[dict]:
    """A finding, as `machine.finding` makes them, and its `ranks`, for every number of ranks with such times."""
    findings = []
    for ranks in sorted({row["ranks"] for row in rows}):
        passing = [row for row in competing(rows) if row["ranks"] == ranks and passes_limit(row)]
        if passing:
            findings.append({"ranks": ranks, **_finding(passing)})
    return findings


def _finding(passing: Sequence[SummaryRow]) -> dict:
    """The finding about rows of one number of ranks; all have times below the limit, and there is at least one."""
    most = max((row["limit_s"] or 0.0) / time_of(row) for row in passing)
    link, cells = passing[0].get("link"), cells_text(passing)
    text = f"faster than the link allows ({link}), up to {three_digits(most)} times: {cells}"
    refuting = [row for row in passing if refutes_limit(row)]
    said = "the intervals contain the limit, so this may be noise"
    if refuting:
        whose = "the intervals" if len(refuting) == len(passing) else f"the intervals of {cells_text(refuting)}"
        said = f"{whose} exclude the limit; if the rate is wrong, the other shares of the limit are wrong too"
    return finding(CODE, "caution", text, f"no share of the limit is given above 100 %; {said}; {CAUSES}", ADVICE)

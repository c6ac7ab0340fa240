"""Times below what the links between the nodes are said to allow, and what that may come from: findings in words."""

from collections.abc import Sequence

from ..evaluation.competitors import competing
from ..evaluation.link_limit import passes_limit, refutes_limit
from ..evaluation.summary_row import SummaryRow, time_of
from ..machine.finding import finding
from ..units import three_digits
from .caveat import cells_text

CODE = "limit"
CAUSES = (
    "likely causes: the rate is not that of the links; the bytes took another path (several links, shared memory); "
    "buffers in the kernel still held the last bytes when the calls returned"
)
ADVICE = (
    "state the rate of all links of a node together (--link-rate), see which networks carried the bytes, and measure "
    "larger vectors, of which buffers hold a smaller part"
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
    """Of the rows of one number of ranks whose times are below the limit, of which there is one."""
    most = max((row["limit_s"] or 0.0) / time_of(row) for row in passing)
    text = f"faster than {passing[0].get('link')}, allows (up to {three_digits(most)} times): {cells_text(passing)}"
    refuting = [row for row in passing if refutes_limit(row)]
    said = "their intervals hold it, so that it may be noise"
    if refuting:
        whose = "their intervals" if len(refuting) == len(passing) else f"the intervals of {cells_text(refuting)}"
        said = f"{whose} refute it, and where the rate is wrong, so are the other shares"
    return finding(CODE, "caution", text, f"above 100 % there is no share of the limit; {said}; {CAUSES}", ADVICE)

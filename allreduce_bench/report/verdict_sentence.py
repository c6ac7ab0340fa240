"""A verdict in a sentence."""

from ..evaluation.verdict import SPLIT, TIE, UNMEASURED, Span, Verdict
from ..units import format_size, format_time, three_digits


def sentence(verdict: Verdict) -> str:
    """`ring, on average 2.00 times faster than native, 10.0 us at 4 KiB`."""
    lead, rest = emphasis(verdict)
    return lead + rest


def emphasis(verdict: Verdict) -> tuple[str, str]:
    """The sentence as the words that a page sets in bold, which may be none, and the rest."""
    if verdict.kind == UNMEASURED:
        return "", "no algorithm was measured at every size"
    if verdict.kind == SPLIT:
        return "no single winner", f": {', '.join(map(_span, verdict.spans))}"
    where = f"{format_time(verdict.time_s)} at {format_size(verdict.nbytes)}"
    note = f" ({', '.join(verdict.absent)} not measured at every size)" if verdict.absent else ""
    if verdict.kind == TIE:
        rivals = ", ".join(name for name in (verdict.winner, *verdict.near) if name != "native")
        return "no clear winner", f" among native, {rivals}; {verdict.winner} takes {where}{note}"
    factor = f"{'on average ' if verdict.size_count > 1 else ''}{three_digits(verdict.factor)} times"
    if verdict.winner == "native":
        slower = f"; {verdict.rival} comes next, {factor} slower" if verdict.rival else ""
        return "native", f", the library's own, {where}{slower}{note}"
    tie = f" (as fast: {', '.join(verdict.near)})" if verdict.near else ""
    faster = f", {factor} faster than {verdict.rival}" if verdict.rival else ""
    return verdict.winner, f"{tie}{faster}, {where}{note}"


def _span(span: Span) -> str:
    """`native at 8 B`, `tree from 32 B to 4 KiB`."""
    if span.low == span.high:
        return f"{span.algorithm} at {format_size(span.low)}"
    return f"{span.algorithm} from {format_size(span.low)} to {format_size(span.high)}"

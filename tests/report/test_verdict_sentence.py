"""Verdicts in sentences."""

import pytest

from allreduce_bench.evaluation.verdict import SPLIT, TIE, UNMEASURED, WON, Span, Verdict
from allreduce_bench.report import verdict_sentence


@pytest.mark.parametrize(
    "verdict, lead, rest",
    [
        (Verdict(4, "x", UNMEASURED), "", "no algorithm was measured at every size"),
        (
            Verdict(4, "x", SPLIT, spans=(Span("native", 8, 8), Span("ring", 64, 4096))),
            "no single winner",
            ": native at 8 B, ring from 64 B to 4 KiB",
        ),
        (
            Verdict(4, "x", TIE, "native", ("ring",), "ring", 1.01, 1, 8, 1e-5),
            "no clear winner",
            " among native, ring; native takes 10.0 us at 8 B",
        ),
        (
            Verdict(4, "x", WON, "native", (), "ring", 1.5, 2, 64, 1e-5, absent=("tree",)),
            "native",
            ", the library's own, 10.0 us at 64 B; ring comes next, on average 1.50 times slower"
            " (tree not measured at every size)",
        ),
        (
            Verdict(4, "x", WON, "ring", ("tree",), "native", 3.0, 1, 64, 1e-5),
            "ring",
            " (as fast: tree), 3.00 times faster than native, 10.0 us at 64 B",
        ),
        (Verdict(4, "x", WON, "ring", nbytes=64, time_s=1e-5), "ring", ", 10.0 us at 64 B"),
    ],
)
def test_a_sentence_is_made_of_the_facts(verdict, lead, rest):
    assert verdict_sentence.emphasis(verdict) == (lead, rest)
    assert verdict_sentence.sentence(verdict) == lead + rest

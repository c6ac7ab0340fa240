"""What is said of calls that are not valid, or were timed otherwise than others."""

from allreduce_bench.measuring.calls import findings, why_unusable


def test_why_no_call_is_valid():
    assert why_unusable([1, 2], [1, 2], True) == "no call is valid: the clock of ranks 1-2 ran backwards"
    assert why_unusable([], [3], False) == "no call is valid: every call had a late rank"
    assert why_unusable([], [3], True).startswith("no call is valid: rank 3 had no common clock")


def test_what_a_reader_must_know():
    assert findings([], [], False) == []
    assert [found["level"] for found in findings([1], [2], True)] == ["severe", "caution", "caution"]
    assert "rank 2 ran backwards" in findings([], [2], False)[0]["text"]

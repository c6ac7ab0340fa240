"""What is said of calls that are not valid, or were timed otherwise than others."""

from allreduce_bench.measuring.calls import findings, why_unusable


def test_why_no_call_is_valid():
    backwards, late, apart = (
        why_unusable([1, 2], [1, 2], True),
        why_unusable([], [3], False),
        why_unusable([], [3], True),
    )
    assert len({why.partition(": ")[0] for why in (backwards, late, apart)}) == 1
    assert "clock" in backwards and backwards.endswith(" ranks 1-2 ran backwards")
    assert late.endswith(" a late rank") and "clock" not in late
    assert apart.partition(": ")[2].startswith("rank 3 had no ") and "no common clock" in apart


def test_what_a_reader_must_know():
    assert findings([], [], False) == []
    assert [found["level"] for found in findings([1], [2], True)] == ["severe", "caution", "caution"]
    assert "rank 2 ran backwards" in findings([], [2], False)[0]["text"]

"""Two runs whose launches alternated are judged by rounds."""

import pytest

from allreduce_bench.comparison.rounds import judge_rounds, pair_rounds
from allreduce_bench.evaluation.rounds import is_nearly_all


def pairs(*ratios: float) -> list[tuple[float, float]]:
    """Rounds in which the machine is of another speed each."""
    return [(1e-6 * number, 1e-6 * number * ratio) for number, ratio in enumerate(ratios, start=1)]


@pytest.mark.parametrize(
    "of, least", [(4, None), (5, 5), (6, 6), (8, 8), (9, 8), (10, 9), (12, 10), (15, 12), (20, 15)]
)
def test_nearly_all_rounds(of, least):
    assert next((count for count in range(of + 1) if is_nearly_all(count, of)), None) == least


def test_launches_are_paired_by_their_number_whatever_their_way():
    before = {"2r-1": 1.0, "2r-2-forced": 2.0, "2r-10": 3.0}
    assert pair_rounds(before, {"2r-2-forced": 5.0, "2r-10": 6.0, "2r-3": 7.0}) == [(2.0, 5.0), (3.0, 6.0)]


@pytest.mark.parametrize(
    ("ratios", "verdict", "counts"),
    [
        ([1.1] * 5, "slower", (5, 0)),
        ([0.9] * 5, "faster", (0, 5)),
        ([1.1, 1.1, 1.1, 1.1, 0.99], "undecided", (4, 1)),
        ([1.02, 0.98, 1.02, 0.99, 1.0], "same", (2, 2)),
        ([1.02, 0.98, 1.02, 0.99, 1.2], "undecided", (3, 2)),
        ([1.03] * 5, "same", (5, 0)),
    ],
)
def test_a_verdict_is_nearly_all_rounds_and_the_medians_apart(ratios, verdict, counts):
    judged = judge_rounds(pairs(*ratios), 0.05)
    assert (judged.verdict, judged.counts[:2], judged.counts.pairs) == (verdict, counts, len(ratios))
    assert judge_rounds(pairs(*[1.1] * 5), 0.2).verdict == "same"

"""Sizes that a tuning was not made from, and what counts as harmless."""

import pytest

from allreduce_bench.which.tuning import Rule
from allreduce_bench.which.tuning_proof import Alternated, Seen, held_out_sizes

RULE = Rule(4, 64, 1 << 20, "ring", (), 1.3, 1.4, 1.2, 10)


@pytest.mark.parametrize(
    "sizes, expected",
    [
        ((8, 64, 1024), [256]),
        ((64, 128, 1 << 20, 1 << 24), [88, 11584]),
        ((64, 256, 1024, 4096, 1 << 14, 1 << 16, 1 << 18, 1 << 20), [128, 1 << 13, 1 << 19]),
        ((64, 72), []),
    ],
)
def test_held_out_sizes_lie_between_those_of_the_rule(sizes, expected):
    found = held_out_sizes(RULE, sizes)
    assert not {*found} & {*sizes} and all(size % 8 == 0 for size in found)
    assert found == expected


@pytest.mark.parametrize("ratios, harmless", [((1.2, 1.3), True), ((1.2, 0.92), True), ((1.2, 0.90), False)])
def test_a_round_slower_by_ten_per_cent_is_harm(ratios, harmless):
    assert Alternated(RULE, 256, 2e-6, 1e-6, ratios).is_harmless is harmless


@pytest.mark.parametrize("words, wrong", [("acts", False), ("cannot tell", False), ("CHANGED", True)])
def test_what_changes_without_a_rule_is_wrong(words, wrong):
    assert Seen(3, 8, "", ("ring",), ("tree",), words).is_wrong is wrong

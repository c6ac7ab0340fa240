"""How many ratios are above and below a threshold, by which factors and where."""

import pytest

from allreduce_bench.evaluation.single_algorithm import direction_of, directions, directions_words


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [(1.06, "slower"), (1.05, "same"), (1.0, "same"), (0.96, "same"), (1 / 1.06, "faster"), (1e9, "slower")],
)
def test_the_threshold_is_the_same_factor_in_both_directions(ratio, expected):
    assert direction_of(ratio, 0.05) == expected


def test_counts_factors_and_places():
    found = directions({"8 B": 1.6, "64 B": 25.0, "1 KiB": 0.5, "4 KiB": 1.01}, 0.05)
    assert [(each.observed, each.cells, each.where) for each in found] == [
        ("slower", 2, "64 B"),
        ("faster", 1, "1 KiB"),
        ("same", 1, "4 KiB"),
    ]
    assert [each.least for each in found] == pytest.approx([1.6, 2.0, 1.01])
    words = "2 of 4 slower, 1.6 to 25 times (most: 64 B); 1 faster, 2.0 times (1 KiB); 1 within 5 %"
    assert directions_words(found, 0.05) == words
    assert directions({}, 0.05) == () and directions_words(directions({"8 B": 1.0}, 0.05), 0.05) == "1 of 1 within 5 %"

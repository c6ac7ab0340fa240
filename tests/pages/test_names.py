"""Ranks as MPI and as articles call them."""

import pytest

from allreduce_bench.pages.drawing import STYLES, rank_names, short_names


@pytest.mark.parametrize(
    ("style", "names", "short"),
    [
        ("rank", ("rank 0", "rank 1"), ("0", "1")),
        ("GPU-0", ("GPU-0", "GPU-1"), ("GPU-0", "GPU-1")),
        ("GPU1", ("GPU1", "GPU2"), ("GPU1", "GPU2")),
    ],
)
def test_the_styles(style, names, short):
    assert style in STYLES
    assert rank_names(2, style) == names
    assert short_names(2, style) == short

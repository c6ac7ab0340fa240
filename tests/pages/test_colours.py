"""White letters are read on every block, and blocks are seen on light and on dark paper."""

import pytest
from contrast import contrast

from allreduce_bench.pages.drawing import colour_of


@pytest.mark.parametrize("of", [1, 2, 8, 64])
def test_contrast(of):
    colours = [colour_of(index, of) for index in range(of)]
    assert min(contrast(colour, "#ffffff") for colour in colours) >= 4.5
    assert min(contrast(colour, "#14171a") for colour in colours) >= 3
    assert len({*colours}) == of

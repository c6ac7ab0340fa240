"""White letters are read on every block, and blocks are seen on light and on dark paper."""

import pytest
from contrast import contrast

from allreduce_bench.pages.drawing import colour_of
from allreduce_bench.web.colours import luminance


@pytest.mark.parametrize("of", [1, 2, 8, 64])
def test_contrast(of):
    colours = [colour_of(index, of) for index in range(of)]
    assert min(contrast(colour, "#ffffff") for colour in colours) >= 4.5
    assert min(contrast(colour, "#14171a") for colour in colours) >= 3
    assert len({*colours}) == of


def test_the_ends_of_the_scale():
    assert luminance("#000000") == 0 and luminance("#ffffff") == pytest.approx(1)
    assert contrast("#ffffff", "#000000") == contrast("#000000", "#ffffff") == pytest.approx(21)

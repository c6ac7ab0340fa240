"""The generator is the published one, and gives each number by its place alone."""

import numpy as np

from allreduce_bench.runs.cell import splitmix64

PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]


def test_the_numbers_are_those_of_the_reference_each_by_its_place_alone():
    """The first five of Vigna's splitmix64.c that begins at 1234567."""
    assert splitmix64(1234567, np.arange(5)).tolist() == PUBLISHED
    assert splitmix64(1234567, np.array([4, 1])).tolist() == [PUBLISHED[4], PUBLISHED[1]]

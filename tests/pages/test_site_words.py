"""Words of the tables of `explain --all`."""

import pytest

from allreduce_bench.pages.site import promise_words, share

TRIED_RANKS = range(2, 9)


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (TRIED_RANKS, "yes"),
        ((), "no"),
        ((2,), "2 ranks only"),
        ((2, 3), "2, 3 ranks only"),
        ((2, 4, 6, 8), "even p"),
        ((2, 3, 4, 6, 8), "even p, and p = 3"),
        ((2, 4, 8), "p = 2^k"),
        ((2, 4, 7, 8), "p = 2^k, and p = 7"),
    ],
)
def test_where_a_promise_is_kept(kept, words):
    assert promise_words(tuple(kept), tuple(TRIED_RANKS)) == words


def test_shares():
    assert [share(value) for value in (0.0, 1.875, 15.0, 1 + 2 / 3)] == ["0", "1.875 n", "15 n", "1.667 n"]

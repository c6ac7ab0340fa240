"""Groups of ranks, from the words of --groups."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.runs.groups import (
    describe,
    groups_of,
    parse_groups,
)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("", ((0, 1, 2, 3, 4, 5, 6, 7),)),
        ("2", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("div:2", ((0, 1), (2, 3), (4, 5), (6, 7))),
        ("mod:2", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("mod:4", ((0, 4), (1, 5), (2, 6), (3, 7))),
    ],
)
def test_who_is_with_whom(groups, expected):
    assert groups_of(groups, 8) == expected


@given(st.sampled_from(["", "2", "3", "div:2", "div:4", "mod:2", "mod:5"]), st.integers(1, 40))
def test_groups_divide_the_ranks_equally_or_are_refused(groups, size):
    try:
        members = groups_of(groups, size)
    except ValueError as error:
        assert groups and f"--groups {groups}" in str(error)
        return
    assert sorted(rank for ranks in members for rank in ranks) == list(range(size))
    assert len({len(ranks) for ranks in members}) == 1 and members[0][0] == 0
    assert all(list(ranks) == sorted(ranks) for ranks in members)


@pytest.mark.parametrize(
    ("groups", "size", "words"),
    [
        ("div:8", 4, "single group.*4 ranks"),
        ("mod:4", 4, "makes groups"),
        ("2", 5, "unequal groups, of 2 and 3 ranks, out of 5"),
    ],
)
def test_groups_that_tell_nothing_are_refused(groups, size, words):
    with pytest.raises(ValueError, match=words):
        groups_of(groups, size)


@pytest.mark.parametrize(("text", "kept"), [("2", "2"), (" MOD:08 ", "mod:8"), ("div:4", "div:4")])
def test_words_are_kept_in_one_form(text, kept):
    assert parse_groups(text) == kept


@pytest.mark.parametrize("text", [" ", "0", "mod:0", "-2", "div", "half", "mod:two", "2.5"])
def test_other_words_are_refused(text):
    with pytest.raises(ValueError, match="grouping"):
        parse_groups(text)


def test_groups_in_words():
    assert describe("div:4", 8) == "2 groups of 4 ranks (div:4)"
    assert describe("2", 8) == "2 groups of 4 ranks (consecutive)"

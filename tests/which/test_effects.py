"""The answers of a launch with and without a setting."""

import re

import pytest

from allreduce_bench.which.effects import effect, sentence, without_words

HAN = "han: reduce + bcast in node, "
BOTH = ("recursive_doubling", "rabenseifner")


@pytest.mark.parametrize(
    ("with_it", "without_it", "said"),
    [
        ({8: ["ring"]}, {8: ["ring"], 16: ["tree"]}, "unchanged"),
        ({8: BOTH}, {8: BOTH}, "cannot tell"),
        ({8: ["ring"]}, {8: ["tree"]}, "tree -> ring"),
        ({8: ["ring"]}, {8: BOTH}, "recursive_doubling or rabenseifner -> ring"),
        ({8: ["rabenseifner"]}, {8: BOTH}, "cannot tell"),
        ({8: []}, {8: []}, "cannot tell"),
        ({8: ["ring"]}, {8: []}, "cannot tell"),
        (
            {8: [f"{HAN}ring between"]},
            {8: [f"{HAN}tree between"]},
            "between nodes tree -> ring",
        ),
        ({8: ["ring"]}, {8: ["han: tree in node"]}, "-> ring"),
    ],
)
def test_an_effect_in_words(with_it, without_it, said):
    assert re.search(said, sentence(effect(with_it, without_it)))


def test_what_han_calls_acts_only_in_its_parts():
    in_han, other = (
        effect({8: [f"{HAN}ring between"]}, {8: [f"{HAN}ring between"]}),
        effect({8: ["ring"]}, {8: ["ring"]}),
    )
    assert "sub-communicators: unchanged" in sentence(in_han, is_below_han=True)
    assert "unchanged" in sentence(in_han)
    assert "unchanged" in sentence(other, is_below_han=True)


def test_what_changes_from_a_size_on():
    found = effect({8: ["tree"], 16: ["ring"], 32: ["ring"]}, {8: ["tree"], 16: ["tree"], 32: ["tree"]})
    assert not found.is_none
    assert sentence(found) == "from 8 B unchanged; from 16 B tree -> ring"
    assert [without_words(difference) for difference in found.at.values()] == ["unchanged", "tree", "tree"]

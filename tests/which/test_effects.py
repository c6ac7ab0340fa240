"""The answers of a launch with and without a setting."""

import pytest
from has_message import has_message

from allreduce_bench.which.effects import effect, sentence, without_words

HAN = "han: reduce + bcast in node, "
BOTH = ("recursive_doubling", "rabenseifner")


@pytest.mark.parametrize(
    ("with_it", "without_it", "code", "values"),
    [
        ({8: ["ring"]}, {8: ["ring"], 16: ["tree"]}, "which.unchanged", {}),
        ({8: BOTH}, {8: BOTH}, "which.cannot_tell", {}),
        ({8: ["ring"]}, {8: ["tree"]}, "which.became", {"was": "tree", "now": "ring"}),
        ({8: ["ring"]}, {8: BOTH}, "which.became", {"was": "recursive_doubling or rabenseifner", "now": "ring"}),
        ({8: ["rabenseifner"]}, {8: BOTH}, "which.cannot_tell", {}),
        ({8: []}, {8: []}, "which.cannot_tell", {}),
        ({8: ["ring"]}, {8: []}, "which.cannot_tell", {}),
        (
            {8: [f"{HAN}ring between"]},
            {8: [f"{HAN}tree between"]},
            "which.became_between",
            {"was": "tree", "now": "ring"},
        ),
        ({8: ["ring"]}, {8: ["han: tree in node"]}, "which.became", {"now": "ring"}),
    ],
)
def test_an_effect_in_words(with_it, without_it, code, values):
    assert has_message(sentence(effect(with_it, without_it)), code, **values)


def test_what_han_calls_acts_only_in_its_parts():
    in_han, other = (
        effect({8: [f"{HAN}ring between"]}, {8: [f"{HAN}ring between"]}),
        effect({8: ["ring"]}, {8: ["ring"]}),
    )
    assert has_message(sentence(in_han, is_below_han=True), "which.only_in_han", effect="unchanged")
    assert has_message(sentence(in_han), "which.unchanged")
    assert has_message(sentence(other, is_below_han=True), "which.unchanged")


def test_what_changes_from_a_size_on():
    found = effect({8: ["tree"], 16: ["ring"], 32: ["ring"]}, {8: ["tree"], 16: ["tree"], 32: ["tree"]})
    assert not found.is_none
    assert sentence(found) == "from 8 B unchanged; from 16 B tree -> ring"
    assert [without_words(difference) for difference in found.at.values()] == ["unchanged", "tree", "tree"]

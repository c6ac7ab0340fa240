"""The answers of a launch with and without a setting."""

import pytest
from has_message import has_message

from allreduce_bench.which.effects import effect, sentence, without_words

BOTH = ("recursive_doubling", "rabenseifner")


@pytest.mark.parametrize(
    ("with_it", "without_it", "code", "values"),
    [
        ({8: ["ring"]}, {8: ["ring"], 16: ["tree"]}, "which.unchanged", {}),
        ({8: BOTH}, {8: BOTH}, "which.unchanged", {}),
        ({8: ["ring"]}, {8: ["tree"]}, "which.became", {"was": "tree", "now": "ring"}),
        ({8: ["ring"]}, {8: BOTH}, "which.became", {"was": "recursive_doubling or rabenseifner", "now": "ring"}),
        ({8: ["rabenseifner"]}, {8: BOTH}, "which.cannot_tell", {}),
        ({8: []}, {8: []}, "which.cannot_tell", {}),
        ({8: ["ring"]}, {8: []}, "which.cannot_tell", {}),
        ({8: ["han: ring in node"]}, {8: ["han: tree in node"]}, "which.only_in_han", {}),
        ({8: ["ring"]}, {8: ["han: tree in node"]}, "which.became", {"now": "ring"}),
    ],
)
def test_an_effect_in_words(with_it, without_it, code, values):
    assert has_message(sentence(effect(with_it, without_it)), code, **values)


def test_what_changes_from_a_size_on():
    found = effect({8: ["tree"], 16: ["ring"], 32: ["ring"]}, {8: ["tree"], 16: ["tree"], 32: ["tree"]})
    assert not found.is_none
    assert sentence(found) == "from 8 B unchanged; from 16 B tree -> ring"
    assert [without_words(difference) for difference in found.at.values()] == ["unchanged", "tree", "tree"]

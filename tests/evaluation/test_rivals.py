"""Rivals of a library's own all-reduce: those that are faster are found, and no others."""

import pytest
from native_rows import SIZES, linear, native_row, rows_of_two

from allreduce_bench.evaluation.rivals import rival_comparisons, rivals_sentence, slower_lines
from allreduce_bench.runs.competitor import MOCKUPS


def faster(rows):
    return [(one.size_bytes, one.against) for one in rival_comparisons(rows) if one.slower]


def test_a_library_that_is_fastest_has_no_faster_rival():
    compared = rival_comparisons(rows_of_two())
    assert len(compared) == len(SIZES) and not any(one.slower for one in compared)
    assert "4 comparisons" in rivals_sentence(compared)


@pytest.mark.parametrize("name", ["ring", "tree", "parameter_server"])
def test_a_faster_algorithm_is_named_with_its_factor(name):
    slow = rows_of_two(other=lambda size_bytes: linear(size_bytes) / (1.5 if size_bytes > 1024 else 0.5), name=name)
    found = [one for one in rival_comparisons(slow) if one.slower]
    assert [(one.size_bytes, one.against) for one in found] == [(size_bytes, name) for size_bytes in SIZES[1:]]
    for one in found:
        assert one.factor == pytest.approx(1.5, rel=0.03) and 1.4 < one.worst <= one.factor
    (line,) = slower_lines(rival_comparisons(slow))
    assert (line["sizes"], line["against"], line["ranks"]) == ("2 KiB to 8 KiB", name, "4")
    assert f"slower than {name} at" in rivals_sentence(rival_comparisons(slow))


def test_mock_ups_are_no_rivals():
    made = [native_row(name, size_bytes, linear(size_bytes) / 9) for name in MOCKUPS for size_bytes in SIZES]
    assert not faster(rows_of_two() + made)


def test_launches_in_two_states_are_held_against_nobody():
    slow = rows_of_two(other=lambda size_bytes: linear(size_bytes) / 2)
    assert faster(slow) and not faster([{**one, "doubt": "two states"} for one in slow])
    assert not faster(rows_of_two(other=lambda size_bytes: linear(size_bytes) / 9, launches=1))


def test_those_called_compiled_have_compiled_rivals():
    slow = rows_of_two(other=lambda size_bytes: linear(size_bytes) / 2)
    compiled = [{**row, "competitor": f"{row['competitor']}@compiled"} for row in slow]
    assert faster(compiled) == [(size_bytes, "ring@compiled") for size_bytes in SIZES]
    assert not faster(
        [row for row in slow if row["competitor"] == "native"]
        + [row for row in compiled if row["competitor"] == "ring@compiled"]
    )

"""Tables that fit: few parts, few columns left out, no number cut, texts and sentences wrapped, colours."""

import re

import pytest

from allreduce_bench.tables import UNBOUNDED, Column, Field, Screen, columns_of, fitted, shown, wrapped

ROWS = [
    ["size", "native", "ring", "best", "algbw", "wrong"],
    ["8 B", "1.16 *", "2.57", "native", "0.01", "0"],
    ["128 KiB", "34.4", "24.5 ?", "?", "5.38", "0"],
]
SECONDARY = (5, 4)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def lines(width: int, rows=ROWS, **words) -> list[str]:
    return fitted(columns_of(rows, **{"left_out": SECONDARY, **words}), Screen(width), "more")


TABLE = [("name", "us", "why"), ("a", "1.25", ""), ("longer", "10", "late")]


def aligned(rows, left=()) -> list[str]:
    return fitted(columns_of(rows, left=left), UNBOUNDED)


def test_columns_are_flush_right_unless_they_are_named():
    assert aligned(TABLE) == ["  name    us   why", "     a  1.25", "longer    10  late"]
    assert aligned(TABLE, left=(0, 2)) == ["name      us  why", "a       1.25", "longer    10  late"]


def test_what_fits_is_left_as_it_is():
    natural = max(map(len, aligned(ROWS)))
    assert lines(natural) == aligned(ROWS)
    assert lines(natural - 1) == [*aligned([row[:5] for row in ROWS]), "(columns left out: wrong; all: more)"]


def test_columns_are_left_out_in_their_order_before_the_table_is_folded():
    natural = max(map(len, aligned([row[:4] for row in ROWS])))
    assert " ".join(lines(natural)[3:]).replace("   ", " ") == "(columns left out: wrong, algbw; all: more)"
    folded = lines(natural - 1)
    assert folded.count("") == 1 and folded[-1].startswith("(in 2 parts") and "size" in folded[4]


@pytest.mark.parametrize("width", [1, 20, 25, 30, 40, 60])
def test_no_line_is_wider_and_every_primary_field_is_there(width):
    found = lines(width)
    assert all(len(line) <= max(width, 20) for line in found)
    for row in ROWS:
        assert all(field in "\n".join(found) for field in row[:4])


def test_what_stands_instead_of_a_column_is_no_part_of_its_own():
    plain = Column(("ring",), (Field("2.57"),))
    wide = Column(("ring",), (Field("2.57 ±3%"),), left_out=1, name="±", instead=plain)
    columns = [Column(("size",), (Field("8 B"),)), wide, wide]
    assert fitted(columns, Screen(40))[1] == " 8 B  2.57 ±3%  2.57 ±3%"
    assert shown(columns, Screen(40)) == columns and shown(columns, Screen(20)) == columns[:1]
    assert fitted(columns, Screen(20), "more")[1:] == [" 8 B  2.57  2.57", "(columns left out:", "  ±; all: more)"]


STATES = [
    ["name", "state"],
    ["1n", "failed since the node went away in the night and nobody was there"],
    ["2n", "done"],
]


def test_a_text_wraps_in_its_place_and_below_where_that_is_narrow():
    beside = lines(40, STATES, text=1, left=(0, 1), left_out=())
    assert beside[1:4] == [
        "1n    failed since the node went away in",
        "      the night and nobody was there",
        "2n    done",
    ]
    assert beside[0] == "name  state"
    below = lines(28, STATES, text=1, left=(0, 1), left_out=())
    assert below[0] == "name" and below[1:3] == ["1n", "    failed since the node"]
    assert all(len(line) <= 28 for line in below)


def test_sentences_are_wrapped_with_their_further_lines_indented():
    sentence = "128 KiB to 2 MiB: ring takes 207 us, 8 % less than tree on 2 ranks"
    assert wrapped([sentence], UNBOUNDED) == [sentence]
    for width in range(20, 70):
        found = wrapped([sentence, "  " + sentence, ""], Screen(width))
        assert all(len(line) <= width for line in found)
        assert " ".join(" ".join(found).split()) == f"{sentence} {sentence}"
        assert not any(re.search(r"\d$", line) for line in found)  # no number without its unit
    assert (
        wrapped([sentence], Screen(40))[1].startswith("  ") and wrapped(["  " + sentence], Screen(40))[1][:4] == "    "
    )


def test_colours_change_no_letter_and_no_place():
    rows = [["cell", "verdict"], ["ring", "slower"], ["tree", "same"]]
    columns = columns_of(rows, left=(0,), styles={"slower": "bad"})
    plain, coloured = fitted(columns, Screen(40)), fitted(columns, Screen(40, colour=True))
    assert [ANSI.sub("", line) for line in coloured] == plain
    assert [bool(ANSI.search(line)) for line in coloured] == [False, True, False]


def test_a_text_with_a_word_longer_than_its_place_stands_below_its_row():
    rows = [["size", "where"], ["8 B", f"{'x' * 40} line 3"]]
    assert fitted(columns_of(rows, text=1), Screen(44)) == ["size", " 8 B", "    " + "x" * 40, "    line 3"]
    assert fitted(columns_of(rows, text=1, left=(1,)), Screen(48))[1] == " 8 B  " + "x" * 40


def test_the_width_of_a_column_is_measured_once_whatever_the_number_of_rows():
    class Counted(str):
        measured = 0

        def __len__(self):
            Counted.measured += 1
            return str.__len__(self)

    rows = [["size", "us", "why"], *([Counted("8"), Counted("1.5"), Counted("late")] for _ in range(300))]
    for screen in (UNBOUNDED, Screen(80), Screen(22)):
        fitted(columns_of(rows, left_out=SECONDARY[1:], text=2), screen)
    assert Counted.measured < 30 * 300

"""Rows of CSV files: what does not fit its column is damage with its line."""

import pytest

from allreduce_bench.runs.rows import BLOCK_ROWS, RunError, blocks_of, checked_row

COLUMNS = ["competitor", "ranks", "size_bytes", "time_s", "valid", "state"]
GOOD = "ring,2,8,1e-06,1,done"


def blocks(*lines: str) -> list[dict]:
    return list(blocks_of("rows.csv, row", COLUMNS, [f"{line}\n" for line in lines]))


def test_blocks_are_columns_of_limited_length():
    found = blocks(*[GOOD] * (BLOCK_ROWS + 1))
    assert [len(block["time_s"]) for block in found] == [BLOCK_ROWS, 1]
    assert {name: values[0] for name, values in found[1].items()} == dict(zip(COLUMNS, GOOD.split(",")))


@pytest.mark.parametrize(
    "line, words",
    [
        ("ring,2,8", "3 fields, expected 6"),
        ("ring,,8,1e-06,1,done", "ranks is ''"),
        ("ring,two,8,1e-06,1,done", "ranks is 'two'"),
        ("ring,-2,8,1e-06,1,done", "ranks is '-2'"),
        ("ring,2,8,nan,1,done", "time_s is 'nan'"),
        ("ring,2,8,-1e-06,1,done", "time_s is '-1e-06'"),
        ("ring,2,8,1e-06,1,perhaps", "state is 'perhaps'"),
    ],
)
def test_damage_is_named_with_its_line(line, words):
    with pytest.raises(RunError, match="rows.csv, row 2: damaged: ") as error:
        blocks(GOOD, line)
    assert str(error.value).endswith(words)
    with pytest.raises(RunError, match=words.partition(" is ")[0]):
        checked_row(COLUMNS, line.split(","))


def test_a_line_that_is_no_csv_is_damage_with_its_line():
    with pytest.raises(RunError, match="rows.csv, row 2: damaged: "):
        blocks(GOOD, GOOD.replace("ring", "ri\rng"))


def test_a_time_is_negative_only_in_an_invalid_call():
    assert blocks(GOOD, "ring,2,8,-1e-06,0,done")[0]["time_s"] == ("1e-06", "-1e-06")

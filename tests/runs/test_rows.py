"""Rows of CSV files: a torn last line is left out, whatever else does not fit its column is damage with its line."""

from pathlib import Path

import pytest

from allreduce_bench.runs.rows import BLOCK_ROWS, RunError, read_blocks, read_rows
from allreduce_bench.runs.schema import LATER

COLUMNS = ["competitor", "ranks", "nbytes", "time_s", "valid", "state"]
GOOD = "ring,2,8,1e-06,1,done"


def written(tmp_path: Path, *lines: str, end: str = "\n") -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([",".join(COLUMNS), *lines]) + end)
    return path


def test_rows_are_dictionaries_of_text(tmp_path):
    (row,) = read_rows(written(tmp_path, GOOD), COLUMNS)
    assert row == dict(zip(COLUMNS, GOOD.split(",")))


def test_a_torn_last_line_is_left_out(tmp_path):
    assert len(read_rows(written(tmp_path, GOOD, GOOD[:9], end=""), COLUMNS)) == 1
    assert read_rows(written(tmp_path, end=""), COLUMNS) == []


def test_blocks_are_columns_of_limited_length(tmp_path):
    blocks = list(read_blocks(written(tmp_path, *[GOOD] * (BLOCK_ROWS + 1)), COLUMNS))
    assert [len(block["time_s"]) for block in blocks] == [BLOCK_ROWS, 1]


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
def test_damage_is_named_with_its_line(tmp_path, line, words):
    with pytest.raises(RunError, match="rows.csv, line 3: damaged: ") as error:
        read_rows(written(tmp_path, GOOD, line), COLUMNS)
    assert str(error.value).endswith(words)


def test_a_time_is_negative_only_in_an_invalid_call(tmp_path):
    assert read_rows(written(tmp_path, GOOD, "ring,2,8,-1e-06,0,done"), COLUMNS)[1]["time_s"] == "-1e-06"


def test_a_column_that_came_later_is_empty_where_a_file_lacks_it(tmp_path):
    columns = [*COLUMNS[:1], *sorted(LATER), *COLUMNS[1:]]
    (row,) = read_rows(written(tmp_path, GOOD), columns)
    assert list(row) == columns and {row[name] for name in LATER} == {""}
    assert list(row.values())[:1] == [GOOD.split(",")[0]]


def test_other_columns_are_refused(tmp_path):
    with pytest.raises(
        RunError,
        match="damaged: the first line is not the header of this schema version",
    ):
        read_rows(written(tmp_path, GOOD), COLUMNS[1:])

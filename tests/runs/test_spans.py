"""Raw times and stamps are those that the marks vouch for: a changed row costs its cell, and no other."""

import pytest
from made_runs import build_run

from allreduce_bench.runs.folder import RunFolder, key_of
from allreduce_bench.runs.plan import Launch

FIRST = Launch(2, 1)


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    return build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2,), launches=1, stamps=True)


def change(folder: RunFolder, first: int, last: int, *others: str) -> None:
    """Put other lines in the place of some, counted from 0."""
    path = folder.launches / "2r-1.1.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:first], *others, *lines[last:]]))


def damaged(folder: RunFolder) -> list[tuple[str, str]]:
    return [(damage.cell["competitor"] if damage.cell else "", damage.found) for damage in folder.damages()]


def test_rows_that_were_deleted_cost_their_cell_and_no_other(folder):
    before = list(folder.repetitions())
    change(folder, 1, 4)
    assert damaged(folder) == [("native", "the rows of a cell were changed")]
    gone = {key_of(row) for row in before} - {key_of(row) for row in folder.repetitions()}
    assert len(gone) == 1 and folder.cells_left(folder.plan(), FIRST) == 1
    assert list(folder.repetitions()) == [row for row in before if key_of(row) not in gone]


def test_all_rows_of_a_cell_may_be_gone(folder):
    change(folder, 11, 21)
    assert [found for _, found in damaged(folder)] == ["the rows of a cell are lost"]


def test_a_changed_digit_is_noticed(folder):
    path = folder.launches / "2r-1.1.csv"
    text = path.read_text()
    place = text.index("e-06")
    digit = "1" if text[place - 1] != "1" else "2"
    path.write_text(text[: place - 1] + digit + text[place:])
    assert damaged(folder) == [("native", "the rows of a cell were changed")]


def test_rows_of_no_cell_are_noticed_but_not_those_of_a_cell_that_was_interrupted(folder):
    path = folder.launches / "2r-1.1.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[-1]]))
    assert damaged(folder) == [("", f"{len(lines[-1]):,} bytes do not belong to any cell")]
    killed = build_run(folder.path / "killed", sizes=(8,), ranks=(2,), launches=1, unsealed=True)
    with open(killed.launches / "2r-1.1.csv", "a") as file:
        file.write(lines[-1] * 3 + lines[-1][:20])
    assert killed.damages() == [] and killed.cells_left(killed.plan(), FIRST) == 0


def test_another_header_costs_the_launch(folder):
    change(folder, 0, 1, "launch,attempt\n")
    assert [found for _, found in damaged(folder)] == ["the first line is not the header of this schema version"]
    assert folder.cells_left(folder.plan(), FIRST) == 6


def test_changed_and_missing_stamps_cost_their_cells(folder):
    first, second, *_ = sorted((folder.launches / "2r-1.1.stamps").iterdir())
    first.write_bytes(first.read_bytes()[:-1] + b"\1")
    second.unlink()
    assert [found for _, found in damaged(folder)] == ["the file was changed", "the file is missing"]
    assert folder.cells_left(folder.plan(), FIRST) == 2

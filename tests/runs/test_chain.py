"""Marks: each vouches for itself and names the one before, so that what was lost, doubled, moved or changed is told."""

from collections.abc import Callable

import pytest
from made_runs import build_run

from allreduce_bench.runs.chain import end_of_marks, first_line, whole_marks
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.schema import CELLS, first_link, names


@pytest.fixture(scope="module")
def marks(tmp_path_factory) -> tuple[list[bytes], str, str, str]:
    """The lines of six cells, what the first follows, the checksums of the last and of run.json."""
    folder = build_run(tmp_path_factory.mktemp("chain") / "run", sizes=(8, 1024), ranks=(2,), launches=1)
    header, *lines = (folder.launches / "2r-1.1.cells.csv").read_bytes().splitlines(keepends=True)
    first = first_link(first_line(folder.launches / "2r-1.1.csv") + header, "2r-1", 1, folder.run_crc32)
    return lines, first, lines[-1][-9:-1].decode(), folder.run_crc32


def found(lines: list[bytes], first: str | None, last: str | None, run_crc32: str) -> tuple[int, list[str]]:
    """How many cells are whole, and what is wrong."""
    read = whole_marks(names(CELLS), b"".join(lines), first, last, run_crc32)
    return len(read.cells), [found for found, _ in read.damages]


CHANGES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int, list[str]]] = {
    "nothing": (lambda m: m, 6, []),
    "changed": (lambda m: [*m[:2], m[2].replace(b",8,", b",9,"), *m[3:]], 5, ["a row was changed"]),
    "lost": (lambda m: [*m[:2], *m[3:]], 5, ["one or more rows before this cell are lost"]),
    "first lost": (lambda m: m[1:], 5, ["one or more rows before this cell are lost"]),
    "last lost": (lambda m: m[:-1], 5, ["the last rows are lost"]),
    "all lost": (lambda m: [], 0, ["the last rows are lost"]),
    "doubled": (lambda m: [*m[:3], *m[2:]], 6, ["its row is there twice"]),
    "moved": (lambda m: [m[0], m[2], m[1], *m[3:]], 6, ["rows are in the wrong order"]),
    "last cut off": (lambda m: [*m[:-1], m[-1][:30]], 5, ["a row was changed"]),
}


def test_the_marks_of_another_run_do_not_fit(marks):
    lines, first, last, _ = marks
    assert found(lines, first, last, "") == (0, ["a row was changed"] * 6)


@pytest.mark.parametrize("change", CHANGES)
def test_each_damage_is_told_from_the_others_and_costs_its_own_cell_alone(marks, change):
    lines, first, last, run_crc32 = marks
    do, cells, words = CHANGES[change]
    assert found(do(lines), first, last, run_crc32) == (cells, words)


def test_of_an_attempt_that_was_killed_a_torn_last_line_is_no_damage(marks):
    lines, first, _, run_crc32 = marks
    assert found([*lines[:-1], lines[-1][:30]], first, None, run_crc32) == (5, [])
    assert found([*lines[:-1], b"\0" * 30 + b"\n"], first, None, run_crc32) == (5, [])
    assert found(lines[:-1] + [lines[-1].replace(b",", b";", 1)], first, None, run_crc32) == (
        5,
        ["a row was changed"],
    )


def test_a_torn_line_that_nobody_followed_is_no_damage(marks):
    lines, first, last, run_crc32 = marks
    assert found([*lines[:3], lines[3][:20] + b"\n", *lines[3:]], first, last, run_crc32) == (6, [])


def test_the_end_of_marks_is_that_of_the_last_whole_one(tmp_path):
    folder: RunFolder = build_run(tmp_path / "run", sizes=(8,), ranks=(2,), launches=1)
    path, rows = folder.launches / "2r-1.1.cells.csv", folder.launches / "2r-1.1.csv"
    whole = end_of_marks(path, rows, folder.run_crc32)
    assert whole is not None and not whole.is_torn and whole.rows_end_nbytes == rows.stat().st_size
    with open(path, "a") as file:
        file.write("2r-1,1,ri")
    assert end_of_marks(path, rows, folder.run_crc32) == whole._replace(is_torn=True)
    path.write_text("laun")
    assert end_of_marks(path, rows, folder.run_crc32) is None and end_of_marks(tmp_path / "none", rows, "") is None

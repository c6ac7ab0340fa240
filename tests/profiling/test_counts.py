"""The file of a rank's counts, written and summed; the profile of it, its schema and its table."""

import pytest
from made_profiles import counted, profile_of
from strict_schemas import undescribed

from allreduce_bench.profiling.in_python.mpi4py_allreduce_counts import GAPS, ROWS, Counts, class_of
from allreduce_bench.profiling.profile import read_profile
from allreduce_bench.profiling.rank_files import median_gap_s, sum_of_ranks
from allreduce_bench.profiling.table import MOST_ROWS, profile_lines
from allreduce_bench.tables import Screen

KEY = (8000, 2, 8, False, 0, "MPI_DOUBLE", "sum")


def test_ranks_add_up(tmp_path, monkeypatch):
    for host in ("n1", "n2"):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        counts = Counts(str(tmp_path))
        for _ in range(3):
            counts.add(KEY, 0)
        counts.add((8000, 2, 8, False, 0, "float64", "sum"), 0)
    (tmp_path / "torn").write_bytes(b"ARCOUNT1")
    found = sum_of_ranks(tmp_path)
    assert (found.processes, found.left_out) == (2, 0)
    (row,) = found.rows
    assert (row.dtype, row.calls, row.rank_calls, row.median_gap_s) == ("float64", 4, 8, pytest.approx(0, abs=1e-9))


def test_of_many_kinds_those_called_most_are_kept(tmp_path):
    counts = Counts(str(tmp_path))
    often = [(8 * size, 1, 8, False, 0, "float64", "sum") for size in range(100)]
    for key in often * 3:
        counts.add(key, 0)
    for size in range(3 * ROWS):
        counts.add((size, 1, 1, False, 0, "MPI_BYTE", "bor"), 0)
    found = sum_of_ranks(tmp_path)
    assert len(found.rows) == ROWS
    assert sum(row.rank_calls for row in found.rows) + found.left_out == 300 + 3 * ROWS
    assert sum(row.calls == 3 for row in found.rows) >= 95  # a new one looks at a few rows only


def test_a_file_that_is_there_is_not_written_again(tmp_path):
    kept = Counts(str(tmp_path))
    with pytest.raises(FileExistsError):
        Counts(str(tmp_path))
    del kept


@pytest.mark.parametrize("gap_ns", [0, 7, 8, 100, 12_345, 10**9, 10**12])
def test_a_gap_is_read_to_six_percent(gap_ns):
    gaps = [0] * GAPS
    gaps[class_of(gap_ns)] = 1
    assert median_gap_s(gaps) == pytest.approx(gap_ns * 1e-9, rel=0.07, abs=1e-9)


def test_the_last_class_holds_all_longer_gaps():
    assert class_of(10**15) == GAPS - 1 and median_gap_s([0] * GAPS) is None


def test_the_schema_describes_the_file_and_it_is_read_again(tmp_path):
    profile = profile_of(counted(8, 10), counted(None, 1, "object", median_gap_s=None))
    assert undescribed("profile", profile.to_text()) == []
    (tmp_path / "p.json").write_text(profile.to_text())
    assert read_profile(tmp_path / "p.json") == profile


def test_the_table_names_what_is_missing():
    rows = [counted(8 * size, 2) for size in range(1, MOST_ROWS + 3)]
    lines = profile_lines(profile_of(*rows, processes=3, left_out_calls=1234))
    text = "\n".join(lines)
    assert "64 calls of 32 kinds" in text and "1.00 ms" in text
    assert "the rest, 2, is in the file" in text and "only 3 of 4 ranks" in text and "1,234 calls" in text


def test_the_table_fits_a_narrow_screen():
    lines = profile_lines(profile_of(counted(None, 1_000_000, "derived", "user-defined")), Screen(60))
    assert max(map(len, lines)) <= 60 and any("?" in line for line in lines)

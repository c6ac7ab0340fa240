"""The history of `make ratios` on the page, and damaged ones in one line."""

import pytest
from made_runs import build_run

from allreduce_bench.report.page import write_report
from allreduce_bench.report.ratio_table import COLUMNS, UNKNOWN, ratio_lines, read_ratios
from allreduce_bench.runs.rows import RunError

ROW = (
    "2026-01-01 10:00,2 cores,MPICH,ring against native,{},1.5,2.5,5,>= 1.8,{},ring/sendrecv,single,page,geometric mean"
)
SKIPPED = "2026-01-01 10:00,2 cores,MPICH,two_tree against native,,,,0,>= 1.8,,skipped: no,,page,geometric mean"


def history(path, *lines):
    path.write_text("\n".join([",".join(COLUMNS), *lines, ""]))
    return path


def test_the_latest_of_each_ratio_stands_beside_those_before(tmp_path):
    path = history(tmp_path / "a.csv", ROW.format(1.7, 0), SKIPPED, ROW.format(2.0, 1), SKIPPED)
    first, second = ratio_lines(read_ratios(path))
    assert (first.latest.ratio, first.latest.met, first.before) == (2.0, True, (1.7,))
    assert (second.latest.ratio, second.latest.met, second.before) == (None, None, ())


def test_vectors_placed_in_another_way_stand_by_themselves(tmp_path):
    path = history(tmp_path / "a.csv", ROW.format(2.0, 1).replace(",page,", f",{UNKNOWN},"), ROW.format(1.7, 0))
    both = ratio_lines(read_ratios(path))
    assert [(line.latest.placement, line.before) for line in both] == [(UNKNOWN, ()), ("page", ())]


def test_the_page_ends_with_them(tmp_path, words_only):
    lines = ratio_lines(read_ratios(history(tmp_path / "a.csv", ROW.format(1.23, 0), SKIPPED)))
    run = build_run(tmp_path / "run", ranks=[2], sizes=[8])
    page = write_report([run], tmp_path / "report.html", ratios=lines).read_text()
    assert "<h1>Ratios</h1>" in page and "1.23" in page and "missed" in page and "skipped: no" in page
    assert "<h1>Ratios</h1>" not in write_report([run], tmp_path / "other.html").read_text()


@pytest.mark.parametrize("line", ["x", ROW.format("nan", 1), ROW.format(-1, 1), ROW.format(1, 2), ROW.format("x", 1)])
def test_a_damaged_row_is_named(tmp_path, line):
    with pytest.raises(RunError, match="line 2: not a row"):
        read_ratios(history(tmp_path / "a.csv", line))


def test_what_is_no_history_is_refused(tmp_path):
    (tmp_path / "b.csv").write_text("a,b\n")
    for path, words in (
        (tmp_path / "b.csv", "line 1: expected the columns"),
        (tmp_path / "c.csv", "expected a history"),
    ):
        with pytest.raises(RunError, match=words):
            read_ratios(path)

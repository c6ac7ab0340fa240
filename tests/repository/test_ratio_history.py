"""The history of `make ratios`: damaged ones are refused in one line."""

import pytest
from ratio_history import COLUMNS, read_ratios

from allreduce_bench.runs.rows import RunError

ROW = (
    "2026-01-01 10:00,2 cores,MPICH,ring against native,{},1.5,2.5,5,>= 1.8,{},ring/sendrecv,single,page,geometric mean"
)


@pytest.mark.parametrize("line", ["x", ROW.format("nan", 1), ROW.format(-1, 1), ROW.format(1, 2), ROW.format("x", 1)])
def test_a_damaged_row_is_named(tmp_path, line):
    path = tmp_path / "a.csv"
    path.write_text("\n".join([",".join(COLUMNS), line, ""]))
    with pytest.raises(RunError, match="line 2: not a row"):
        read_ratios(path)


def test_what_is_no_history_is_refused(tmp_path):
    (tmp_path / "b.csv").write_text("a,b\n")
    for name, words in (("b.csv", "line 1: expected the columns"), ("c.csv", "expected a history")):
        with pytest.raises(RunError, match=words):
            read_ratios(tmp_path / name)

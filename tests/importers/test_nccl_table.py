"""The tables of nccl-tests as printed."""

import pytest

from allreduce_bench.importers.lines import LogLine, lines_of
from allreduce_bench.importers.tools.nccl import HALF, begins_table, has_bare_row, parse_row, read_tables

WORDS = "8 2 words that begin with numbers"

ROW = "8 2 float sum -1 10.5 0.01 0.02 0 11.5 0.03 0.04 N/A"
OF_ITERATIONS = " 9.9 99.0 98.0 5.0"  # the columns of -I


@pytest.mark.parametrize("text", [ROW, ROW.replace(" 11.5", OF_ITERATIONS + " 11.5") + OF_ITERATIONS])
def test_a_row_has_two_halves(text):
    row = parse_row(LogLine(1, text, True), HALF)
    assert (row.size_bytes, row.elements, row.dtype, row.op) == ("8", "2", "float", "sum")
    assert [half.time for half in row.halves] == ["10.5", "11.5"] and row.halves[1].wrong == "N/A"


def test_what_is_shorter_is_no_row():
    assert parse_row(LogLine(1, "8 2 float sum", True), HALF) is None
    assert has_bare_row(ROW) and not has_bare_row(WORDS)
    assert begins_table("# nThread 1\n# all_reduce_perf") and not begins_table(ROW)


def test_each_beginning_is_a_table_with_what_stands_above_it():
    rank = "#  Rank  {0} Group  0 Pid 1 on n{0} device 0\n"
    text = f"# Collective test starting: all_reduce_perf\n{rank.format(0)}{rank.format(1)}{ROW}\n"
    first, second = read_tables(lines_of(f"{text}# Out of bounds values : 0 OK\n{text}"))
    assert (first.program, first.hosts, first.checked, len(first.rows)) == ("all_reduce", ["n0", "n1"], True, 1)
    assert (second.hosts, second.checked) == (["n0", "n1"], None)

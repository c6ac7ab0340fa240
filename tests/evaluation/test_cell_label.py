"""A cell is found again from its row, and only what is unusual of it is named."""

from allreduce_bench.evaluation.summary_row import cell_of, qualifiers
from allreduce_bench.runs.plan import Cell
from allreduce_bench.runs.schema import ALONE, TOGETHER


def test_only_the_unusual_is_named():
    assert qualifiers("warm", "") == qualifiers("warm", TOGETHER) == []
    assert qualifiers("cold", ALONE) == ["cold", "alone"]


def test_the_cell_of_a_row():
    cell = Cell("ring", "sendrecv", 4, None, "cold", TOGETHER)
    row = {
        "algorithm": "ring",
        "executor": "sendrecv",
        "count": 4,
        "segment": None,
        "cache": "cold",
        "groups": TOGETHER,
    }
    assert cell_of(row) == cell

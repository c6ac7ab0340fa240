"""The cells without a time, and what they are called."""

from allreduce_bench.report.caveats import Gap, cell_size, gaps
from allreduce_bench.runs.schema import ALONE


def row(state: str, nbytes: int = 8, **fields) -> dict:
    usual = {"state": state, "ranks": 4, "algorithm": "ring", "reason": "why", "nbytes": nbytes}
    return {**usual, "cache": "warm", "groups": "", **fields}


def test_a_cell_is_called_by_its_size_and_what_is_unusual():
    cells = [row("done"), row("done", cache="cold"), row("done", 1024, groups=ALONE)]
    assert [cell_size(cell) for cell in cells] == ["8 B", "8 B cold", "1 KiB alone"]


def test_cells_that_share_a_reason_are_one_gap_and_failed_ones_come_first():
    rows = [row("skipped"), row("skipped", 1024), row("done"), row("wrong", reason=None)]
    assert gaps(rows) == [Gap("wrong", 4, "ring", "8 B", ""), Gap("skipped", 4, "ring", "8 B, 1 KiB", "why")]

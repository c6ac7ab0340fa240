"""The tables of columns hold together: names once, known kinds, one kind a name."""

import pytest

from allreduce_bench.runs.schema import (
    CALLS,
    CELLS,
    KINDS,
    QUANTILES,
    SUMMARY,
    names,
)


@pytest.mark.parametrize("columns", [CALLS, CELLS, SUMMARY])
def test_every_column_is_described_once(columns):
    assert len(set(names(columns))) == len(columns)
    assert {column.kind for column in columns} <= {"text", "whole", "real", "flag"}
    assert all(column.meaning for column in columns)


def test_units_stand_in_names():
    ratios = {"lag1", "drift", "first_penalty", "speedup", "of_limit", "of_own_limit", "energy_idle_share"}
    assert {name for name in names(SUMMARY) if KINDS[name] == "real" and not name.endswith(("_s", "_j"))} == ratios
    assert set(QUANTILES) <= set(names(SUMMARY))

"""The tables of columns hold together: names once, known kinds, one kind a name."""

import pytest

from allreduce_bench.runs.schema import (
    CALLS,
    CELLS,
    KINDS,
    NEEDED,
    QUANTILES,
    SUMMARY,
    names,
)


@pytest.mark.parametrize("columns", [CALLS, CELLS, SUMMARY])
def test_every_column_is_described_once(columns):
    assert len(set(names(columns))) == len(columns)
    assert {column.kind for column in columns} <= {"text", "whole", "real", "flag"}
    assert all(column.meaning for column in columns)


def test_a_name_has_one_kind_in_all_tables():
    assert all(KINDS[column.name] == column.kind for column in (*CALLS, *CELLS, *SUMMARY))


def test_types_are_kinds():
    assert [KINDS[name] for name in ("state", "ranks", "time_s", "same_bits")] == ["text", "whole", "real", "flag"]


def test_only_these_fields_are_never_empty():
    assert sorted(NEEDED) == ["ranks", "size_bytes", "state", "time_s"]


def test_units_stand_in_names():
    ratios = {"lag1", "drift", "first_penalty", "speedup", "of_limit", "of_own_limit", "energy_idle_share"}
    assert {name for name in names(SUMMARY) if KINDS[name] == "real" and not name.endswith(("_s", "_j"))} == ratios
    assert set(QUANTILES) <= set(names(SUMMARY))

"""The typed row and the columns of the schema say the same."""

from types import NoneType
from typing import get_args, get_type_hints

import pytest

from allreduce_bench.evaluation.summary_row import RealColumn, SummaryFacts, SummaryRow, time_of
from allreduce_bench.runs.schema import QUANTILES, SUMMARY, names

TYPES = {"text": str, "whole": int, "real": float, "flag": int}


def test_the_row_has_the_columns_of_the_schema_in_order_and_beside_them_its_facts():
    hints, facts = get_type_hints(SummaryRow), get_type_hints(SummaryFacts)
    assert [name for name in hints if name not in facts] == names(SUMMARY)
    for column in SUMMARY:
        assert set(get_args(hints[column.name]) or [hints[column.name]]) - {NoneType} == {TYPES[column.kind]}, column


def test_the_real_columns_can_be_named():
    assert list(get_args(RealColumn)) == [column.name for column in SUMMARY if column.kind == "real"]


def test_every_quantile_is_named_after_its_share():
    assert all(name == f"p{share:g}_s".replace(".", "_") for name, share in QUANTILES.items())


def test_only_a_measured_row_has_a_time():
    assert time_of({"time_s": 1e-6}) == 1e-6
    with pytest.raises(ValueError, match="ring of 8 bytes has no time"):
        time_of({"time_s": None, "algorithm": "ring", "nbytes": 8})

"""A row has the columns of the schema and, beside them, its facts."""

from typing import get_type_hints

import pytest

from allreduce_bench.evaluation.summary_row import SummaryFacts, SummaryRow, number_of, time_of
from allreduce_bench.runs.schema import QUANTILES, SUMMARY, names


def test_the_row_has_the_columns_of_the_schema_in_order_and_beside_them_its_facts():
    hints, facts = get_type_hints(SummaryRow), get_type_hints(SummaryFacts)
    assert [name for name in hints if name not in facts] == names(SUMMARY)


def test_real_columns_can_be_chosen_by_name():
    assert number_of({"min_s": 1e-6}, "min_s") == 1e-6 and number_of({}, "max_s") is None
    for name in ("ranks", "none"):
        with pytest.raises(KeyError):
            number_of({"ranks": 2}, name)


def test_every_quantile_is_named_after_its_share():
    assert all(name == f"p{share:g}_s".replace(".", "_") for name, share in QUANTILES.items())


def test_only_a_measured_row_has_a_time():
    assert time_of({"time_s": 1e-6}) == 1e-6
    with pytest.raises(ValueError, match="ring of 8 bytes has"):
        time_of({"time_s": None, "competitor": "ring", "size_bytes": 8})

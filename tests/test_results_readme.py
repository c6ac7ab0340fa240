"""The explanation of the columns is the schema's own."""

from pathlib import Path

import pytest

from allreduce_bench import schema

TEXT = (Path(__file__).parents[1] / "results" / "README.md").read_text()


@pytest.mark.parametrize("columns", [schema.SUMMARY, schema.REPETITIONS, schema.CELLS], ids=["summary", "raw", "cells"])
def test_every_column_is_explained_in_order(columns):
    table = "\n".join(f"| `{column.name}` | {column.unit} | {column.meaning} |" for column in columns)
    assert table in TEXT


def test_the_schema_version_is_named():
    assert f"version\n{schema.SCHEMA_VERSION}." in TEXT or f"version {schema.SCHEMA_VERSION}." in TEXT

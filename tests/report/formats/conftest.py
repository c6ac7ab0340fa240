"""A result that the tests of all formats print."""

import pytest
from made_results import outcome
from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.summary_row import SummaryRow
from allreduce_bench.report.formats import Result


@pytest.fixture(scope="module")
def rows_and_result(tmp_path_factory) -> tuple[list[SummaryRow], Result]:
    folder = build_run(tmp_path_factory.mktemp("runs") / "run", ranks=(4, 2), outcome=outcome)
    rows = summarise(folder)
    return rows, Result.of(folder, rows)

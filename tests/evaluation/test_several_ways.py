"""One algorithm run several ways: what reads cells never mixes them, from the summary to fit and compare."""

import pytest
from made_runs import build_run

from allreduce_bench.comparison.conditions import read_sides
from allreduce_bench.comparison.matching import match_cells
from allreduce_bench.evaluation.competing import competitor_names
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import verdicts
from allreduce_bench.models.fitting import fit_all
from allreduce_bench.models.points import points
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table
from allreduce_bench.runs.plan import Cut
from allreduce_bench.runs.rows import RunError

FACTOR = {"sendrecv": 1.0, "pipelined": 0.5, "compiled": 0.7, "compiled-pipelined": 0.25}
NAMES = ("native", "native@compiled", "ring", "ring@pipelined", "ring@compiled", "ring@compiled-pipelined")
CUTS = {"window": 4, "cuts": (Cut(2, 1 << 20, 1 << 17), Cut(4, 1 << 22, 1 << 18))}


def of_four_ways(path, **changed):
    """A run in which every way takes another share of the same times."""
    return build_run(
        path,
        algorithms=NAMES,
        launches=5,
        choices=CUTS,
        factor=lambda launch, cell: FACTOR[cell.competitor.way] if cell.competitor.is_ours else 1.0,
        **changed,
    )


def test_ways_of_one_algorithm_compete_and_are_held_against_the_native_called_alike(tmp_path):
    rows = summarise(of_four_ways(tmp_path / "run"))
    at_a_size = [row for row in rows if (row["ranks"], row["size_bytes"]) == (2, 1 << 20)]
    assert [row["competitor"] for row in at_a_size] == list(NAMES) == competitor_names(rows, NAMES)
    time_s = {row["competitor"]: row["time_s"] for row in at_a_size}
    for row in at_a_size:
        native = "native@compiled" if "@compiled" in row["competitor"] else "native"
        assert row["speedup"] == time_s[native] / row["time_s"]
    assert [row["segment"] for row in at_a_size] == [None, None, None, 1 << 15, None, 1 << 15]
    won = {stretch.leaders for verdict in verdicts(rows) for stretch in verdict.stretches if stretch.is_won}
    assert ("ring@compiled-pipelined",) in won and not won & {("ring",), ("native",)}


def test_the_table_the_page_and_the_fit_name_each(tmp_path):
    why = "its cut schedule deadlocks"
    folder = of_four_ways(
        tmp_path / "run", outcome=lambda launch, cell: {"run_whole": why} if cell.window and cell.segment else {}
    )
    rows = summarise(folder)
    text = table(folder.plan(), rows, "a library")
    assert f"ring@pipelined (1 MiB), ring@compiled-pipelined (1 MiB) at 2 ranks ran whole: {why}" in text
    write_report([folder], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert (
        "native@compiled" in page and "ran whole" in page and "What is compiled is divided into native@compiled" in page
    )
    models = fit_all(points([folder]))
    assert {model.competitor for model in models} == {row["competitor"] for row in rows}
    assert len(models) == 6  # one for each, although each size is cut in another way
    beta = {model.competitor: model.parameters[-1].value for model in models}
    assert beta["ring@pipelined"] == pytest.approx(0.5 * beta["ring"], rel=0.1)


def test_runs_of_other_ways_have_no_cell_in_common(tmp_path):
    build_run(tmp_path / "before", algorithms=("ring",))
    build_run(tmp_path / "after", algorithms=("ring@compiled",))
    with pytest.raises(
        RunError,
        match="cell in common: competitor is ring in the.*ring@compiled in the",
    ):
        match_cells(*read_sides([tmp_path / "before"], [tmp_path / "after"]))
    of_four_ways(tmp_path / "four")
    cells = match_cells(*read_sides([tmp_path / "before"], [tmp_path / "four"]))
    assert {cell.key.competitor for cell in cells if cell.is_common} == {"ring"}
    assert len({cell.name for cell in cells}) == len(cells)

"""One algorithm run by several executors: what reads cells never mixes them, from the summary to fit and compare."""

import pytest
from made_runs import build_run
from places import DATA
from read_calls import calls_of

from allreduce_bench.comparison.conditions import read_sides
from allreduce_bench.comparison.matching import match_cells
from allreduce_bench.evaluation.cell_times import competitor_names
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.summary_row import competitor_of
from allreduce_bench.evaluation.verdict import verdicts
from allreduce_bench.models.points import points
from allreduce_bench.models.series import fit_all
from allreduce_bench.report.page import write_report
from allreduce_bench.report.table import table
from allreduce_bench.runs.cell import Cut, Launch
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.rows import RunError

FACTOR = {"sendrecv": 1.0, "pipelined": 0.5, "compiled": 0.7, "compiled-pipelined": 0.25, "native": 1.0}
FOUR = {"executors": EXECUTORS, "window": 4, "cuts": (Cut(2, 1 << 20, 1 << 17), Cut(4, 1 << 22, 1 << 18))}


def of_four_executors(path, **changed):
    """A run in which every executor takes another share of the same times."""
    return build_run(
        path,
        algorithms=("native", "ring"),
        choices=FOUR,
        factor=lambda launch, cell: FACTOR[cell.executor],
        **changed,
    )


def test_executors_of_one_algorithm_compete_and_are_held_against_the_native_called_alike(tmp_path):
    rows = summarise(of_four_executors(tmp_path / "run"))
    at_a_size = [row for row in rows if (row["ranks"], row["nbytes"]) == (2, 1 << 20)]
    names = ["native", "native@compiled", "ring", "ring@pipelined", "ring@compiled", "ring@compiled-pipelined"]
    assert [competitor_of(row) for row in at_a_size] == names == competitor_names(rows, ("native", "ring"))
    time_s = {competitor_of(row): row["time_s"] for row in at_a_size}
    for row in at_a_size:
        native = "native@compiled" if row["executor"].startswith("compiled") else "native"
        assert row["speedup"] == time_s[native] / row["time_s"]
    assert [row["window"] for row in at_a_size] == [None, None, None, 4, None, 4]
    assert [row["segment"] for row in at_a_size] == [None, None, None, 1 << 15, None, 1 << 15]
    won = {stretch.leaders for verdict in verdicts(rows) for stretch in verdict.stretches if stretch.is_won}
    assert ("ring@compiled-pipelined",) in won and not won & {("ring",), ("native",)}


def test_the_table_the_page_and_the_fit_name_each(tmp_path):
    why = "its cut schedule deadlocks"
    folder = of_four_executors(
        tmp_path / "run", outcome=lambda launch, cell: {"run_whole": why} if cell.window and cell.segment else {}
    )
    rows = summarise(folder)
    text = table(folder.plan(), rows, "a library")
    assert f"ran whole: ring@pipelined 1 MiB, ring@compiled-pipelined 1 MiB: {why}" in text
    write_report([folder], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "native@compiled" in page and "ran whole" in page and "Compiled executors" in page
    models = fit_all(points([folder]))
    assert {model.competitor for model in models} == {competitor_of(row) for row in rows}
    assert len(models) == 6  # one for each, although each size is cut in another way
    beta = {model.competitor: model.parts[0].parameters[-1].value for model in models}
    assert beta["ring@pipelined"] == pytest.approx(0.5 * beta["ring"], rel=0.1)


def test_runs_of_other_executors_have_no_cell_in_common(tmp_path):
    build_run(tmp_path / "before", algorithms=("ring",))
    build_run(tmp_path / "after", algorithms=("ring",), choices={"executors": ("compiled",)})
    with pytest.raises(
        RunError,
        match="cell in common: executor is sendrecv in the.*compiled in the",
    ):
        match_cells(*read_sides([tmp_path / "before"], [tmp_path / "after"]))
    of_four_executors(tmp_path / "four")
    cells = match_cells(*read_sides([tmp_path / "before"], [tmp_path / "four"]))
    assert {cell.key.executor for cell in cells if cell.is_common} == {"sendrecv"}
    assert len({cell.name for cell in cells}) == len(cells)


def test_a_resumed_run_measures_the_executors_that_are_missing(tmp_path):
    folder = of_four_executors(
        tmp_path / "run", outcome=lambda launch, cell: None if cell.executor == "compiled-pipelined" else {}
    )
    left = [cell for cell in folder.plan().cells(Launch(2, 1)) if cell.key not in folder.finished(Launch(2, 1))]
    assert {(cell.algorithm, cell.executor) for cell in left} == {("ring", "compiled-pipelined")}


def test_runs_of_before_have_no_window_and_are_read(tmp_path):
    example = RunFolder(DATA / "run_with_dissemination")
    assert example.plan().executors == ("sendrecv",) and not example.pending(example.plan())
    assert {row["window"] for row in example.marks()} == {row["window"] for row in calls_of(example)} == {""}
    assert not example.damages()

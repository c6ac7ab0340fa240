"""Runs over each other."""

import pandas as pd

from allreduce_bench.report.figure import FigureData
from allreduce_bench.report.figures.over_runs import draw_overlay


def several(rows: pd.DataFrame) -> FigureData:
    """The same run again, a tenth slower."""
    runs = [rows.assign(run=f"run{i}", groups="", time_s=rows["time_s"] * 1.1**i) for i in range(2)]
    return FigureData(pd.concat(runs), [])


def test_every_algorithm_has_a_panel_and_every_run_a_line(rows):
    drawing = draw_overlay(several(rows))
    titles = {axes.get_title() for axes in drawing.figure.axes}
    assert titles == {f"{name}, 8 ranks" for name in rows["competitor"]} and len(drawing.figure.axes) == 4
    assert set(drawing.numbers["ranks"]) == {8} and set(drawing.numbers["run"]) == {"run0", "run1"}
    assert len(drawing.live.panels) == 12 and list(drawing.live.hidden) == ["2 ranks", "4 ranks"]
    assert {series.name for panel in drawing.live.panels for series in panel.series} == {"run0", "run1"}


def test_runs_without_a_common_cell_are_not_laid_over_each_other(rows):
    data = several(rows)
    mixed = data.frame[(data.frame["run"] == "run0") == (data.frame["ranks"] == 2)]
    assert draw_overlay(FigureData(mixed, [])) is None

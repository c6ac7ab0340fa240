"""Runs over each other, and over their dates."""

import pandas as pd
import pytest

from allreduce_bench.models.model import NO_OWN
from allreduce_bench.report.figure import FigureData
from allreduce_bench.report.figures.over_runs import draw_overlay, draw_trend


def several(rows: pd.DataFrame, plans: tuple[int, ...]) -> FigureData:
    """The same run again and again, a day later and a tenth slower each time."""
    runs = [
        rows.assign(
            run=f"run{i}",
            plan=plan,
            groups="",
            created=f"2026-11-0{i + 1}T10:00:00+00:00",
            time_s=rows["time_s"] * 1.1**i,
        )
        for i, plan in enumerate(plans)
    ]
    return FigureData(pd.concat(runs), [], NO_OWN)


def test_every_algorithm_has_a_panel_and_every_run_a_line(rows):
    drawing = draw_overlay(several(rows, (0, 1)))
    titles = {axes.get_title() for axes in drawing.figure.axes}
    assert titles == {f"{name}, 8 ranks" for name in rows["competitor"]} and len(drawing.figure.axes) == 4
    assert set(drawing.numbers["ranks"]) == {8} and set(drawing.numbers["run"]) == {"run0", "run1"}
    assert len(drawing.live.panels) == 12 and list(drawing.live.hidden) == ["2 ranks", "4 ranks"]
    assert {series.name for panel in drawing.live.panels for series in panel.series} == {"run0", "run1"}


def test_runs_without_a_common_cell_are_not_laid_over_each_other(rows):
    data = several(rows, (0, 1))
    mixed = data.frame[(data.frame["run"] == "run0") == (data.frame["ranks"] == 2)]
    assert draw_overlay(FigureData(mixed, [], NO_OWN)) is None


@pytest.mark.parametrize(("plans", "drawn"), [((0, 0), 0), ((0, 1, 2), 0), ((0, 0, 0), 3), ((1, 0, 0, 0), 3)], ids=str)
def test_a_trend_needs_three_runs_of_one_plan(rows, plans, drawn):
    drawing = draw_trend(several(rows, plans))
    assert (drawing is not None) == bool(drawn)
    if drawing:
        assert drawing.numbers["run"].nunique() == drawn and len(drawing.figure.axes) == 3
        assert list(drawing.live.names.values())[-1] == f"2026-11-0{len(plans)}"
        (first, *_) = drawing.live.panels[0].series
        assert first.y[-1] == pytest.approx(first.y[0] * 1.1 ** (drawn - 1))


def test_a_run_that_does_not_say_when_it_was_made_is_left_out_of_the_trend(rows):
    data = several(rows, (0, 0, 0))
    undated = data.frame.assign(created=data.frame["created"].where(data.frame["run"] != "run1", "?"))
    assert draw_trend(FigureData(undated, [], NO_OWN)) is None

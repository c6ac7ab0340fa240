"""The picture of a chart: its axis follows the competitors, and its legend names what can be seen."""

from math import nan

import pytest

from allreduce_bench.report.chart_drawing import draw_chart
from allreduce_bench.report.figure import styles
from allreduce_bench.report.live_chart import Axis, LiveChart, LiveLine, LivePanel, LiveSeries, Switch

NEAR = LiveLine("a near bound", "bound", [8, 64], [12.0, 60.0])
FAR = LiveLine("a far bound", "limit", [8, 64], [0.01, 0.02])


def drawn(lines=(NEAR, FAR), is_log=True, hidden=(), **changes):
    series = LiveSeries("ring", [8, 16, 64], [10.0, nan, 80.0], [9.0, nan, 70.0], [11.0, nan, 90.0], ["", "", ""])
    panels = [LivePanel(tag, (tag,), [series._replace(**changes)], lines) for tag in ("2 ranks", "4 ranks")]
    y_axis = Axis("time", log=is_log, shared=True, unit="us")
    names = {8: "8 B", 16: "16 B", 64: "64 B"}
    return draw_chart(LiveChart("Time", "size", y_axis, names, panels, styles(["ring", "tree"]), hidden=hidden))


def words(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("is_log", [True, False])
def test_bounds_do_not_stretch_the_axis_and_have_a_name_only_where_they_are_seen(is_log):
    figure = drawn(is_log=is_log)
    assert all(
        (low > 7 if is_log else low == 0) and 90 < high < 110 for low, high in (a.get_ylim() for a in figure.axes)
    )
    assert words(figure) == ["ring", "a near bound"] + ["a far bound"] * (not is_log)


def test_hidden_panels_are_not_drawn_and_titles_and_crossovers_are():
    (axes,) = drawn(hidden=("2 ranks",)).axes
    assert axes.get_title() == "4 ranks" and axes.get_xlabel() == "size" and axes.get_ylabel() == "time"


def test_a_line_is_drawn_in_parts_where_another_algorithm_is_at_work():
    whole, parted = drawn(lines=()), drawn(lines=(), breaks=[2])
    assert len(parted.axes[0].lines) == len(whole.axes[0].lines) + 1


def test_a_crossover_is_a_line_in_its_range():
    series = LiveSeries("ring", [8, 64], [1.0, 2.0], [None] * 2, [None] * 2, ["", ""])
    panel = LivePanel("2 ranks", ("2 ranks",), [series], marks=[Switch(20.0, 8.0, 64.0, "")])
    y_axis = Axis("time", log=True)
    (drawn_axes,) = draw_chart(
        LiveChart("Time", "size", y_axis, {8: "8 B", 64: "64 B"}, [panel], styles(["ring"]))
    ).axes
    assert [20.0, 20.0] in [list(line.get_xdata()) for line in drawn_axes.lines] and drawn_axes.patches

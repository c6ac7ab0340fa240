"""A chart as the script reads it."""

import json
from math import nan

from allreduce_bench.report.figure import styles
from allreduce_bench.report.live_chart import Axis, LiveChart, LiveLine, LivePanel, LiveSeries, add_white, chart_json


def chart(**changes) -> LiveChart:
    series = LiveSeries("ring", [8, 16], [1.23456789, nan], [1, None], [2, nan], ["a", "b"], ["c", "d"])
    panel = LivePanel("2 ranks", ("2 ranks",), [series], [LiveLine("bound", "bound", [8, 16], [nan, 1])])
    looks = styles(["native", "ring"])
    y_axis = Axis("time (us)", log=True)
    return LiveChart("Time", "size", y_axis, {8: "8 B", 16: "16 B"}, [panel], looks, [["2 ranks"]])._replace(**changes)


def test_numbers_have_few_digits_and_what_is_missing_is_null():
    (panel,) = chart_json(chart())["panels"]
    assert panel["series"][0]["y"] == [1.23457, None] and panel["series"][0]["low"] == [1.0, None]
    assert panel["lines"][0]["y"] == [None, 1.0] and "NaN" not in json.dumps(chart_json(chart()))


def test_the_axis_names_its_values_and_looks_are_those_of_the_picture():
    made = chart_json(chart(hidden=["2 ranks"]))
    assert made["x"]["values"] == [8, 16] and made["x"]["names"] == ["8 B", "16 B"] and made["hidden"] == ["2 ranks"]
    assert made["looks"]["ring"] == {"light": "#0072b2", "marker": "o", "dash": None, "hollow": False} | {
        "dark": made["looks"]["ring"]["dark"]
    }
    assert made["looks"]["native"]["hollow"]


def test_dark_pages_get_lighter_lines():
    assert add_white("#000000") == "#f2f2f2" and add_white("#ffff00") == "#ffff00"
    assert add_white("#0072b2") > "#0072b2"

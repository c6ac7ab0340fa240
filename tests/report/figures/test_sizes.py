"""The charts over size hold the values of the summary."""

import pandas as pd
import pytest

from allreduce_bench.report.figures.sizes import chart_bandwidth, chart_speedup, chart_times, measured_words
from allreduce_bench.report.live_chart import NO_SWITCHES, Switch, cell_id

BOUNDS = pd.DataFrame(
    {
        "ranks": [2, 2],
        "size_bytes": [8, 1024],
        "time_s": [1e-6, 2e-6],
        "busbw_bytes_per_s": [1e6, 1e9],
    }
)


def values(chart):
    return {
        (panel.tags[0], series.name, x): y
        for panel in chart.panels
        for series in panel.series
        for x, y in zip(series.x, series.y)
        if pd.notna(y)
    }


def test_times_bandwidths_and_speedups_are_those_of_the_summary(rows):
    done = rows[rows["time_s"].notna()]
    times = values(chart_times(rows, BOUNDS, NO_SWITCHES))
    rates, speedups = values(chart_bandwidth(rows, BOUNDS)), values(chart_speedup(rows, NO_SWITCHES))
    assert len(times) == len(rates) == len(done) and len(speedups) < len(done)
    for row in done.to_dict("records"):
        key = (f"{row['ranks']} ranks", row["competitor"], row["size_bytes"])
        assert times[key] == pytest.approx(row["time_s"] * 1e6)
        assert rates[key] == pytest.approx(row["busbw_bytes_per_s"] / 1e9)
        if key in speedups:
            assert speedups[key] == pytest.approx(row["speedup"]) and row["competitor"] != "native"


def test_a_line_is_broken_where_a_size_has_no_time(rows):
    gap = rows.assign(time_s=rows["time_s"].mask(rows["size_bytes"] == 1024))
    (series, *_) = chart_times(gap, BOUNDS, NO_SWITCHES).panels[0].series
    assert list(series.x) == sorted(set(rows["size_bytes"])) and pd.isna(series.y[1]) and series.words[1] == ""


def test_a_value_says_its_interval_and_its_launches(rows):
    row = rows[rows["time_s"].notna()].iloc[0].to_dict() | {"time_s": 12.34e-6, "interval": "launches", "launches": 5}
    row |= {"time_low_s": 12e-6, "time_high_s": 13e-6, "repetitions": 100, "doubt": pd.NA}
    assert measured_words(row) == "12.3 us [12.0, 13.0], 5 launches of 20 calls"
    assert measured_words({**row, "interval": "range", "launches": 1}) == "12.3 us, 1 launch of 100 calls"
    doubted = measured_words({**row, "doubt": "hung", "repetitions": None})
    assert "5 launches; not ranked" in doubted and doubted.endswith(": hung")


def test_values_name_the_cells_whose_calls_a_reader_may_ask_for(rows):
    panel = chart_times(rows, BOUNDS, NO_SWITCHES).panels[0]
    ring = next(series for series in panel.series if series.name == "ring")
    assert list(ring.cells) == [cell_id(2, "ring", size_bytes) for size_bytes in ring.x]


def test_lines_and_crossovers_belong_to_their_rank_count(rows):
    switch = Switch(100.0, 8.0, 1024.0, "crossover")
    chart = chart_times(rows, BOUNDS, {4: [switch]})
    assert [len(panel.marks) for panel in chart.panels] == [0, 1, 0]
    assert [any(line.kind == "bound" for line in panel.lines) for panel in chart.panels] == [True, False, False]


def test_what_was_not_measured_is_not_drawn(rows):
    nothing = rows.assign(time_s=float("nan"))
    assert chart_times(nothing, BOUNDS, NO_SWITCHES) is None
    assert chart_speedup(rows[rows["competitor"] == "native"], NO_SWITCHES) is None

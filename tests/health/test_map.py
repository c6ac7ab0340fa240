"""The figure of a check: names, units, nodes ordered by name, residuals centred at 0."""

import numpy as np
import pytest

from allreduce_bench.health.judgement import PairTable, judge_tables
from allreduce_bench.health.map import health_figure, round_ticks


def made(nodes: int, missing: bool = False):
    names = tuple(f"n{number:02}" for number in reversed(range(nodes)))
    random = np.random.default_rng(1)
    tables = []
    for name, unit, is_rate in (("latency", "us", False), ("bandwidth", "GB/s", True)):
        logs = random.normal(0, 0.05, (nodes, nodes))
        logs[3] += 1
        np.fill_diagonal(logs, np.nan)
        tables.append(PairTable(name, names, logs * np.nan if missing else logs, unit, is_rate))
    return judge_tables(tables, frozenset(), {}, 0.2)


def test_a_row_per_table_with_units_and_nodes_in_order():
    figure = health_figure(made(8))
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == [
        "latency, measured",
        "latency, of the link alone",
        "bandwidth, measured",
        "bandwidth, of the link alone",
    ]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == [f"n{number:02}" for number in range(8)]
    assert (panels[0].get_xlabel(), panels[0].get_ylabel()) == ("to node", "from node")
    bars = [axes.get_ylabel() for axes in figure.axes if not axes.get_title()]
    assert {"time (us), log. colour scale", "rate (GB/s), log. colour scale"} < set(bars)
    assert "times the expected time, log. colour scale" in bars
    low, high = panels[1].images[0].get_clim()
    assert low * high == pytest.approx(1) and panels[1].images[0].get_cmap().name == "RdBu_r"
    assert panels[0].images[0].get_array()[4, 0] == pytest.approx(np.exp(made(8).results[0].table.log_time[3, 7]))


def test_a_table_without_any_pair_is_drawn_empty():
    assert len(health_figure(made(4, missing=True)).axes) == 8


def test_the_title_names_the_suspect_which_is_framed_and_marked():
    found = made(9)
    figure = health_figure(found)
    assert figure.get_suptitle().startswith("1 bad node: n05")
    bold = [label.get_text() for label in figure.axes[0].get_xticklabels() if label.get_fontweight() == "bold"]
    assert bold == ["n05"] and len(figure.axes[0].patches) == 2
    quiet = judge_tables([result.table for result in found.results], frozenset(), {}, 99.0)
    assert health_figure(quiet).get_suptitle().startswith("no node") and not health_figure(quiet).axes[0].patches


def test_a_panel_that_is_not_judged_says_so():
    tables = [result.table for result in made(9).results]
    figure = health_figure(judge_tables(tables, frozenset(), {}, 0.2, ["latency"]))
    said = [[text.get_text() for text in axes.texts] for axes in figure.axes if axes.get_title()]
    assert said == [["not judged"], ["not judged"], [], []]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.03, 0.123, [0.04, 0.06, 0.08, 0.1, 0.12]),
        (3, 400, [5, 10, 20, 50, 100, 200]),
        (1, 1e4, [1, 10, 100, 1e3, 1e4]),
    ],
)
def test_ticks_are_round_numbers(low, high, ticks):
    assert round_ticks(low, high) == pytest.approx(ticks)

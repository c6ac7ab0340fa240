"""Where the parts of the pictures stand: inside of them, in order, and readable on a phone."""

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.gallery.charts import (
    CHART_WIDTH,
    MACHINES,
    MAP_SIZES,
    WinnerMap,
    codes,
    line_chart,
    map_chart,
    short_size,
)
from allreduce_bench.pages.gallery.facts import PredictedTimes


def made_map() -> WinnerMap:
    ranks = MACHINES[0].ranks
    return WinnerMap(MACHINES[0], ranks, MAP_SIZES, tuple(("ring",) * (len(MAP_SIZES) - 1) + (None,) for _ in ranks))


def test_a_map_has_its_fields_inside_and_its_empty_ones():
    chart = map_chart(made_map())
    assert len(chart.cells) == len(MAP_SIZES) * len(MACHINES[0].ranks)
    assert all(0 <= cell.x < cell.x + cell.width <= CHART_WIDTH + 1e-6 for cell in chart.cells)
    assert max(cell.y + cell.height for cell in chart.cells) < chart.below[0].y < chart.height
    assert [cell.winner for cell in chart.cells][: len(MAP_SIZES)] == ["ring"] * (len(MAP_SIZES) - 1) + [""]
    assert chart.cells[0].text == "ring: 2 ranks, 8 B"


def test_no_label_of_a_map_reaches_its_neighbour():
    chart = map_chart(made_map())
    width = chart.below[1].x - chart.below[0].x
    assert all(7 * len(label.text) <= width + 1 for label in chart.below)  # 11 pixels high: 7 wide


def test_lines_rise_with_time_and_lie_inside():
    lines = [
        PredictedTimes("ring", 1024, (2, 16, 1024), (1e-5, 1e-4, 1e-2)),
        PredictedTimes("tree", 1024, (2, 16, 1024), (3e-5,) * 3),
    ]
    chart = line_chart("title", lines)
    ring, tree = ([tuple(map(float, pair.split(","))) for pair in curve.points.split()] for curve in chart.curves)
    assert [x for x, _ in ring] == sorted(x for x, _ in ring) and ring[0][1] > ring[1][1] > ring[2][1]
    assert len({y for _, y in tree}) == 1
    assert all(0 <= x <= chart.width and 0 <= y <= chart.height for x, y in (*ring, *tree))
    assert [label.text for label in chart.labels] == ["10 us", "100 us", "1 ms", "10 ms"]
    assert [label.text for label in chart.below] == ["2", "16", "128", "1,024"]


def test_codes_tell_all_algorithms_apart():
    found = codes([*builtin()])
    assert len(set(found.values())) == len(found) and all(2 <= len(code) <= 3 for code in found.values())
    assert (found["ring"], found["recursive_doubling"]) == ("ri", "rd")
    assert codes(["ring", "rinse", "risk"]) == {"ring": "ri", "rinse": "ri2", "risk": "ri3"}


def test_sizes_are_short():
    assert [short_size(size) for size in (8, 1 << 15, 1 << 27)] == ["8", "32K", "128M"]

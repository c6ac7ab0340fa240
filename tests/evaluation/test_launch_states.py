"""Two levels of launches, or one launch apart, become columns and facts of the cells that show them."""

import csv

import numpy as np
import pytest
from made_runs import SIZES, WAITS_FROM, build_run, waits
from two_states import made_of_two_levels, medians_of, series_of_logs

from allreduce_bench.evaluation.launch_states import find_gap, find_states, series_in_states, split_launches
from allreduce_bench.evaluation.summary import record_summary, summarise


def rows_of(folder):
    return {(row["competitor"], row["ranks"], row["size_bytes"]): row for row in summarise(folder)}


def split(slow: tuple[int, ...], sizes: int, factor: float, at: slice, launches: int = 5) -> np.ndarray:
    """Seconds of launches, 2 % apart; those numbered in `slow` take `factor` as long at some of the sizes."""
    times_s = np.linspace(1.0, 1.02, launches)[:, None] * 1e-5 * np.arange(1, sizes + 1)
    times_s[np.array(slow, int), at] *= factor
    return times_s


def told(times_s: np.ndarray) -> dict[int, str]:
    """Size number -> the launches above the gap, and whether one is apart."""
    found = find_states(medians_of([times_s]))
    return {
        size: f"{','.join(name[-1] for name in states.high_launches)}{' apart' if states.apart else ''}"
        for (_, size), states in found.items()
    }


def gap_of(*times_s: float):
    return find_gap({f"2r-{number}": time_s for number, time_s in enumerate(times_s, 1)})


@pytest.mark.parametrize(
    "times_s, above",
    [
        ((1, 1, 1.3, 1.3), ("2r-3", "2r-4")),
        ((1, 1, 1.29, 1.29), None),  # too small a gap
        ((1, 1.2, 1.8, 1.8), ("2r-3", "2r-4")),  # six interquartile ranges, of 0.1
        ((1, 1.5, 2.2, 2.2), None),  # less than three, of 0.25
        ((5, 1, 1, 1), ("2r-1",)),  # one apart
        ((1, 1, 2, 2, 9), ("2r-5",)),
        ((1, 1, 1, 2, 2, 2, 2, 9), ("2r-4", "2r-5", "2r-6", "2r-7", "2r-8")),  # two on each side go before
        ((1, 9), None),  # of two nobody knows which is apart
    ],
)
def test_a_gap_is_told_by_its_ratio_and_the_ranges_beside_it(times_s, above):
    found = gap_of(*times_s)
    assert (found and found.high_launches) == above


@pytest.mark.parametrize(
    "slow, at, said",
    [
        ((1, 3), slice(5, 8), dict.fromkeys((5, 6, 7), "1,3")),
        ((1, 3), slice(0, 8, 3), dict.fromkeys((0, 3, 6), "1,3")),
        ((1, 3), slice(6, 8), {}),  # at too few sizes
        ((1,), slice(5, 8), dict.fromkeys((5, 6, 7), "1 apart")),
        ((0, 2, 3, 4), slice(5, 8), dict.fromkeys((5, 6, 7), "0,2,3,4 apart")),
        ((1,), slice(0, 8, 2), {}),  # never at three neighbours
    ],
)
def test_the_same_launches_are_above_the_gap_at_three_sizes(slow, at, said):
    assert told(split(slow, 8, 3.0, at)) == said


def test_other_launches_at_each_size_are_no_level():
    times_s = split((), 6, 1.0, slice(0))
    for size, slow in enumerate([(0, 1), (2, 3), (1, 4), (0, 2), (3, 4), (0, 4)]):
        times_s[np.array(slow), size] *= 3.0
    assert told(times_s) == {}


def test_what_was_not_measured_is_on_no_side():
    times_s = split((0, 1), 4, 3.0, slice(None), launches=6)
    times_s[5, 1] = np.nan
    found = find_states(medians_of([times_s]))
    assert found[(0,), 1].low_launches == ("2r-2", "2r-3", "2r-4") and len(found) == 4
    assert find_states({}) == find_states({(("ring",), 8): {"2r-1": 1.0}}) == {}


@pytest.mark.parametrize("cloud, said", [("gke", "1,2,4"), ("compute_engine", "0,1,2,4 apart")])
def test_logs_whose_launches_are_known_to_differ(cloud, said):
    sizes, times_s = series_of_logs(cloud)
    assert {sizes[at]: words for at, words in told(times_s).items()} == {4096 << i: said for i in range(9)}


def test_noise_of_one_level_is_no_state_and_a_gap_of_twice_the_time_is_always():
    random = np.random.default_rng(1)
    noise = np.exp(random.normal(0, 0.05, (40, 5, 1)) + random.normal(0, 0.1, (40, 5, 12)))
    assert not any("apart" not in words for times_s in noise for words in told(times_s).values())
    assert all(told(made_of_two_levels(5, 2, seed, gap=2.0)) for seed in range(40))


def test_only_the_cells_on_two_levels_say_so(tmp_path):
    rows = rows_of(build_run(tmp_path / "run", launches=5, factor=waits))
    at = {cell for cell, row in rows.items() if row.get("launch_states")}
    assert at == {("native", 4, size_bytes) for size_bytes in SIZES if size_bytes >= WAITS_FROM}
    row = rows["native", 4, SIZES[-1]]
    states = row["launch_states"]
    assert states.low_launches == ("4r-1", "4r-4", "4r-5") and states.high_launches == ("4r-2", "4r-3")
    assert states.high_s / states.low_s == pytest.approx(20, rel=0.1)
    assert (row["states"], row["state_low_s"], row["state_high_s"]) == ("low:3,high:2", states.low_s, states.high_s)
    assert "states" not in rows["ring", 4, SIZES[-1]]


def test_the_columns_are_in_the_file(tmp_path):
    folder = build_run(tmp_path / "run", launches=5, factor=waits, algorithms=("native",), ranks=(4,))
    record_summary(folder)
    with open(folder.summary_csv, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["states"] for row in rows] == ["", "", *["low:3,high:2"] * 3]
    assert all(bool(row["state_low_s"]) == bool(row["states"]) for row in rows)
    assert [row["doubt"] for row in rows] == ["", "", *["two states"] * 3]


def test_a_launch_apart_costs_no_verdict(tmp_path):
    def only_one(launch, cell):
        return 1.0 if launch.number == 3 else waits(launch, cell)

    rows = rows_of(build_run(tmp_path / "run", launches=5, factor=only_one))
    apart = {cell: row["launch_apart"].apart for cell, row in rows.items() if row.get("launch_apart")}
    assert apart == {("native", 4, size_bytes): "4r-2" for size_bytes in SIZES if size_bytes >= WAITS_FROM}
    assert not any(rows[cell]["doubt"] or rows[cell].get("states") for cell in apart)
    assert all(rows[cell]["standing"] for cell in apart)


def test_the_series_in_states_know_all_their_sizes(tmp_path):
    (series,) = series_in_states(summarise(build_run(tmp_path / "run", launches=5, factor=waits)))
    assert series.sizes == SIZES
    assert [row["size_bytes"] for row in series.rows] == [
        size_bytes for size_bytes in SIZES if size_bytes >= WAITS_FROM
    ]


def test_rows_without_a_time_are_passed_over():
    rows = [{"time_s": None, "size_bytes": 8}]
    assert split_launches(rows) == [{}] and not list(series_in_states(rows))

"""From the files of a run to one row a cell: what is planned is there, ties are told, floors are columns."""

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.summary import by_size, competing, is_tie, launch_ratios, record_summary, summarise
from allreduce_bench.runs.schema import SUMMARY, names


def row(*medians_s: float, interval: str = "launches", low: float = 1.0, high: float = 2.0) -> dict:
    medians = {f"2r-{number}": median_s for number, median_s in enumerate(medians_s, start=1)}
    return {"launch_medians": medians, "interval": interval, "time_low_s": low, "time_high_s": high}


def test_every_planned_cell_has_a_row_in_the_order_of_the_plan(tmp_path):
    def outcome(launch, cell):
        return None if cell.algorithm == "native" else {}

    rows = summarise(build_run(tmp_path / "run", algorithms=("ring", "native"), sizes=(8, 64), outcome=outcome))
    cells = [(row["ranks"], row["nbytes"], row["algorithm"]) for row in rows]
    assert cells == [(ranks, nbytes, name) for ranks in (2, 4) for nbytes in (8, 64) for name in ("ring", "native")]
    assert {row["state"] for row in rows if row["algorithm"] == "native"} == {"missing"}
    assert {key[:2] for key in by_size(rows)} == {(2, 8), (2, 64), (4, 8), (4, 64)}


def test_the_fastest_is_best_and_speed_is_relative_to_native(tmp_path):
    factor = {"ring": 1.0, "native": 10.0}
    folder = build_run(
        tmp_path / "run",
        algorithms=("ring", "native"),
        sizes=(8,),
        ranks=(2,),
        factor=lambda _, cell: factor[cell.algorithm],
    )
    rows = {row["algorithm"]: row for row in summarise(folder)}
    assert (rows["ring"]["rank_of_best"], rows["native"]["rank_of_best"]) == ("best", None)
    assert rows["native"]["speedup"] == 1 and rows["ring"]["speedup"] > 1


def test_floors_are_columns_and_the_summary_is_a_file(tmp_path):
    folder = build_run(tmp_path / "run", algorithms=("ring",), sizes=(8, 64), ranks=(2,), floors=True)
    rows = record_summary(folder)
    assert [row["algorithm"] for row in rows] == ["ring", "ring"]
    assert (
        rows[0]["call_floor_s"] == rows[1]["call_floor_s"] and rows[0]["copy_floor_s"] < rows[1]["copy_floor_s"] * 1.1
    )
    header, *lines = folder.summary_csv.read_text().splitlines()
    assert header == ",".join(names(SUMMARY)) and len(lines) == 2


def test_one_group_alone_competes_with_nobody():
    rows = [{"groups": "together"}, {"groups": "alone"}, {"groups": ""}]
    assert competing(rows) == [rows[0], rows[2]]


def test_ratios_are_of_launches_that_measured_both():
    other = {"launch_medians": {"2r-2": 4.0, "2r-9": 1.0}}
    assert launch_ratios(row(1.0, 2.0), other) == [0.5]


@pytest.mark.parametrize(
    "one, other, tied",
    [
        (row(1.0, 1.1, 0.9), row(1.0, 1.0, 1.0), True),
        (row(1.0, 1.1, 0.9), row(2.0, 2.2, 1.8), False),  # every launch says the same, though launches differ
        (row(1.0, low=1, high=2), row(3.0, low=2, high=4), True),
        (row(1.0, low=1, high=2), row(3.0, low=2.5, high=4), False),
        (row(1.0, low=1, high=2, interval="range"), row(3.0, low=2.5, high=4), True),
    ],
)
def test_a_tie_is_what_the_data_cannot_tell_apart(one, other, tied):
    assert is_tie(one, other) is is_tie(other, one) is tied

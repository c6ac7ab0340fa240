"""From the files of a run to one row a cell: what is planned is there, floors are columns."""

from made_runs import build_run

from allreduce_bench.evaluation.competing import by_size
from allreduce_bench.evaluation.summary import record_summary, summarise
from allreduce_bench.runs.schema import SUMMARY, names


def test_every_planned_cell_has_a_row_in_the_order_of_the_plan(tmp_path):
    def outcome(launch, cell):
        return None if cell.algorithm == "native" else {}

    rows = summarise(build_run(tmp_path / "run", algorithms=("ring", "native"), sizes=(8, 64), outcome=outcome))
    cells = [(row["ranks"], row["size_bytes"], row["competitor"]) for row in rows]
    assert cells == [
        (ranks, size_bytes, name) for ranks in (2, 4) for size_bytes in (8, 64) for name in ("ring", "native")
    ]
    assert {row["state"] for row in rows if row["competitor"] == "native"} == {"missing"}
    assert {key[:2] for key in by_size(rows)} == {(2, 8), (2, 64), (4, 8), (4, 64)}


def test_floors_are_columns_and_the_summary_is_a_file(tmp_path):
    folder = build_run(tmp_path / "run", algorithms=("ring",), sizes=(8, 64), ranks=(2,), floors=True)
    rows = record_summary(folder)
    assert [row["competitor"] for row in rows] == ["ring", "ring"]
    assert (
        rows[0]["call_floor_s"] == rows[1]["call_floor_s"] and rows[0]["copy_floor_s"] < rows[1]["copy_floor_s"] * 1.1
    )
    header, *lines = folder.summary_csv.read_text().splitlines()
    assert header == ",".join(names(SUMMARY)) and len(lines) == 2


def test_a_doubted_time_has_no_speed_up(tmp_path):
    """The run's native takes less than no call at all."""
    folder = build_run(
        tmp_path / "run",
        sizes=(8,),
        ranks=(2,),
        floors=True,
        factor=lambda _, cell: 1e-6 if cell.algorithm == "native" else 1.0,
    )
    rows = {row["competitor"]: row for row in summarise(folder)}
    assert rows["native"]["doubt"] == "below a floor" and rows["native"]["standing"] is None
    assert all(row["speedup"] is None for row in rows.values())

"""Forced algorithms are ranked beside ours where their launches leave the library's own choice as it is."""

import pytest
from made_rows import made_row
from made_runs import build_run

from allreduce_bench.evaluation.doubts import OTHER_DEFAULT, REFERENCE, find_doubts
from allreduce_bench.evaluation.forced_launches import find_forced_doubts
from allreduce_bench.evaluation.missing import MissingCell, group_missing
from allreduce_bench.evaluation.standings import contest_of
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.summary_row import join_columns
from allreduce_bench.importers.merge import merge
from allreduce_bench.report.table import table
from allreduce_bench.runs.cell import ALL_FORCED, Launch
from allreduce_bench.runs.competitor import FORCED_DEFAULT

NATIVE_S = (1.00, 1.01, 0.99, 1.00, 1.02)
RING = "native:ring"
ALGORITHMS = ("native", FORCED_DEFAULT, RING, "ring")
CHOICES = {"forced_launches": (ALL_FORCED,)}


def forced_row(algorithm, size_bytes, medians_s):
    row = made_row(algorithm, size_bytes, medians_s)
    return {**row, "launch_medians": {f"{launch}-forced": s for launch, s in row["launch_medians"].items()}}


def rows_of(default_over_native, launches=5):
    untouched = [made_row(name, 8, NATIVE_S[:launches]) for name in ("native", "ring")]
    default = [default_over_native * time_s for time_s in NATIVE_S[:launches]]
    rows = [*untouched, forced_row(FORCED_DEFAULT, 8, default), forced_row(RING, 8, [0.5 * s for s in default])]
    rows = [row | {"grade": "good"} for row in join_columns(rows, find_doubts(rows))]
    return {row["competitor"]: row for row in join_columns(rows, find_forced_doubts(rows))}


@pytest.mark.parametrize(("factor", "is_ranked"), [(1.0, True), (1.04, True), (1.12, False), (0.9, False)])
def test_not_ranked_where_the_default_of_their_launches_is_shown_to_differ(factor, is_ranked):
    rows = rows_of(factor)
    assert rows[FORCED_DEFAULT]["doubt"] == REFERENCE
    assert rows[RING]["doubt"] == (None if is_ranked else OTHER_DEFAULT)
    assert rows["native"]["doubt"] is rows["ring"]["doubt"] is None
    if not is_ranked:
        assert rows[RING]["default_ratio"] == pytest.approx(factor)
    contest = contest_of(list(rows.values()))
    assert contest.is_open and contest.lowest == (RING if is_ranked else "native")


def test_few_launches_show_nothing():
    assert rows_of(1.5, launches=2)[RING]["doubt"] is None


def of_default(launch, cell):
    return 1.5 if launch.forced and cell.size_bytes == 8 else 1.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("forced") / "run"
    sizes = {"sizes": (8, 65536), "ranks": (2,), "launches": 5}
    return build_run(path, algorithms=ALGORITHMS, choices=CHOICES, factor=of_default, **sizes)


def test_the_table_says_so_in_a_sentence_and_the_default_does_not_compete(folder):
    rows = summarise(folder)
    assert {(row["competitor"], row["size_bytes"], row["doubt"]) for row in rows if row["doubt"]} == {
        *((FORCED_DEFAULT, size_bytes, REFERENCE) for size_bytes in (8, 65536)),
        (RING, 8, OTHER_DEFAULT),
    }
    assert {row["launches"] for row in rows} == {5} and {row["standing"] for row in rows if row["doubt"]} == {None}
    speedups = {(row["competitor"], row["size_bytes"]): row.get("speedup") for row in rows}
    assert speedups[RING, 8] is None is speedups[FORCED_DEFAULT, 65536] and speedups[RING, 65536] is not None
    said = table(folder.plan(), rows, "Open MPI 5.0.11")
    assert (
        f"not ranked, the library's own choice takes another time in its launches than native: {RING} 8 B (1.5" in said
    )
    assert said.count("not ranked, ") == 1 and FORCED_DEFAULT in said


def test_merged_runs_keep_launches_of_one_number_together(folder, tmp_path):
    other = build_run(tmp_path / "b", algorithms=ALGORITHMS, choices=CHOICES, sizes=(8, 65536), ranks=(2,), launches=2)
    merge([folder, other], tmp_path / "both", ["collect"])
    assert {row["launches"] for row in summarise(type(folder)(tmp_path / "both"))} == {7}


def test_missing_launches_are_named_by_their_way(folder):
    plan, launches = folder.plan(), [Launch(2, 1, ALL_FORCED), Launch(2, 2, ALL_FORCED)]
    missing = [MissingCell(launch, cell, "missing", "why") for launch in launches for cell in plan.cells(launch)]
    (group,) = group_missing(plan, missing)
    assert group.sentence == "all 4 cells at 2 ranks: launches 1-forced, 2-forced: why"

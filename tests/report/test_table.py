"""The closing table of a run."""

import re
from dataclasses import replace

import pytest
from made_runs import build_run
from places import ROOT

from allreduce_bench.algorithms import builtin
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import FEW_LAUNCHES
from allreduce_bench.report.table import table, where
from allreduce_bench.report.verdict_sentence import REASONS
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.tables import Screen
from allreduce_bench.units import three_digits

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def test_ranks_and_nodes_come_with_what_a_reader_must_know():
    row = {"ranks": 4, "nodes": 1, "nodes_declared": 2, "oversubscribed": True}
    crowded = "(OVERSUBSCRIBED: more ranks than cores)"
    assert where([row]) == f"4 ranks on 1 node (PRETENDED: 2 nodes) {crowded}"
    assert where([{"ranks": 1, "cache": "warm"}]) == "1 rank"


def test_the_heading_names_each_condition_that_is_not_the_default(tmp_path):
    folder = build_run(tmp_path / "a", ranks=(2,), launches=1, cache="cold")
    heading = table(folder.plan(), summarise(folder), "an MPI").splitlines()[0]
    assert heading == "allreduce, float32 sum, out of place, cache cold, an MPI"


def test_missing_cells_are_explained_once_per_reason(tmp_path):
    def outcome(launch, cell):
        return {"state": "skipped", "reason": "needs memory"} if cell.algorithm == "ring" else {}

    folder = build_run(tmp_path / "a", sizes=(8, 1024), ranks=(2,), launches=1, outcome=outcome)
    lines = table(folder.plan(), summarise(folder), "an MPI").splitlines()
    assert "grade: provisional: 1 launch (use 5 launches or more); load unknown" in lines
    assert lines[0] == "allreduce, float32 sum, out of place, an MPI" and "2 ranks on 1 node" in lines
    in_place = table(replace(folder.plan(), in_place=True), summarise(folder), "an MPI").splitlines()
    assert in_place[0] == "allreduce, float32 sum, in place, an MPI"
    assert "4 of 6 cells done, 0 wrong elements, 2 skipped." in lines
    assert "skipped: ring 8 B, ring 1 KiB: needs memory" in lines and "5 launches or more" in REASONS[FEW_LAUNCHES]
    assert sum(line == f"2 ranks: No winner: {REASONS[FEW_LAUNCHES]}." for line in lines) == 1


@pytest.fixture(scope="module")
def kept_runs(tmp_path_factory):
    """Real runs, and one of all algorithms in which not everything went well."""

    def outcome(launch, cell):
        return {"state": "wrong", "wrong": 3} if (cell.algorithm, cell.size_bytes) == ("tree", 1024) else {}

    path = tmp_path_factory.mktemp("kept") / "run"
    build_run(path, algorithms=("native", *builtin()), ranks=(4,), sizes=(8, 1024, 1 << 20), outcome=outcome)
    folders = [path, ROOT / "docs" / "example"]
    return [(folder.plan(), summarise(folder)) for folder in map(RunFolder, folders)]


def grids(text):
    """The lines of times: between the first two empty lines of each table that stand around a `size`."""
    return [line for line in text.splitlines() if re.match(r" *\d+ (B|[KMG]iB)  ", line)]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_line_is_wider_than_the_screen_and_no_number_is_lost(kept_runs, width):
    for plan, rows in kept_runs:
        text = table(plan, rows, "Open MPI 5.0.11", Screen(width))
        assert max(map(len, text.splitlines())) <= width
        whole = table(plan, rows, "Open MPI 5.0.11")
        assert {*NUMBER.findall("\n".join(grids(text)))} >= {
            three_digits(row["time_s"] * 1e6) for row in rows if row["time_s"] is not None
        }
        said = " ".join(text.split())
        for sentence in whole.split("\n\n")[-1].splitlines():  # what stands below the last table
            assert " ".join(sentence.split()) in said
        if max(map(len, grids(whole))) > width:
            assert "(columns left out: " in text or "(in " in text
        assert "±" in text


@pytest.mark.parametrize("width", [40, 82, 201])
def test_every_size_stands_once_in_each_part(kept_runs, width):
    plan, rows = kept_runs[0]
    text = table(plan, rows, "Open MPI 5.0.11", Screen(width, colour=True))
    (parts,) = re.findall(r"in (\d+) parts", text) or ["1"]
    assert len(grids(text)) == 3 * int(parts)
    names = {piece for name in builtin() for piece in name.split("_")}
    header = "".join(text.split("\n\n", 1)[1].split())
    assert all(piece in header for piece in names) and "busbw" in header and "#wrong" in header


def test_colours_are_nothing_but_colours(kept_runs):
    for plan, rows in kept_runs:
        coloured = table(plan, rows, "an MPI", Screen(80, colour=True))
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == table(plan, rows, "an MPI", Screen(80))

"""The closing table of a run."""

import json

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.table import in_two_lines, table, where


@pytest.mark.parametrize(
    "name, lines",
    [
        ("ring", ("", "ring")),
        ("recursive_doubling", ("recursive_", "doubling")),
        ("averylongname", ("", "averylongname")),
    ],
)
def test_long_names_are_broken_at_an_underscore(name, lines):
    assert in_two_lines(name) == lines


def test_ranks_and_nodes_come_with_what_a_reader_must_know():
    row = {"ranks": 4, "nodes": 1, "nodes_declared": 2, "oversubscribed": True, "cache": "cold"}
    assert where([row]) == "4 ranks on 1 node (PRETENDED: 2 nodes) (OVERSUBSCRIBED: more ranks than cores), cold cache"
    assert where([{"ranks": 1, "cache": "warm"}]) == "1 rank"


def test_missing_cells_are_explained_once_per_reason(tmp_path):
    def outcome(launch, cell):
        return {"state": "skipped", "reason": "needs memory"} if cell.algorithm == "ring" else {}

    folder = build_run(tmp_path / "a", sizes=(8, 1024), ranks=(2,), launches=1, outcome=outcome)
    lines = table(folder.plan(), summarise(folder), "an MPI").splitlines()
    assert lines[0] == "grade: provisional: 1 launch (use 5 launches or more); load unknown"
    assert lines[1].startswith("allreduce, float32 sum, out of place, 2 ranks on 1 node, an MPI")
    assert "4 of 6 cells done, 0 wrong elements, 2 skipped." in lines
    assert "skipped: ring 8 B, ring 1 KiB: needs memory" in lines
    assert sum(line.startswith("no winner: at least 3 launches") for line in lines) == 1


def test_the_table_gives_the_share_of_the_limit(tmp_path):
    folder = build_run(
        tmp_path / "run",
        ranks=[4],
        facts={"nodes": 2, "hosts": ["n1", "n1", "n2", "n2"]},
        outcome=lambda launch, cell: {"nodes": 2, "wire": "hsn0=4000000", "internode_nbytes": 3900000},
    )
    plan = json.loads(folder.run_json.read_text())
    plan["plan"]["link_rate_bytes_per_s"] = 1e10
    folder.run_json.write_text(json.dumps(plan))
    rows = summarise(folder)
    large = [one for one in rows if one["nbytes"] == 1 << 22 and one["algorithm"] == "ring"][0]
    assert large["limit_s"] == pytest.approx((1 << 22) / 1e10)
    assert large["of_limit"] == pytest.approx(large["limit_s"] / large["time_s"])
    text = table(folder.plan(), rows, "an MPI")
    assert "limit: 2(N-1)/N n bytes of each of N nodes over hsn0, 80 Gbit/s from --link-rate" in text
    best = min(one["time_s"] for one in rows if one["nbytes"] == 1 << 22)
    assert f" {(1 << 22) / 1e10 / best:.0%} " in text

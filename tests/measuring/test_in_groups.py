"""All-reduces of several groups at the same time: who is measured, who is checked."""

import json
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from measured_runs import here
from virtual_hosts import virtual_hosts

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.groups import groups_of

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
QUICK = ["--launches", 1, "--iters", 5, "--warmups", 2, "--no-reference-times"]


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@needs_mpi
@pytest.mark.parametrize(("groups", "ranks"), [("2", 4), ("mod:2", 4), ("div:2", 8), *[("2", 8)] * FULL])
def test_all_groups_are_timed_at_the_same_time(python, run_on_ranks, tmp_path, groups, ranks):
    in_turn(ranks // 4 + groups.startswith(("mod", "div")), python)
    folder = tmp_path / "run"
    words = ["-n", ranks, "--sizes", "8,12K", "-a", "native,ring,tree", "--groups", groups, *QUICK, "-o", folder]
    result = run_on_ranks(*words, "--back-to-back", 2, "--check", "bits")
    assert result.returncode == 0, result.stderr
    members = groups_of(groups, ranks)
    assert f"{len(members)} groups of {len(members[0])} ranks" in result.stdout
    assert "6 of 6 cells done, 0 wrong elements." in result.stdout
    told = json.loads((folder / "launches" / f"{ranks}r-1.1.json").read_text())["groups"]
    assert told == {"ranks": [list(of) for of in members]}
    for mark in RunFolder(folder).marks():
        assert mark["ranks"] == str(ranks) and int(mark["calls"]) >= 7
        assert mark["state"] == "done" and mark["wrong"] == "0" and mark["same_bits"] == "1"
        assert (mark["competitor"] == "native") == (mark["steps"] == "")


@needs_mpi
def test_the_bus_bandwidth_is_that_of_the_ranks_of_a_group(python, run_on_ranks, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-n", 4, "--sizes", "64K", "-a", "native,ring", "--groups", "2", *QUICK, "--min-busbw", "64K:0.000001"]
    result = run_on_ranks(*words, "-o", folder, "--format", "nccl")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("Avg bus bandwidth") == 2  # of each algorithm one table
    (ring,) = (row for row in summarise(RunFolder(folder)) if row["competitor"] == "ring")
    assert ring["busbw_bytes_per_s"] == pytest.approx(65536 / ring["time_s"])  # 2 (g - 1) / g of groups of 2
    page = tmp_path / "report.html"
    assert here("report", folder, "-o", page).returncode == 0
    text = page.read_text()
    assert "several groups" in text and "2 groups of 2 ranks (consecutive)" in text


@needs_mpi
def test_a_message_in_the_wrong_group_is_a_wrong_result(python, on_ranks):
    in_turn(1, python)
    assert on_ranks(4, "leaking_groups.noticed") == [[False, True] * 4] * 4


@needs_mpi
def test_a_rank_of_a_group_is_named_among_all(python, run_on_ranks, tmp_path):
    in_turn(1, python)
    words = ["-n", 4, "--sizes", "60", "-a", "ring", "--groups", "mod:2", *QUICK, "-o", tmp_path / "run"]
    result = run_on_ranks(*words, by="late_groups.partners")
    assert result.returncode == 0 and "[[0], [1]]" in result.stderr, result.stderr


@pytest.mark.slow
@needs_mpi
def test_groups_of_other_layout_are_proved_each(python, run_on_ranks, tmp_path):
    """Of nodes 0-2, 3-5, 6-7 the halves are 3+1 and 2+2."""
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-n", 8, "--sizes", "4K", "-a", "hierarchical_ring,ring", "--groups", "2", "--pretend-ranks-per-node", 3]
    result = run_on_ranks(*words, *QUICK, "--record", "all", "-o", folder)
    assert result.returncode == 0, result.stderr
    assert {mark["proved"] for mark in RunFolder(folder).marks()} == {"1"}
    assert [row["repetitions"] for row in summarise(RunFolder(folder))] == [5, 5]


@pytest.mark.slow
@needs_mpi
def test_groups_may_span_nodes(python, tmp_path):
    """`mod` spans the nodes, `div` does not: the schedules know, and so do the wires."""
    in_turn(1, python)
    with virtual_hosts(2) as hosts:
        found = {}
        for groups in ("mod:2", "div:2"):
            folder = tmp_path / groups.replace(":", "")
            words = ["-m", "allreduce_bench", "run", "-n", 4, "--hosts", "h1:2,h2:2", "--remote-shell", hosts.agent]
            words += ["--sizes", "64K", "-a", "ring", "--groups", groups, *QUICK, "-o", folder]
            result = hosts.run(0, [python, *words])
            assert result.returncode == 0, result.stderr
            (mark,) = RunFolder(folder).marks()
            found[groups] = int(mark["internode_nbytes"])
    assert found == {"mod:2": 4 * 65536, "div:2": 0}

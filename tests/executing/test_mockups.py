"""Mock-ups of the library's all-reduce over real MPI: right for every operation, type and count; measured as cells."""

import json
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from measured_runs import bench, here

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.competitor import MOCKUPS
from allreduce_bench.runs.folder import RunFolder

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
RANKS = (1, 2, 3, 4, 5)
OPTIONS = (
    ("--op", "avg", "--cache", "cold"),
    ("--executor", "compiled", "-d", "float64"),
    ("--groups", "2", "--op", "max", "-d", "int32"),
)


@pytest.fixture(params=dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS if FULL else [2, 3, 5])
def test_every_mock_up_is_exact_over_mpi(python, on_ranks, ranks):
    """At counts of 0, 1, fewer than ranks, divisible and not; on vectors of 400 KB, too."""
    in_turn(RANKS.index(ranks), python)
    number, wrong = on_ranks(ranks, "mockups.mockups", limit_s=600)[0]
    assert not wrong and number >= 3 * 5 * 23


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_mock_ups_are_measured_and_checked_as_cells(python, tmp_path, options):
    """Native is called from Python beside them, also where ways are compiled; it competes, they do not."""
    in_turn(OPTIONS.index(options), python)
    words = ["-n", 4, "-a", "guidelines,ring", "--sizes", "8,24", "--launches", 1, "--iters", 3, *options]
    result = bench(python, "run", *words, "-o", tmp_path / "run")
    assert result.returncode == 0 and " 0 wrong elements" in result.stdout, result.stderr
    assert "native:reduce+bcast" in result.stdout
    rows = summarise(RunFolder(tmp_path / "run"))
    made = [row for row in rows if row["competitor"] in MOCKUPS]
    assert {row["competitor"] for row in made} == {*MOCKUPS} and {row["state"] for row in made} == {"done"}
    marks = [mark for mark in RunFolder(tmp_path / "run").marks() if mark["competitor"] in MOCKUPS]
    assert marks and all(int(mark["checks"]) > 0 for mark in marks)
    assert {row["standing"] for row in made} == {row.get("speedup") for row in made} == {None}
    beside = {row["size_bytes"] for row in rows if row["competitor"] == "native"}
    assert {row["size_bytes"] for row in made} == beside
    json_text = here("show", tmp_path / "run", "--format", "json").stdout
    assert {*MOCKUPS} <= {row["competitor"] for row in json.loads(json_text)["results"]}

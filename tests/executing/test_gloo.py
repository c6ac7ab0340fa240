"""Gloo's all-reduce as a peer: exact on the ranks of MPI; without torch, or the one interface, a reason."""

import pandas as pd
import pytest
from interpreters import interpreters
from measured_runs import bench

from allreduce_bench.runs.competitor import GLOO

HAVE_TORCH = [python for python in interpreters() if list(python.parent.parent.glob("lib/python*/site-packages/torch"))]
FEW = ["--sizes", "8,64K", "-a", "gloo", "--launches", 1, "--iters", 3, "--no-reference-times"]


@pytest.mark.skipif(not HAVE_TORCH, reason="no interpreter here has an MPI and torch")
def test_it_is_exact_of_a_type_that_mpi_does_not_have(tmp_path):
    words = ["-n", 2, "--dtype", "bfloat16", "--op", "avg", "-o", tmp_path / "run"]
    ended = bench(HAVE_TORCH[0], "run", *FEW, *words)
    assert ended.returncode == 0, ended.stderr
    rows = pd.read_csv(tmp_path / "run" / "summary.csv")
    assert list(rows["state"]) == ["done", "done"] and list(rows["competitor"]) == [GLOO, GLOO]


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize(
    ("lacks", "reason"), [("torch", "gloo: rank 1 has no torch"), ("the_interface", "none7), found none")]
)
def test_where_it_cannot_reduce_its_cells_are_skipped_with_the_reason(run_on_ranks, tmp_path, lacks, reason):
    run_on_ranks(*FEW, "-n", 2, "-o", tmp_path / "run", by=f"no_gloo.without_{lacks}")
    rows = pd.read_csv(tmp_path / "run" / "summary.csv")
    assert list(rows["state"]) == ["skipped", "skipped"] and reason in rows["reason"][0]

"""Gloo's all-reduce as a peer: exact on the ranks of MPI; without torch, or the one interface, a reason."""

import pandas as pd
import pytest
from interpreters import interpreters
from measured_runs import bench

from allreduce_bench.runs.competitor import GLOO

HAVE = {python: bool(list(python.parent.parent.glob("lib/python*/site-packages/torch"))) for python in interpreters()}
FEW = ["--sizes", "8,64K", "-a", "gloo", "--launches", 1, "--iters", 3, "--no-reference-times"]


def cells(python, folder, *words):
    """The rows of a run of few calls."""
    ended = bench(python, "run", *FEW, *words, "-o", folder)
    shown = folder / "summary.csv"
    return ended, pd.read_csv(shown) if shown.is_file() else None


@pytest.mark.skipif(True not in HAVE.values(), reason="no interpreter here has an MPI and torch")
def test_it_is_exact_of_a_type_that_mpi_does_not_have(tmp_path):
    python = next(python for python, has_torch in HAVE.items() if has_torch)
    ended, rows = cells(python, tmp_path / "run", "-n", 3, "--dtype", "bfloat16", "--op", "avg")
    assert ended.returncode == 0, ended.stderr
    assert list(rows["state"]) == ["done", "done"] and list(rows["competitor"]) == [GLOO, GLOO]


@pytest.mark.skipif(False not in HAVE.values(), reason="every interpreter here that has an MPI has torch")
def test_without_torch_it_is_skipped_with_the_reason(tmp_path):
    python = next(python for python, has_torch in HAVE.items() if not has_torch)
    ended, rows = cells(python, tmp_path / "run", "-n", 2)
    assert list(rows["state"]) == ["skipped", "skipped"]
    assert "0 has no torch" in rows["reason"][0], ended.stderr


@pytest.mark.skipif(True not in HAVE.values(), reason="no interpreter here has an MPI and torch")
def test_an_interface_that_is_not_there_is_said(tmp_path, monkeypatch):
    python = next(python for python, has_torch in HAVE.items() if has_torch)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "none7")
    _, rows = cells(python, tmp_path / "run", "-n", 2)
    assert "none7), found none" in rows["reason"][0]

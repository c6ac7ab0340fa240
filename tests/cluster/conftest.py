"""Tests on a real Slurm. `make slurm-test` runs them inside a private one; elsewhere they are skipped."""

import os
from pathlib import Path

import private_slurm
import pytest
from interpreters import interpreters


@pytest.fixture(scope="session", autouse=True)
def cluster() -> private_slurm.Cluster:
    """The cluster that we are on: Slurm's commands can be called as on any login node."""
    folder = private_slurm.inside()
    if folder is None:
        pytest.skip(os.environ.get("PRIVATE_SLURM_UNAVAILABLE", "on a private Slurm only: make slurm-test"))
    return private_slurm.Cluster(folder)


@pytest.fixture(autouse=True)
def own_place_for_session_directories(cluster, monkeypatch):
    """Of the node alone: process ids are equal on several nodes, and so are the names that Open MPI makes of them."""
    monkeypatch.setenv("PRTE_MCA_prte_tmpdir_base", "/dev/shm")


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    """An interpreter for each MPI."""
    return request.param

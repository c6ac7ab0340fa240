"""A node of four cores, no root, and none of the variables that steer an MPI."""

import os
import shlex
from collections.abc import Callable

import pytest

from allreduce_bench.launching.find import mpirun_command
from allreduce_bench.launching.launcher import Launcher
from allreduce_bench.launching.launchers import openmpi
from allreduce_bench.runs.start import Start


@pytest.fixture(autouse=True)
def a_node_of_four_cores(monkeypatch):
    monkeypatch.setattr(openmpi, "cores", lambda: 4)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for name in [*os.environ]:
        if name.startswith(("SLURM_", "UCX_", "FI_", "OMP", "MPI", "PYTHONPATH", "LD_LIBRARY_PATH", "GLOO_", "PSM2_")):
            monkeypatch.delenv(name)


@pytest.fixture
def told() -> Callable[..., str]:
    """What a launcher is told before the program that it starts."""

    def told(found: Launcher, ranks: int, **start) -> str:
        words = mpirun_command(found, ranks, Start(**start), ["program"])
        assert words[-1] == "program"
        return shlex.join(words[:-1])

    return told

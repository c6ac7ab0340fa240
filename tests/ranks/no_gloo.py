"""Launches in which Gloo cannot reduce; PyTorch, which takes seconds, is not loaded."""

import os
import sys
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

from measured_launch import measure
from mpi4py import MPI


def without_torch(comm: MPI.Comm, path: Path, name: str) -> tuple[int, str]:
    """Measure with no torch on the last rank."""
    return _measure(comm, path, name, None if comm.rank == comm.size - 1 else object())


def without_the_interface(comm: MPI.Comm, path: Path, name: str) -> tuple[int, str]:
    """Measure with another interface than there is."""
    with patch.dict(os.environ, GLOO_SOCKET_IFNAME="none7"):
        return _measure(comm, path, name, object())


def _measure(comm: MPI.Comm, path: Path, name: str, distributed: object) -> tuple[int, str]:
    with patch.dict(sys.modules, torch=None):
        gloo = import_module("allreduce_bench.executing.gloo")
    sys.modules[gloo.__name__] = gloo
    try:
        with patch.object(gloo, "distributed", distributed):
            return measure(comm, path, name)
    finally:
        del sys.modules[gloo.__name__]

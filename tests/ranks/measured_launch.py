"""A launch of a run, measured by ranks that were started for others, too."""

import time
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

from mpi4py import MPI

from allreduce_bench.machine import kernel
from allreduce_bench.machine.energy import Counter, find_counters
from allreduce_bench.measuring import energy, rank
from allreduce_bench.measuring.command import RankArguments, RanksOfRun
from allreduce_bench.measuring.startup import STARTUP
from allreduce_bench.watching.lifeline import WarningFlag
from allreduce_bench.watching.watch import Watch
from allreduce_bench.watching.whereabouts import set_group_ranks


def measure(comm: MPI.Comm, path: Path, name: str, deadline: float | None = None) -> tuple[int, str]:
    """Return the status of the ranks, and what this one said."""
    arguments = RankArguments(path, name, 1, 1, time.time(), "multiple", deadline=deadline)
    start = RanksOfRun(
        arguments=arguments,
        command="ranks of a pool",
        position=arguments.position(),
        skip_hung=False,
        transport=None,
        warning=WarningFlag(),
        watch=Watch("", comm.rank),
    )
    mpi = SimpleNamespace(COMM_WORLD=comm, Exception=MPI.Exception)
    with patch.object(rank, "MPI", mpi), redirect_stderr(StringIO()) as said:
        status = rank.take_part(start)
    set_group_ranks(())
    return status, said.getvalue()


def measure_with_phases(comm: MPI.Comm, path: Path, name: str) -> tuple[int, str]:
    """Measure by ranks whose start took different times."""
    with patch.object(STARTUP, "phases", {"import_s": 1.0 + comm.rank, "init_s": 9.0 - comm.rank}):
        return measure(comm, path, name)


def measure_with_counters(comm: MPI.Comm, path: Path, name: str) -> tuple[int, str]:
    """Measure on a node that takes 40 W, and 60 W more while calls are made in a loop."""
    loop, busy_s = energy.back_to_back, 0.0

    def at_work(*given: object) -> float | None:
        nonlocal busy_s
        begun = time.perf_counter()
        call_s = loop(*given)
        busy_s += time.perf_counter() - begun
        return call_s

    class Package(Counter):
        def read(self) -> float:
            return 40 * time.perf_counter() + 60 * busy_s

    counters = patch.object(energy, "find_counters", lambda: [Package("package", "", 1.0)])
    with counters, patch.object(energy, "back_to_back", at_work):
        return measure(comm, path, name)


def measure_without_counters(comm: MPI.Comm, path: Path, name: str) -> tuple[int, str]:
    """Measure on a node whose kernel shows nothing of energy."""

    def find_none() -> list[Counter]:
        with patch.object(kernel, "ROOT", path / "empty"):
            return find_counters()

    with patch.object(energy, "find_counters", find_none):
        return measure(comm, path, name)

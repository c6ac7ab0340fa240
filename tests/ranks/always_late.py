"""Cells for which no common start is ever met."""

import numpy as np
from mpi4py import MPI

from allreduce_bench.measuring.budget import Budget
from allreduce_bench.measuring.clock import Clock
from allreduce_bench.measuring.repeat import repeat


class Late:
    """A start to which somebody is always late."""

    name = "round_time"

    def begin(self) -> bool:
        return False

    def learn(self, late: object) -> None:
        pass


def cells(comm: MPI.Comm) -> list[tuple]:
    """Return which calls are valid, warm-ups, why there are none, codes of findings, and the start, of each budget."""
    one, total = np.ones(1), np.zeros(1)
    found = []
    for budget in (Budget(3, None, 0.05), Budget(1, 4, 0.05), Budget(0, 1, 0.05)):
        times = repeat(lambda: lambda: comm.Allreduce(one, total), comm, budget, Late(), Clock(comm))
        codes = [finding["code"] for finding in times.findings]
        found.append(([*map(bool, times.calls["valid"])], times.warmups, times.unusable, codes, times.facts["start"]))
    return found

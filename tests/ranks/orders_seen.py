"""The orders of additions of own algorithms, as ranks see them from outside, beside what follows from their steps."""

import numpy as np
from mpi4py import MPI

from allreduce_bench.algorithms import find
from allreduce_bench.executing.sendrecv import sendrecv
from allreduce_bench.identifying.order import dtype_for, order_of
from allreduce_bench.identifying.probe import order_seen
from allreduce_bench.schedule.algorithm import Topology

NAMES = ["ring", "rabenseifner", "two_tree"]
ELEMENTS, SEGMENT = 1003, 100


def same_orders(comm: MPI.Comm) -> dict[str, bool]:
    """Algorithm -> whether both are the same."""
    same = {}
    for name, algorithm in find(NAMES).items():
        schedules = algorithm.schedules(comm.size, Topology.one_node(comm.size), ELEMENTS, SEGMENT)
        given, result = (np.empty(ELEMENTS, dtype_for(comm.size)) for _ in range(2))
        call = sendrecv(schedules[comm.rank], given, result, comm, "sum")
        seen = order_seen(comm, given, result, call.run)
        call.close()
        same[name] = seen == order_of(schedules, ELEMENTS)
    return same

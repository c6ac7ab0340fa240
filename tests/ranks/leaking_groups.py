"""All-reduces of groups of ranks, of which some go to the ranks of another group: do the checks notice?"""

import numpy as np
from mpi4py import MPI

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing import Place
from allreduce_bench.executing.sendrecv import sendrecv
from allreduce_bench.measuring.repeat import Checks
from allreduce_bench.schedule.algorithm import Topology


def noticed(world: MPI.Comm) -> list[bool]:
    """Whether any rank finds wrong elements, of its own group and of another one in turn."""
    group = world.rank * 2 // world.size
    own, other = world.Split(group, world.rank), world.Split(world.rank % 2, world.rank)
    found = []
    for dtype, op in (("float32", "sum"), ("float16", "sum"), ("int64", "prod"), ("float32", "max")):
        for comm in (own, other):
            sendbuf, recvbuf = np.empty(40, dtype), np.empty(40, dtype)
            steps = builtin()["ring"].schedule(comm.rank, comm.size, Topology.one_node(comm.size), 40, 1)
            call = sendrecv(steps, sendbuf, recvbuf, comm, op)
            checks = Checks(own, op, group, Place(call, sendbuf, recvbuf))
            checks.call()
            found.append(world.allreduce(checks.wrong) > 0)
    return found

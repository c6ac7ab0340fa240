"""The all-reduce of Gloo, which PyTorch uses on CPUs (torch.distributed): a peer outside MPI, on the same vectors.

Gloo talks TCP, also within a node. Its ranks find each other by a store at rank 0, whose port MPI broadcasts; they use
the interface of GLOO_SOCKET_IFNAME, which `--interface` sets, else loopback on one node, else the only interface of a
node that is up and has an address.
"""

import os
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

try:
    from torch import bfloat16, distributed, from_numpy
except ImportError:  # said by the ranks together
    distributed = None

from ..machine.interfaces import LOOPBACK, interfaces
from . import Prepared, Unsupported
from .sendrecv import division, join_calls

REDUCTIONS = {"sum": "SUM", "avg": "SUM", "prod": "PRODUCT", "max": "MAX", "min": "MIN"}  # names of torch's ReduceOp
BITS = {"bfloat16": np.int16}  # types that torch takes from numpy only as their bits
PATIENCE = timedelta(minutes=30)  # as torch's own default: a hang is for the supervisor of the run to notice
INTERFACE = "GLOO_SOCKET_IFNAME"
LOCALHOST = "127.0.0.1"

_groups: dict[int, Any] = {}  # communicator, by its Fortran handle -> its group of Gloo, made once: seconds


def gloo(sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """Bind Gloo's all-reduce of `sendbuf` into `recvbuf`, 1-d arrays of one dtype, on the ranks of `comm`.

    Gloo works in place: if the arrays are two, the copy of the input is part of the call, as in a program whose input
    has to stay. Raises Unsupported on all ranks where torch is missing on one, or where a node has no interface or
    several.
    """
    group = _groups.get(comm.py2f())
    if group is None:
        group = _groups[comm.py2f()] = _joined(comm)
    carrier = BITS.get(recvbuf.dtype.name)
    tensor = from_numpy(recvbuf) if carrier is None else from_numpy(recvbuf.view(carrier)).view(bfloat16)
    options = distributed.AllreduceOptions()
    options.reduceOp = getattr(distributed.ReduceOp, REDUCTIONS[op])

    def allreduce() -> None:
        group.allreduce([tensor], options).wait()

    copy = [] if sendbuf is recvbuf else [partial(np.copyto, recvbuf, sendbuf)]
    return Prepared(join_calls([*copy, allreduce, *division(recvbuf, comm, op)]), _nothing)


def _nothing() -> None:
    """Free nothing: the group stays for the next cells."""


def _joined(comm: MPI.Comm):
    """Return the group of the ranks of `comm`. Raises Unsupported on all ranks."""
    hosts = comm.allgather(MPI.Get_processor_name())
    address, problem = None, None
    try:
        address = _address(len(set(hosts)) == 1)
    except Unsupported as error:
        problem = str(error)
    if distributed is None:
        problem = f"gloo: rank {comm.rank} has no torch (pip install 'allreduce-bench[torch]', or leave gloo out)"
    if problems := [one for one in comm.allgather(problem) if one]:
        raise Unsupported(problems[0])
    store = distributed.TCPStore(address, 0, comm.size, True, PATIENCE, False) if comm.rank == 0 else None
    host, port = comm.bcast((address, store.port) if store else None)
    if store is None:
        store = distributed.TCPStore(host, port, comm.size, False, PATIENCE, False)
    options = distributed.ProcessGroupGloo._Options()  # the only way to name a device
    options._devices = [distributed.ProcessGroupGloo.create_device(hostname=address)]
    options._timeout = PATIENCE
    return distributed.ProcessGroupGloo(store, comm.rank, comm.size, options)


def _address(is_one_node: bool) -> str:
    """Return the address of this rank. Raises Unsupported."""
    named = os.environ.get(INTERFACE)
    if is_one_node and not named:
        return LOCALHOST
    usable = {
        one.name: one.address
        for one in interfaces()
        if one.up and one.address and (one.name == named if named else one.name != LOOPBACK)
    }
    if len(usable) != 1:
        found = ", ".join(usable) or "none"
        raise Unsupported(
            f"gloo: expected one interface that is up and has an address ({named or 'the only one'}), found {found}: "
            "name it with --interface"
        )
    return next(iter(usable.values()))

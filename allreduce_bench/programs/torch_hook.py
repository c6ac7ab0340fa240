"""A communication hook of PyTorch's DistributedDataParallel: gradients by the all-reduces of this package, over MPI.

    model.register_comm_hook(None, mpi_allreduce_hook)

A thread of its own reduces the buckets in the order in which they come, while the backward pass goes on; it averages as
DDP does by default, dividing before it sums. Where this thread shares a core with the backward pass, it pauses while it
waits: blocking calls of MPI spin, and would take the core. All processes are ranks of MPI in the order of torch's.
"""

import threading
import time
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np
from mpi4py import MPI

from ..executing import native_datatype
from ..machine.node import affinity
from ..runs.dtypes import DTYPES, is_float
from .agreement import end_with_errors
from .buffers import view_tensor
from .candidates import AUTO
from .prepared import PreparedAllreduces

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    raise ImportError(f"the hook needs PyTorch ({error}); install it: pip install torch") from None

PAUSE_S = 5e-5  # between two looks at an all-reduce that is under way
START = "start the program with mpirun or 'allreduce-bench exec -n N -- python …', and not with torchrun"


class HookError(RuntimeError):
    """A use of the hook that would give wrong results, in words."""


class MPIHook:
    """The state of the hook: a communicator, its prepared all-reduces, and the thread that reduces.

    All processes construct it together. PreparedAllreduces takes the same arguments. Where threads share cores,
    "auto" is the library's own all-reduce.
    """

    def __init__(
        self,
        process_group: Any = None,
        comm: MPI.Comm | None = None,
        algorithm: str | Sequence[str] = AUTO,
        executor: str = AUTO,
        choice: Any = None,
    ):
        """Start the thread; `process_group` is torch's, None: its default. Raises HookError if torch's and MPI's worlds
        differ.
        """
        end_with_errors()
        around = MPI.COMM_WORLD if comm is None else comm
        _refuse_other_worlds(process_group, around)
        self._pauses = _share_cores(around) and (algorithm, executor, choice) == (AUTO, AUTO, None)
        self.size = around.size
        self._comm = around.Dup()  # the program's own threads go on with theirs
        try:
            self.prepared = PreparedAllreduces(self._comm, algorithm, executor, choice=choice)
        except (ValueError, TypeError):  # on all ranks
            self._comm.Free()
            raise
        self._buckets: SimpleQueue = SimpleQueue()  # bucket and its future; None: the end
        self._thread = threading.Thread(target=self._reduce_all, daemon=True, name="all-reduce of buckets")
        self._thread.start()

    def reduce(self, tensor: torch.Tensor) -> torch.futures.Future[torch.Tensor]:
        """Average `tensor`, 1-d, over all processes, in place and in another thread. Raises HookError."""
        if not self._thread.is_alive():
            raise HookError("the hook was closed; close it after the last backward pass")
        vector = _vector(tensor)
        tensor.div_(self.size)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        self._buckets.put((vector, tensor, future))
        return future

    def close(self) -> None:
        """End the thread, and free what MPI holds, on all processes together. A second time does nothing."""
        self._buckets.put(None)
        self._thread.join()
        self.prepared.close()
        if self._comm and not MPI.Is_finalized():
            self._comm.Free()

    def _reduce_all(self) -> None:
        while (bucket := self._buckets.get()) is not None:
            vector, tensor, future = bucket
            try:
                self._sum(vector)
            except Exception as error:  # re-raised to whoever waits
                future.set_exception(error)
            else:
                future.set_result(tensor)

    def _sum(self, vector: np.ndarray) -> None:
        """Sum over all processes, in place."""
        datatype = native_datatype(vector.dtype.name) if self._pauses else None
        if datatype is None:
            self.prepared(MPI.IN_PLACE, vector, MPI.SUM)
            return
        under_way = self._comm.Iallreduce(MPI.IN_PLACE, [vector, datatype], MPI.SUM)
        while not under_way.Test():
            time.sleep(PAUSE_S)


_default: list[MPIHook] = []  # the state of those who register the hook with None; empty until made


def mpi_allreduce_hook(
    state: MPIHook | None, bucket: dist.GradBucket, *of_shards: torch.Tensor
) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients over all processes: the hook for `register_comm_hook` of DDP.

    `state` None: one on COMM_WORLD, made at the first bucket. Raises HookError where the result would be wrong: FSDP
    passes further tensors, `of_shards` among them, and reads a sum without waiting for it.
    """
    if state is not None and not isinstance(state, MPIHook):
        raise HookError(f"the state of the hook is of type {type(state).__name__}; register it with MPIHook() or None")
    if of_shards or not isinstance(bucket, dist.GradBucket):
        raise HookError(
            "this hook is of DistributedDataParallel; FullyShardedDataParallel shards its gradients and needs a "
            "reduce-scatter: register no hook with it, or wrap the model in DistributedDataParallel"
        )
    if state is None:
        if not _default:
            _default.append(MPIHook())
        state = _default[0]
    return state.reduce(bucket.buffer())


def _refuse_other_worlds(process_group: Any, comm: MPI.Comm) -> None:
    """Raise HookError, on all processes, if MPI's ranks are not torch's, or MPI allows no threads."""
    if not dist.is_initialized():
        raise HookError("torch.distributed is not initialised; call torch.distributed.init_process_group before")
    if comm == MPI.COMM_NULL or dist.get_rank(process_group) < 0:
        raise HookError("this process is not in the group or communicator of the hook; make it where it is")
    size, rank = dist.get_world_size(process_group), dist.get_rank(process_group)
    if size != comm.size:
        advice = START if process_group is None else "pass a communicator of the same processes as comm"
        raise HookError(f"torch has {_processes(size)}, but MPI has {_processes(comm.size)}: {advice}")
    ranks = comm.allgather(rank)
    if ranks != list(range(size)):
        order = ", ".join(map(str, ranks))
        raise HookError(f"the ranks of torch are not those of MPI: in MPI's order they are {order}; use MPI's ranks")
    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise HookError("MPI was started without threads; set mpi4py.rc.thread_level = 'serialized' before its import")


def _share_cores(comm: MPI.Comm) -> bool:
    """Return, on all processes alike, whether any node has fewer cores than two for each of its processes."""
    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    cores = len(set[int]().union(*here.allgather(affinity() or ())))
    are_few = cores < 2 * here.size
    here.Free()
    return any(comm.allgather(are_few))


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"


def _vector(tensor: torch.Tensor) -> np.ndarray:
    """Return the memory of a tensor as an array. Raises HookError if it is not in host memory."""
    if tensor.layout != torch.strided:
        raise HookError("gradients are sparse; this hook reduces dense ones: Embedding(…, sparse=False)")
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES or not is_float(dtype):
        raise HookError(f"gradients are {dtype}; this hook reduces {', '.join(filter(is_float, DTYPES))}")
    try:
        return view_tensor(tensor)
    except ValueError as error:
        raise HookError(f"gradients: {error}") from None

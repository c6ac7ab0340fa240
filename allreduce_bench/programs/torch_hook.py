"""A communication hook of PyTorch's DistributedDataParallel: gradients by the all-reduces of this package, over MPI.

    model.register_comm_hook(None, mpi_allreduce_hook)

A thread of its own reduces the buckets in the order in which they come, while the backward pass goes on; it averages as
DDP does by default, dividing before it sums. All processes are ranks of MPI in the order of torch's.
"""

import threading
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np
from mpi4py import MPI

from ..message import Refused, say
from ..runs.dtypes import DTYPES, DtypeError, is_float, teach_numpy
from .agreement import end_with_errors
from .candidates import AUTO
from .prepared import PreparedAllreduces

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    raise ImportError(f"the hook needs PyTorch ({error}); install it: pip install torch") from None

START = "start the program with mpirun or 'allreduce-bench exec -n N -- python …', and not with torchrun"


class HookError(Refused, RuntimeError):
    """A use of the hook that would give wrong results, in words."""


class MPIHook:
    """The state of the hook: a communicator, its prepared all-reduces, and the thread that reduces.

    All processes construct it together. The arguments are those of PreparedAllreduces.
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
        self.size = around.size
        self._comm = around.Dup()  # the program's own threads go on with theirs
        try:
            self.prepared = PreparedAllreduces(self._comm, algorithm, executor, choice=choice)
        except (ValueError, TypeError):  # on all ranks
            self._comm.Free()
            raise
        self._buckets: SimpleQueue = SimpleQueue()  # bucket and its future; None: the end
        self._thread = threading.Thread(target=self._reduce_all, daemon=True, name=say("programs.reduce_buckets"))
        self._thread.start()

    def reduce(self, tensor: torch.Tensor) -> torch.futures.Future[torch.Tensor]:
        """Average `tensor`, 1-d, over all processes, in place and in another thread. Raises HookError."""
        if not self._thread.is_alive():
            raise HookError("programs.hook_closed_close_after")
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
                self.prepared(MPI.IN_PLACE, vector, MPI.SUM)
            except Exception as error:  # re-raised to whoever waits
                future.set_exception(error)
            else:
                future.set_result(tensor)


_default: list[MPIHook] = []  # the state of those who register the hook with None; empty until made


def mpi_allreduce_hook(
    state: MPIHook | None, bucket: dist.GradBucket, *of_shards: torch.Tensor
) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients over all processes: the hook for `register_comm_hook` of DDP.

    `state` None: one on COMM_WORLD, made at the first bucket. Raises HookError where the result would be wrong: FSDP
    passes further tensors, `of_shards` among them, and reads a sum without waiting for it.
    """
    if state is not None and not isinstance(state, MPIHook):
        raise HookError("programs.state_hook_type_register", name=type(state).__name__)
    if of_shards or not isinstance(bucket, dist.GradBucket):
        raise HookError("programs.hook_distributeddataparallel_fullyshardeddataparallel_shards")
    if state is None:
        if not _default:
            _default.append(MPIHook())
        state = _default[0]
    return state.reduce(bucket.buffer())


def _refuse_other_worlds(process_group: Any, comm: MPI.Comm) -> None:
    """Raise HookError, on all processes, if MPI's ranks are not torch's, or MPI allows no threads."""
    if not dist.is_initialized():
        raise HookError("programs.torch_distributed_not_initialised")
    if comm == MPI.COMM_NULL or dist.get_rank(process_group) < 0:
        raise HookError("programs.process_not_group_communicator")
    size, rank = dist.get_world_size(process_group), dist.get_rank(process_group)
    if size != comm.size:
        advice = START if process_group is None else say("programs.pass_communicator_same_processes")
        raise HookError("programs.torch_mpi", size=_processes(size), size_2=_processes(comm.size), advice=advice)
    ranks = comm.allgather(rank)
    if ranks != list(range(size)):
        order = ", ".join(map(str, ranks))
        raise HookError("programs.ranks_torch_not_mpi", order=order)
    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise HookError("programs.mpi_started_without_threads")


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"


def _vector(tensor: torch.Tensor) -> np.ndarray:
    """Return the memory of a tensor as an array. Raises HookError if it is not in host memory."""
    if tensor.device.type != "cpu":
        raise HookError("programs.gradients_hook_reduces_tensors", type=tensor.device.type)
    if tensor.layout != torch.strided:
        raise HookError("programs.gradients_sparse_hook_reduces")
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES or not is_float(dtype):
        raise HookError("programs.gradients_hook_reduces", dtype=dtype, filter=", ".join(filter(is_float, DTYPES)))
    if dtype != "bfloat16":
        return tensor.numpy()
    try:
        teach_numpy(dtype)
    except DtypeError as error:
        raise HookError("as_said", words=str(error)) from None
    return tensor.view(torch.int16).numpy().view(np.dtype(dtype))

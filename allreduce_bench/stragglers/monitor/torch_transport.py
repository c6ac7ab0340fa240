"""StepMonitor's messages over torch.distributed, in a Gloo group of their own: beside NCCL they need no GPU."""

from typing import Any

import numpy as np

from .transport import Gathering, StepMonitorError, Transport


class TorchGathering(Gathering):
    """An all_gather in progress."""

    def __init__(self, group: Any, size: int, row: np.ndarray):
        import torch
        from torch import distributed

        self._row, self._rows = torch.from_numpy(row), torch.empty((size, len(row)), dtype=torch.float64)
        self._work = distributed.all_gather(list(self._rows), self._row, group=group, async_op=True)

    def is_done(self) -> bool:
        """Return whether `rows` returns at once."""
        return self._work.is_completed()

    def rows(self) -> np.ndarray:
        """Wait; return float64 [rank, value]."""
        self._work.wait()
        return self._rows.numpy()


class TorchTransport(Transport):
    """See `Transport`; `group` None is the default group. Raises StepMonitorError; constructed on all its ranks."""

    def __init__(self, group: Any = None):
        try:
            from torch import distributed
        except ImportError:
            raise StepMonitorError(
                "StepMonitor(None) watches a job of torch.distributed, and torch is not installed; under MPI give it "
                "a communicator: StepMonitor(MPI.COMM_WORLD)"
            ) from None
        if not (distributed.is_available() and distributed.is_initialized()):
            raise StepMonitorError("StepMonitor needs torch.distributed.init_process_group() to be called before it")
        if distributed.get_rank(group) < 0:
            raise StepMonitorError("StepMonitor needs a process group that this rank belongs to")
        self._distributed = distributed
        self._ranks = distributed.get_process_group_ranks(group or distributed.group.WORLD)
        self._group = distributed.new_group(self._ranks, backend="gloo", use_local_synchronization=group is not None)
        self.rank, self.size = distributed.get_rank(self._group), len(self._ranks)

    def exchange(self, value: Any) -> list:
        """Gather a small Python value of each rank; called on all ranks."""
        values = [None] * self.size
        self._distributed.all_gather_object(values, value, group=self._group)
        return values

    def send(self, values: np.ndarray, partner: int) -> None:
        """Send float64 values; they may be reused on return."""
        self._distributed.send(_tensor(values), self._ranks[partner], group=self._group)

    def receive(self, values: np.ndarray, partner: int) -> None:
        """Receive as many float64 values as `partner` sends."""
        self._distributed.recv(_tensor(values), self._ranks[partner], group=self._group)

    def gather(self, row: np.ndarray) -> TorchGathering:
        """Begin an allgather of a float64 row, on all ranks, in the same order. The row must not change."""
        return TorchGathering(self._group, self.size, row)

    def is_usable(self) -> bool:
        """Return False once the program has called destroy_process_group()."""
        return self._distributed.is_initialized()

    def free(self) -> None:
        """Destroy the group; only after all operations have ended, on all ranks."""
        if self._distributed.is_initialized():
            self._distributed.destroy_process_group(self._group)


def _tensor(values: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(values)

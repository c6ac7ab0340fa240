"""Data-parallel training with PyTorch whose gradients travel over MPI. Start it with

    allreduce-bench exec -n 2 -- python docs/train_with_hook.py

Gloo only brings the model to all processes; all gradients are reduced by the hook.
"""

import os

import torch
import torch.distributed as dist
from mpi4py import MPI
from torch.nn.parallel import DistributedDataParallel

from allreduce_bench.programs.torch_hook import MPIHook, mpi_allreduce_hook


def main() -> None:
    """Fit a line through points; every process has points of its own."""
    comm = MPI.COMM_WORLD
    port = comm.bcast(29_000 + os.getpid() % 1000)  # rank 0 of torch listens there; on several nodes give its address
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=comm.rank, world_size=comm.size)
    torch.manual_seed(comm.rank)
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    hook = MPIHook(algorithm="recursive_doubling", executor="sendrecv")  # or MPIHook(), which tries all
    model.register_comm_hook(hook, mpi_allreduce_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        x = torch.randn(32, 1)
        loss = (model(x) - (3 * x + 1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if comm.rank == 0:
        print(f"slope {model.module.weight.item():.2f}, intercept {model.module.bias.item():.2f}", flush=True)
    hook.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

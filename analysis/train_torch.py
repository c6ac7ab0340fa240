"""Data-parallel training of a small network, in PyTorch: DDP's gradients travel over MPI, by `mpi_allreduce_hook`.

    allreduce-bench exec -n 4 -- python analysis/train_torch.py
    allreduce-bench exec -n 4 -- python analysis/train_torch.py --slow 2

At the end every rank trains alone on whole batches and compares. With `--slow` a step takes 20 ms longer, as with a
larger network, and 60 ms longer on that rank; the training ends when StepMonitor names it. Exit status 1: the losses
are not those of training alone.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from mpi4py import MPI
from torch.nn.parallel import DistributedDataParallel

from allreduce_bench import StepMonitor
from allreduce_bench.programs.torch_hook import MPIHook, mpi_allreduce_hook

BATCH, INPUTS, HIDDEN, RATE = 64, 4, 32, 0.2  # BATCH: samples of all ranks together
ROUNDING = 1e-12  # relative: a mean of 64 terms in another order is up to 64 * 1.1e-16 off, and 100 steps add that up
WORK_S, SLOWED_S = 0.02, 0.06


def network() -> torch.nn.Module:
    """The same weights on all ranks, in double precision."""
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(INPUTS, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1)).double()


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The samples of a step, the same on all ranks: inputs (BATCH, INPUTS) and what is to be learnt (BATCH, 1)."""
    inputs = torch.randn(BATCH, INPUTS, dtype=torch.float64, generator=torch.Generator().manual_seed(step))
    return inputs, inputs.sum(dim=1, keepdim=True).sin()


def train(model: torch.nn.Module, comm: MPI.Comm, steps: int, ended: Callable[[], bool] = bool) -> list[float]:
    """The loss of each step on this rank's part of the batch. `ended()`, called after each step, ends the training."""
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=RATE), []
    for number in range(steps):
        inputs, wanted = (whole[comm.rank :: comm.size] for whole in batch(number))
        loss = (model(inputs) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if ended():
            break
    return losses


def train_together(comm: MPI.Comm, steps: int, slow: int | None) -> list[float]:
    """The same over all ranks, under StepMonitor."""
    port = comm.bcast(29_000 + os.getpid() % 1000)  # rank 0 of torch listens there; on several nodes give its address
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=comm.rank, world_size=comm.size)
    model, late = DistributedDataParallel(network()), []
    with StepMonitor(comm, on_alert=lambda alert: late.append(getattr(alert, "rank", -1))) as step:

        def hook(state: MPIHook, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
            if bucket.is_last():  # all gradients of this rank are there
                if slow is not None:
                    time.sleep(SLOWED_S if comm.rank == slow else WORK_S)
                step.ready()
            return mpi_allreduce_hook(state, bucket)

        state = MPIHook(executor="sendrecv")  # which needs no compiler
        model.register_comm_hook(state, hook)
        losses = train(model, comm, steps, lambda: step() or slow in late)
    state.close()
    dist.destroy_process_group()
    return losses


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--slow", type=int, metavar="RANK", help="a rank that takes longer")
    asked, comm = parser.parse_args(), MPI.COMM_WORLD
    if BATCH % comm.size:
        sys.exit(1 if comm.rank else f"error: {comm.size} ranks: expected a number that divides the batch of {BATCH}")
    if asked.steps < 1 or asked.slow not in (None, *range(comm.size)):
        what = "--steps: expected 1 or more" if asked.steps < 1 else f"--slow: expected a rank below {comm.size}"
        sys.exit(1 if comm.rank else f"error: {what}")
    torch.set_num_threads(1)
    parts = comm.allgather(train_together(comm, asked.steps, asked.slow))
    losses = [sum(part) / comm.size for part in zip(*parts)]
    alone = train(network(), MPI.COMM_SELF, len(losses))
    difference = max(abs(one / other - 1) for one, other in zip(losses, alone))
    if comm.rank == 0:
        print(f"ranks: {comm.size}; loss {losses[0]:.4f} in the first step, {losses[-1]:.15g} in the last one")
        print(f"training alone gives these losses to {difference:.1e}", flush=True)
    return int(not difference <= ROUNDING)


if __name__ == "__main__":
    sys.exit(main())

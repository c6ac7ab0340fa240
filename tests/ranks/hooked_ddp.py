"""Trains a small network with PyTorch's DDP, by Gloo and by the hook, and compares the gradients. Run it with

    mpirun -n 2 python hooked_ddp.py same,overlap | fsdp | tensors | dies | order | torchrun

same: every type, two models, bit by bit where the order of additions is the same (two processes), else to rounding.
overlap: a bucket is under way while the next one comes. fsdp: the hook is refused. tensors: without DDP they are
reduced where they lie. dies: rank 1 fails in its third step. order: torch counts the processes the other way round.
torchrun: the processes are torchrun's, and each is alone for MPI. Prints `NAME: N checks, 0 failed`.
"""

import os
import sys
import tempfile
import time
from functools import partial
from itertools import product
from pathlib import Path

import left_to_mpi4py
import torch
import torch.distributed as dist
from mpi4py import MPI
from torch.nn.parallel import DistributedDataParallel

from allreduce_bench.programs import bound
from allreduce_bench.programs.torch_hook import HookError, MPIHook, mpi_allreduce_hook

COMM = MPI.COMM_WORLD
ROUNDING = {torch.float64: 1e-14, torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}  # relative
checked = 0


def check(holds: bool, *words: object) -> None:
    """Count it, or end all processes."""
    global checked
    checked += 1
    if not holds:
        print("failed:", *words, flush=True)
        COMM.Abort(1)


def network(dtype: torch.dtype) -> torch.nn.Module:
    """The same on all processes."""
    torch.manual_seed(7)
    layers = [torch.nn.Linear(40, 200), torch.nn.Tanh(), torch.nn.Linear(200, 300), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(300, 3)).to(dtype)


def gradients(dtype: torch.dtype, hook=None, state=None, steps: int = 3, before_step=lambda step: None) -> list:
    """Of each step and parameter, after DDP has averaged them; small buckets, so that there are several."""
    model = DistributedDataParallel(network(dtype), bucket_cap_mb=0.1)
    if hook is not None:
        model.register_comm_hook(state, hook)
    found = []
    for step in range(steps):
        before_step(step)
        torch.manual_seed(100 * step + COMM.rank)
        model.zero_grad()
        model(torch.randn(8, 40).to(dtype)).square().mean().backward()
        found += [parameter.grad.detach().clone() for parameter in model.parameters()]
    return found


def same() -> None:
    """What Gloo's DDP gives."""
    state, by_default = MPIHook(algorithm=["ring", "recursive_doubling"], executor="sendrecv"), MPIHook()
    for (dtype, most), one in product(ROUNDING.items(), (by_default, state)):
        pairs = list(zip(gradients(dtype), gradients(dtype, mpi_allreduce_hook, one), strict=True))
        for gloo, ours in pairs:
            scale = gloo.abs().max().double()
            check(scale > 0 and bool((gloo - ours).abs().max().double() <= most * scale), dtype, gloo.shape)
        if COMM.size == 2:  # a + b is b + a
            check(all(torch.equal(gloo, ours) for gloo, ours in pairs), "other bits", dtype)
        alike = [COMM.allgather(ours.view(-1).view(torch.uint8).numpy().tobytes()) for _, ours in pairs]
        check(all(len(set(bits)) == 1 for bits in alike), "processes have other gradients", dtype)
    check(any(shape.dtype == "bfloat16" for shape in state.prepared.calls_of_trials()), "bfloat16 went elsewhere")
    check(len(state.prepared.calls_of_trials()) >= 4 * 2, "one bucket alone")
    refused("gradients: on meta; expected memory of the processor", lambda: state.reduce(torch.empty(3, device="meta")))
    refused("gradients are sparse", lambda: state.reduce(torch.ones(3).to_sparse()))
    refused("gradients are complex64; this hook reduces float16", lambda: state.reduce(torch.ones(3) + 1j))
    refused("state of the hook is of type ProcessGroup", lambda: mpi_allreduce_hook(dist.group.WORLD, None))
    refused("not in the group or communicator", lambda: MPIHook(comm=MPI.COMM_NULL))
    state.close()
    state.close()
    refused("the hook was closed", lambda: state.reduce(torch.ones(3)))


def refused(words: str, call) -> None:
    """`call` raises a HookError with these words."""
    try:
        call()
    except HookError as error:
        check(words in str(error), error)
    else:
        check(False, "not refused:", words)


def overlap() -> None:
    """The second bucket is handed over before the first one is done, which waits for that."""
    run, events, buckets = bound.Bound.run, [], 0

    def slow(self, *vectors) -> None:
        events.append("begin")
        given_up_s = time.monotonic() + 60
        while events.count("bucket") < buckets and time.monotonic() < given_up_s:
            time.sleep(0.01)
        run(self, *vectors)
        events.append("end")

    def noted(state, bucket):
        events.append("bucket")
        return mpi_allreduce_hook(state, bucket)

    def before(step: int) -> None:
        nonlocal buckets
        events.clear()
        buckets = 1 + step  # the first step has one: its cap is 1 MiB

    bound.Bound.run = slow
    gradients(
        torch.float32,
        noted,
        MPIHook(algorithm="ring", executor="sendrecv"),
        steps=2,
        before_step=before,
    )
    first_end = events.index("end")
    check(events[:first_end].count("bucket") >= 2, "no overlap:", events)
    check(events.count("begin") == events.count("end") == events.count("bucket") >= 2, events)


def dies() -> None:
    """An error on one process alone."""

    def fail(step: int) -> None:
        if step == 2 and COMM.rank == 1:
            raise RuntimeError("nobody catches this")

    gradients(torch.float32, mpi_allreduce_hook, before_step=fail, steps=5)


def fsdp() -> None:
    """Every process refuses, whether gradients are sharded or not."""
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy

    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.NO_SHARD):
        model = FullyShardedDataParallel(
            network(torch.float32), sharding_strategy=strategy, device_id=torch.device("cpu")
        )
        model.register_comm_hook(None, mpi_allreduce_hook)
        refused(
            "this hook is of DistributedDataParallel; FullyShardedDataParallel shards",
            lambda model=model: model(torch.randn(8, 40)).square().mean().backward(),
        )


def order() -> None:
    """Every process refuses."""
    try:
        MPIHook()
        check(False, "not refused")
    except HookError as error:
        check("the ranks of torch are not those of MPI" in str(error), error)


def main() -> None:
    """Start torch's processes over a file, with the ranks of MPI."""
    part = sys.argv[1]
    torch.set_num_threads(1)
    if part == "torchrun":  # without MPI around it
        dist.init_process_group("gloo")
        MPIHook()
    folder = COMM.bcast(tempfile.mkdtemp() if COMM.rank == 0 else None)
    rank = COMM.size - 1 - COMM.rank if part == "order" else COMM.rank
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{Path(folder) / 'torch'}", rank=rank, world_size=COMM.size)
    for name in part.split(","):
        tensors = partial(left_to_mpi4py.tensors, COMM)
        {"same": same, "overlap": overlap, "dies": dies, "order": order, "fsdp": fsdp, "tensors": tensors}[name]()
    COMM.Barrier()
    dist.destroy_process_group()
    if COMM.rank == 0:
        print(f"{part}: {checked} checks, 0 failed", flush=True)


if __name__ == "__main__":
    main()

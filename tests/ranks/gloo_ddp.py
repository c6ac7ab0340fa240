"""`python gloo_ddp.py log|train FOLDER`: all-reduces of Gloo as a log, or steps of a training that sleeps.

RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are in the environment. Rank 0 writes FOLDER/gloo.csv, or
FOLDER/steps.json (seconds of each step, the most over all ranks) and FOLDER/shapes.csv. A layer sleeps
FORWARD_S and BACKWARD_S.
"""

import json
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

SIZES, CALLS = (256 << 10, 1 << 20, 2 << 20, 4 << 20), 5  # bytes
LAYERS, WIDTH, FORWARD_S, BACKWARD_S = 8, 512, 0.015, 0.03
CAP_MIB, STEPS, WARM_UP = 2, 9, 3  # the first step has one bucket, the second rebuilds them


class Sleep(torch.autograd.Function):
    """The identity, which takes its time in both directions."""

    @staticmethod
    def forward(ctx, values):
        """Sleep FORWARD_S."""
        time.sleep(FORWARD_S)
        return values.clone()

    @staticmethod
    def backward(ctx, gradient):
        """Sleep BACKWARD_S."""
        time.sleep(BACKWARD_S)
        return gradient


class Layer(nn.Module):
    """A linear layer whose computation is sleep; its gradients are ready after that of the layer."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, values):
        """The layer, then the sleep."""
        return Sleep.apply(self.linear(values))


def longest(time_s: float) -> float:
    """The most over all ranks."""
    value = torch.tensor([time_s], dtype=torch.float64)
    dist.all_reduce(value, dist.ReduceOp.MAX)
    return float(value)


def timed(act) -> float:
    """Seconds of `act` on the slowest rank; all begin together."""
    dist.barrier()
    begun = time.perf_counter()
    act()
    return longest(time.perf_counter() - begun)


def log(folder: Path) -> None:
    lines = ["collective,ranks,size_bytes,dtype,op,time_s"]
    for size_bytes in SIZES:
        values = torch.ones(size_bytes // 4)
        times = [timed(lambda values=values: dist.all_reduce(values)) for _ in range(1 + CALLS)][1:]
        lines += [f"allreduce,{dist.get_world_size()},{size_bytes},float32,sum,{time_s:.9f}" for time_s in times]
    if dist.get_rank() == 0:
        (folder / "gloo.csv").write_text("\n".join(lines) + "\n")


def train(folder: Path) -> None:
    model = nn.Sequential(*(Layer() for _ in range(LAYERS)))
    replica = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=CAP_MIB)
    data = torch.ones(1, WIDTH)
    times = [timed(lambda: replica(data).sum().backward()) for _ in range(WARM_UP + STEPS)][WARM_UP:]
    if dist.get_rank() == 0:
        (folder / "steps.json").write_text(json.dumps(times))
        with open(folder / "shapes.csv", "w") as file:
            for name, parameter in model.named_parameters():
                print(name, "x".join(map(str, parameter.shape)), str(parameter.dtype), sep=",", file=file)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    {"log": log, "train": train}[sys.argv[1]](Path(sys.argv[2]))
    dist.destroy_process_group()

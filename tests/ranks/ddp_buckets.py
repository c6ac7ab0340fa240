"""`torchrun ddp_buckets.py FOLDER`, or alone as rank 0 of 1: what DistributedDataParallel sends in three steps.

Rank 0 writes FOLDER/buckets.json, by the cap (MiB; empty: none given) the elements of each bucket of each step, and
FOLDER/shapes.csv, the shapes of its model.
"""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

STEPS, CAPS_MIB = 3, (None, 1)


def network() -> nn.Module:
    """Layers of several kinds: convolutions, normalisations, linear layers; 5 MB of gradients."""
    return nn.Sequential(
        nn.Conv2d(3, 64, 3),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.Conv2d(64, 128, 3),
        nn.BatchNorm2d(128),
        nn.Flatten(),
        nn.Linear(128 * 4 * 4, 400),
        nn.LayerNorm(400),
        nn.Linear(400, 700),
        nn.Linear(700, 300),
    )


def counts_of_steps(model: nn.Module, cap_mib: int | None) -> list[list[int]]:
    """The elements of each bucket of each step."""
    replica = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=cap_mib)
    counts: list[int] = []

    def record(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        counts.append(bucket.buffer().numel())
        done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    replica.register_comm_hook(None, record)
    steps = []
    for _ in range(STEPS):
        replica(torch.ones(2, 3, 8, 8)).sum().backward()
        steps.append([*counts])
        counts.clear()
    return steps


def main(folder: Path) -> None:
    """See above."""
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    buckets = {str(cap_mib or ""): counts_of_steps(network(), cap_mib) for cap_mib in CAPS_MIB}
    if dist.get_rank() == 0:
        (folder / "buckets.json").write_text(json.dumps(buckets))
        with open(folder / "shapes.csv", "w") as file:
            for name, parameter in network().named_parameters():
                print(name, "x".join(map(str, parameter.shape)), str(parameter.dtype), sep=",", file=file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

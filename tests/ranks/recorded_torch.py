"""Four processes of PyTorch over Gloo, one of them late: their traces.

    python recorded_torch.py FOLDER [--late 0.01] [--steps 30]

Writes `trace_RANK.json` (torch.profiler) of the steps. Files of tests/data/torch are made by it.
"""

import argparse
import time
from pathlib import Path

RANKS, LATE = 4, 2
WORK_S = 0.02
VALUES = 1000  # float32


def work(rank: int, folder: str, late_s: float, steps: int) -> None:
    """What each process does."""
    import torch
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    place = Path(folder)
    dist.all_reduce(torch.ones(VALUES))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        for _ in range(steps):
            time.sleep(WORK_S + (late_s if rank == LATE else 0))
            dist.all_reduce(torch.ones(VALUES))
    profiler.export_chrome_trace(str(place / f"trace_{rank}.json"))
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    """Start the processes."""
    import multiprocessing

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--late", type=float, default=0.01, help="seconds of each step")
    parser.add_argument("--steps", type=int, default=30)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    import torch  # noqa: F401 - once for all, since it takes seconds

    forking = multiprocessing.get_context("fork")
    processes = [
        forking.Process(target=work, args=(rank, str(asked.folder.resolve()), asked.late, asked.steps), daemon=True)
        for rank in range(RANKS)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(240)
    raise SystemExit(max(abs(process.exitcode) if process.exitcode is not None else 1 for process in processes))


if __name__ == "__main__":
    main()

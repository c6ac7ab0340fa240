"""How long is a training step with the hook of PyTorch beside Gloo's, on idle and on busy cores? Two minutes.

python tests/studies/hook_steps.py [RANKS]. A network with buckets of 4 MiB; steps of both take turns in one process.
Busy: as many other processes compute as there are cores. Prints the median step of each and their ratio. Needs torch.
"""

import argparse
import os
import subprocess
import sys
import time
from statistics import median

LAYERS, WIDTH, BATCH, STEPS = 6, 1024, 32, 15
INSIDE = "HOOK_STEPS_INSIDE"  # a variable: this process is a rank


def rank() -> None:
    """Train by both; rank 0 prints the line."""
    import torch
    import torch.distributed as dist
    from mpi4py import MPI
    from torch.nn.parallel import DistributedDataParallel

    from allreduce_bench.programs.torch_hook import MPIHook, mpi_allreduce_hook

    comm = MPI.COMM_WORLD
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    port = comm.bcast(29_000 + os.getpid() % 1000)
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=comm.rank, world_size=comm.size)
    hook, models = MPIHook(), {}
    for name in ("gloo", "hook"):
        layers = [torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)]
        models[name] = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=4)
    models["hook"].register_comm_hook(hook, mpi_allreduce_hook)
    taken: dict[str, list[float]] = {name: [] for name in models}
    for step in range(STEPS + 3):
        for name, model in models.items():
            comm.Barrier()
            begun = time.perf_counter()
            model.zero_grad()
            model(torch.ones(BATCH, WIDTH)).square().mean().backward()
            if step >= 3:  # the first ones arrange the buckets
                taken[name].append(comm.allreduce(time.perf_counter() - begun, MPI.MAX))
    if comm.rank == 0:
        gloo_s, hook_s = median(taken["gloo"]), median(taken["hook"])
        print(f"Gloo {gloo_s * 1e3:6.1f} ms, hook {hook_s * 1e3:6.1f} ms: {hook_s / gloo_s:.2f}", flush=True)
    hook.close()
    dist.destroy_process_group()


def main() -> None:
    """Start the ranks, on idle and on busy cores."""
    if os.environ.get(INSIDE):
        rank()
        return
    from allreduce_bench.launching.find import find_launcher, mpirun_command
    from allreduce_bench.runs.start import Start

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ranks", type=int, nargs="?", default=2)
    launcher, ranks = find_launcher(Start()), parser.parse_args().ranks
    command = mpirun_command(launcher, ranks, Start(), [sys.executable, __file__])
    for busy in (0, os.cpu_count() or 1):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
        try:
            print(f"{launcher.library}, {busy} busy: ", end="", flush=True)
            subprocess.run(command, env={**os.environ, INSIDE: "yes"}, check=True)
        finally:
            for other in others:
                other.kill()
                other.wait()


if __name__ == "__main__":
    main()

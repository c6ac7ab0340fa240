"""Is a step of a real DistributedDataParallel predicted from a log of all-reduces? Gloo over virtual hosts.

On 2 and on 4 virtual hosts Gloo's all-reduces are timed and kept as a log; then a network whose layers sleep is trained
by PyTorch's DistributedDataParallel, and `workload shapes.csv -m gloo.csv` predicts its steps. Computation sleeps:
all hosts share two cores. Exit status 1: a prediction is more than LARGEST_ERROR off. Needs torch and virtual hosts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from click.testing import CliRunner
from places import ROOT

from allreduce_bench.cli import main as command
from allreduce_bench.lab.lab import Room, room, variables_in, why_no_lab

LARGEST_ERROR = 0.15
PROGRAM = ROOT / "tests" / "ranks" / "gloo_ddp.py"
PATIENCE_S = 300.0


def on_all_hosts(made: Room, hosts: int, mode: str, folder: Path, port: int) -> None:
    """Run the program on every host; raises where one fails."""
    torch = {"MASTER_ADDR": "10.77.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(hosts)}
    environ = {**variables_in(made, os.environ), **torch, "GLOO_SOCKET_IFNAME": "e0", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    words = [sys.executable, PROGRAM, mode, folder]
    ranks = [subprocess.Popen(made.command(rank, words), env={**environ, "RANK": str(rank)}) for rank in range(hosts)]
    try:
        if failed := [rank for rank, process in enumerate(ranks) if process.wait(PATIENCE_S)]:
            raise RuntimeError(f"{mode}: rank {failed[0]} failed")
    finally:
        for process in ranks:
            process.kill()


def predicted_s(folder: Path, hosts: int) -> float:
    """What `workload` says of the step."""
    from gloo_ddp import BACKWARD_S, CAP_MIB, FORWARD_S, LAYERS  # late: it needs torch

    compute = "+".join(f"{pass_s * LAYERS * 1000:g}ms" for pass_s in (FORWARD_S, BACKWARD_S))
    words = ["workload", folder / "shapes.csv", "--bucket-cap", f"{CAP_MIB}M", "-n", hosts, "--compute", compute]
    words += ["-m", folder / "gloo.csv", "--format", "json"]
    found = CliRunner().invoke(command, [str(word) for word in words])
    if found.exit_code:
        raise RuntimeError(found.output)
    return json.loads(found.stdout)["steps"][0]["step_s"]


def error_on(hosts: int, mbit: int) -> float:
    """Print what was predicted and measured on so many hosts; the relative error."""
    with tempfile.TemporaryDirectory() as name, room([mbit * 1e6 / 8] * hosts) as made:
        folder = Path(name)
        for port, mode in enumerate(("log", "train"), 29500):
            on_all_hosts(made, hosts, mode, folder, port)
        measured_s = median(json.loads((folder / "steps.json").read_text()))
        model_s = predicted_s(folder, hosts)
    error = model_s / measured_s - 1
    told = f"step measured {measured_s * 1e3:.0f} ms, predicted {model_s * 1e3:.0f} ms ({error:+.1%})"
    print(f"{hosts} hosts, {mbit} Mbit/s: {told}", flush=True)
    return error


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--mbit", type=int, nargs="+", default=[200])
    asked = parser.parse_args()
    if why := why_no_lab() or ("" if find_spec("torch") else "torch is not installed here"):
        print(f"skipped: {why}")
        return 0
    errors = [error_on(hosts, mbit) for hosts in asked.hosts for mbit in asked.mbit]
    return int(max(map(abs, errors)) > LARGEST_ERROR)


if __name__ == "__main__":
    sys.exit(main())

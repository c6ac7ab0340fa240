"""Runs a job script as slurmd would, with a program in place of allreduce-bench that notes how it was called."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

NAMES = ("sweep", "scaling", "health", "collect", "train")
IN_A_JOB = {
    "SLURM_JOB_NAME": "allreduce",
    "SLURM_JOB_ID": "77",
    "SLURM_JOB_NUM_NODES": "4",
    "SLURM_NTASKS": "16",
    "SLURM_NTASKS_PER_NODE": "4",
}


class Outcome(NamedTuple):
    """What came of a script: how its shell ended, the arguments and the environment of the program that it started."""

    status: int
    complaint: str
    calls: list[list[str]]
    environ: dict[str, str]


def make_program(venv: str, log: Path, status: int = 0) -> None:
    """Put an allreduce-bench into `venv` that notes its calls in the folder `log`, and a `module` beside it."""
    os.makedirs(f"{venv}/bin")
    for name, ends in (("allreduce-bench", status), ("module", 0)):
        with open(f"{venv}/bin/{name}", "w") as program:
            program.write(f'#!/bin/bash\nprintf "%s\\0" {name} "$@" $\'\\036\' >> "{log}/calls"\n')
            program.write(f'env -0 > "{log}/environ"\nexit {ends}\n')
        os.chmod(f"{venv}/bin/{name}", 0o755)


def run_script(script: Path, submitted_from: str, log: Path, *arguments: str, **variables: str) -> Outcome:
    """Run the script in the folder `submitted_from`; `log` as in make_program."""
    environ = {"PATH": os.environ["PATH"], **IN_A_JOB, "SLURM_SUBMIT_DIR": submitted_from, **variables}
    words = ["bash", str(script), *arguments]
    done = subprocess.run(words, env=environ, cwd=submitted_from, capture_output=True, check=False)
    return Outcome(done.returncode, os.fsdecode(done.stderr), _calls(log), _environ(log))


def _calls(log: Path) -> list[list[str]]:
    noted = (log / "calls").read_bytes() if (log / "calls").exists() else b""
    return [os.fsdecode(call).split("\0")[:-1] for call in noted.split(b"\036\0") if call]


def _environ(log: Path) -> dict[str, str]:
    noted = (log / "environ").read_bytes() if (log / "environ").exists() else b""
    return dict(os.fsdecode(line).split("=", 1) for line in noted.split(b"\0") if line)

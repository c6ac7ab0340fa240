"""Steps of a training, measured by ranks that a test starts."""

import json
import os
import subprocess
from pathlib import Path
from tempfile import NamedTemporaryFile

from rank_programs import launch

PROGRAM = "allreduce_bench.training.measuring.training_step"


def step_on_ranks(python: Path, request: dict, ranks: int = 2) -> dict:
    """What rank 0 prints of a `training.measuring.request.Request`."""
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": "multiple"}
    with NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(request, file)
        file.flush()
        command = [*launch(python, ranks), str(python), "-m", PROGRAM, file.name]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])

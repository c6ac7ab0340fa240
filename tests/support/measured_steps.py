"""Steps of a training, measured by ranks that a test starts."""

import json
import os
import subprocess
from pathlib import Path
from tempfile import NamedTemporaryFile

COMMAND = (
    "import json, sys; from allreduce_bench.launching.find import find_launcher, mpirun_command;"
    "from allreduce_bench.runs.start import UNASKED;"
    "program = [sys.executable, '-m', 'allreduce_bench.training.measuring.training_step', sys.argv[2]];"
    "print(json.dumps(mpirun_command(find_launcher(), int(sys.argv[1]), UNASKED, program)))"
)


def step_on_ranks(python: Path, request: dict, ranks: int = 2, level: str = "multiple") -> dict:
    """What rank 0 prints of a `training.measuring.request.Request`."""
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": level}
    with NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(request, file)
        file.flush()
        asked = subprocess.run([python, "-c", COMMAND, str(ranks), file.name], capture_output=True, check=True)
        command = json.loads(asked.stdout)
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])

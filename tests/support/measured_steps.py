"""Steps of a training, measured by ranks that a test starts."""

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from places import RANK_PROGRAMS
from rank_programs import launch


def steps_on_ranks(python: Path, requests: Iterable[dict], ranks: int = 2) -> list[dict]:
    """What rank 0 prints of each `training.measuring.request.Request`; the ranks are started once."""
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": "multiple"}
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.json" for number, _ in enumerate(requests)]
        for file, request in zip(files, requests):
            file.write_text(json.dumps(request))
        command = [*launch(python, ranks), str(python), str(RANK_PROGRAMS / "several_steps.py"), *map(str, files)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

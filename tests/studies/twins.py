"""Real launches of the ring under two names, on the machine as it is or beside load. Part 2 of winners.py."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measured_runs import bench
from places import RANK_PROGRAMS

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.summary_row import SummaryRow
from allreduce_bench.runs.folder import RunFolder

MEASURED = ["-n", "2", "--sizes", "8,1K,64K,1M", "--cell-time", "50ms", "--no-reference-times"]
# ends by itself, too, where whoever started it was killed
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"


def measured_twins(interpreter: str | Path, runs: int, launches: int = 5) -> Iterator[list[SummaryRow]]:
    """The rows of so many runs of the ring against itself over the interpreter's MPI."""
    words = [*MEASURED, "-a", f"ring,{RANK_PROGRAMS / 'twin.py'}", "--launches", launches]
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as place:
            done = bench(Path(interpreter), "run", *words, "-o", f"{place}/run")
            if done.returncode:
                sys.exit(f"a run failed with status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
            yield summarise(RunFolder(Path(place) / "run"))


@contextmanager
def beside_load(is_loaded: bool = True) -> Iterator[list[subprocess.Popen]]:
    """A busy loop on every processor, while the block lasts; without load nothing."""
    loops = [
        subprocess.Popen([sys.executable, "-c", BUSY], preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu}))
        for cpu in sorted(os.sched_getaffinity(0) if is_loaded else ())
    ]
    try:
        yield loops
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()

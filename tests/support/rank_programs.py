"""Programs of `tests/ranks`, run under the mpirun of an interpreter."""

import json
import subprocess
from functools import cache
from pathlib import Path

from places import RANK_PROGRAMS

ASK = """
import json, sys
from allreduce_bench.launching.find import find_launcher, mpirun_command
from allreduce_bench.runs.start import UNASKED
print(json.dumps(mpirun_command(find_launcher(), int(sys.argv[1]), UNASKED, [])))
"""


@cache
def launch(python: Path, ranks: int) -> tuple[str, ...]:
    """The words before a program of so many ranks, by the MPI of that interpreter; asked once."""
    question = [str(python), "-c", ASK, str(ranks)]
    return tuple(json.loads(subprocess.run(question, capture_output=True, text=True, check=True).stdout))


def mpirun(python: Path, ranks: int, program: str, *options: str, timeout_s: float = 600) -> tuple[int, str]:
    """Exit status and words of a program of `tests/ranks`; one that hangs is ended after ten minutes."""
    command = [*launch(python, ranks), str(python), "-m", "mpi4py", str(RANK_PROGRAMS / program), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            words, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.terminate()  # mpirun then ends its ranks, which a kill would leave behind
            raise
    return process.returncode, words

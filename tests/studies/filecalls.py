"""How many file-system calls the start of one rank makes: run as `python tests/studies/filecalls.py PYTHON…`.

For every interpreter one line: the calls of one rank that `allreduce-bench run` starts (a launch of two tiny cells,
from exec to exit), those of a bare `import mpi4py.MPI, numpy` with the same interpreter, and their ratio. Thousands of
ranks make these calls at the same moment, mostly on one shared file system. Needs strace.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

BARE = "import mpi4py.MPI, numpy"
KINDS = "trace=file,?getdents,?getdents64"

UNCOUNTED = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")  # folders of the studies would be searched for every module


def file_calls(interpreter: str) -> tuple[int, int]:
    """Calls of a rank's start and of the bare imports; everything was started, and byte-compiled, once before."""
    with tempfile.TemporaryDirectory() as folder:
        rank = rank_command(interpreter, Path(folder) / "run")
        return traced(rank, folder), traced([interpreter, "-c", BARE], folder)


def rank_command(interpreter: str, folder: Path) -> list[str]:
    """The command of the rank of a launch, whose cells are to be done again: everything is byte-compiled.

    `interpreter` is an absolute path, as the run notes it.
    """
    words = ["-n", "1", "--sizes", "8", "-a", "native,ring", "--no-reference-times", "--iters", "1", "--launches", "1"]
    run = [interpreter, "-m", "allreduce_bench", "run", *words, "-o", str(folder)]
    subprocess.run(run, env=environment(), capture_output=True, text=True, check=True, timeout=120)
    command = shlex.split(json.loads((folder / "launches" / "1r-1.1.json").read_text())["command"])
    for path in folder.glob("launches/1r-1.*"):
        path.unlink()
    return command[command.index(interpreter) :]


def environment() -> dict[str, str]:
    """The variables of what is counted."""
    return {name: value for name, value in os.environ.items() if name not in UNCOUNTED}


def traced(command: list[str], folder: str) -> int:
    """The file-system calls of `command` and its children."""
    trace = Path(folder) / "trace"
    strace = ["strace", "-f", "-qq", "-e", KINDS, "-o", str(trace), *command]
    subprocess.run(strace, env=environment(), capture_output=True, check=True, timeout=120)
    with open(trace, errors="replace") as lines:
        return sum(
            "(" in line and " resumed>" not in line for line in lines
        )  # one interrupted by another has two lines


def main(interpreters: list[str]) -> None:
    """Print the line of every interpreter."""
    for interpreter in interpreters:
        rank, bare = file_calls(interpreter)
        print(f"{interpreter}: file-system calls: bare {bare}, rank {rank} ({rank / bare:.2f})")


if __name__ == "__main__":
    main([os.path.abspath(path) for path in sys.argv[1:]] or [sys.executable])

"""Whole runs started by a test over a real MPI, and what they leave behind."""

import csv
import os
import subprocess
import time
from pathlib import Path

from click.testing import CliRunner
from places import ROOT, SUPPORT
from rank_programs import launch

from allreduce_bench.cli import main

PATIENCE_S = 300.0  # with what always happens, however busy the cores are

# seconds of work in many short cells
LONG_RUN = ["--sizes", "256K,512K,1M", "-a", "native,ring,tree,two_tree", "--no-reference-times"]
LONG_RUN += ["--identify=never"]
LONG_RUN += ["--min-time", "0.1s", "--cell-time", "0.1s"]  # not a number of calls: busy cores would take minutes
# as many seconds as a test needs that strikes after the second
EIGHT_CELLS = ["--sizes", "256K,1M", *LONG_RUN[2:-4], "--min-time", "0.2s", "--cell-time", "0.2s"]


def script(path: Path, text: str) -> Path:
    """An executable file."""
    path.write_text(text)
    path.chmod(0o755)
    return path


def with_package() -> dict[str, str]:
    """The variables with which any interpreter imports this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def bench(python: Path, *words: object, cwd: Path | None = None, **options) -> subprocess.CompletedProcess:
    """The command; a run starts no launches but those that are timed."""
    few = ["--identify=never"] * (words[:1] == ("run",))
    command = [str(python), "-m", "allreduce_bench", *map(str, words), *few]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False, **options
    )


def impatient(python: Path, *words: object) -> list[str]:
    """The command that waits a second only for ranks that do not answer, and for launchers that do not end."""
    return [str(python), str(SUPPORT / "impatient.py"), *map(str, words)]


def here(*words: object) -> subprocess.CompletedProcess:
    """The command in this process, for what is refused before anything is started."""
    result = CliRunner().invoke(main, [*map(str, words)])
    return subprocess.CompletedProcess(words, result.exit_code, result.stdout, result.stderr)


def done(folder: Path) -> list[tuple[str, str, str]]:
    """(launch, competitor, count) of every completed all-reduce, duplicates included."""
    cells = []
    for path in folder.glob("launches/*.cells.csv"):
        with open(path, newline="") as file:
            whole = [line for line in file if line.endswith("\n")]  # a rank may be writing
        rows = [
            row
            for row in csv.DictReader(whole)
            if row["state"] == "done" and not row["competitor"].startswith("floor:")
        ]
        cells += [(path.name.partition(".")[0], row["competitor"], row["size_bytes"]) for row in rows]
    return cells


def one_line_error(result: subprocess.CompletedProcess) -> str:
    """The single line that a refused command says."""
    assert result.returncode == 2, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: "), result.stderr
    return lines[0]


def ranks(folder: Path) -> list[int]:
    """The processes that measure into `folder`, mpirun and its helpers left out."""
    matching = subprocess.run(
        ["pgrep", "-f", f"^[^ ]*python[^ ]* -m allreduce_bench measure .* {folder}$"], capture_output=True, text=True
    )
    return [int(pid) for pid in matching.stdout.split()]


def wait_until_nobody_measures(folder: Path) -> None:
    deadline = time.time() + PATIENCE_S
    while ranks(folder):
        assert time.time() < deadline, "orphans go on measuring"
        time.sleep(0.1)


def mpirun(python: Path, number: int, *words: object) -> list[str]:
    """The command that starts so many ranks of the command with these words."""
    return [*launch(python, number), str(python), "-m", "allreduce_bench", *map(str, words)]


def processes(folder: Path) -> dict[int, int]:
    """rank -> process of what measures into `folder`."""
    search = ["pgrep", "-f", rf"^[^ ]*python[^ ]* (-m allreduce_bench\S*|[^ ]*impatient.py) .*{folder}$"]
    process_of = {}
    for pid in subprocess.run(search, capture_output=True, text=True).stdout.split():
        try:
            variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
        except OSError:
            continue
        environ = dict(word.split("=", 1) for word in variables if "=" in word)
        rank = environ.get("OMPI_COMM_WORLD_RANK") or environ.get("PMI_RANK")
        if rank is not None:
            process_of[int(rank)] = int(pid)
    return process_of


def nobody_is_left(folder: Path) -> None:
    deadline = time.time() + PATIENCE_S
    while processes(folder):
        assert time.time() < deadline, "ranks are left behind"
        time.sleep(0.1)


def wait_for_cells(process: subprocess.Popen, folder: Path, number: int, launch: str = "") -> None:
    """Wait until the run, or one launch of it, has so many cells."""
    deadline = time.time() + PATIENCE_S
    while sum(cell[0].startswith(launch) for cell in done(folder)) < number:
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.02)

"""Files that users name: without an end, very long, or no regular ones; each in one line."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from special_files import make_zero

from allreduce_bench.cli import main
from allreduce_bench.report.how_measured import describe_imported_method
from allreduce_bench.runs.folder import RunFolder

HOLE_NBYTES = 3 * 2**30
PREDICT = ("predict", "FILE", "-n", "4")
RUN = ("run", "-n", "2", "-a", "ring", "--launches", "1", "-o", "DIR/out")
SUBMIT = ("submit", "--nodes", "1", "-o", "DIR/out", "--dry-run")
READERS = {
    "log of fit": ("fit", "FILE"),
    "log of import": ("import", "FILE", "-o", "DIR/out"),
    "machine file": PREDICT,
    "host file": (*RUN, "--hosts", "FILE"),
    "system": (*SUBMIT, "--system", "FILE"),
    "own algorithm": ("explain", "FILE", "-n", "2"),
    "algorithm of a run": ("run", "-n", "2", "-a", "FILE", "-o", "DIR/out"),
}


def make_hole(path: Path) -> None:
    """A file of 3 GiB that takes no room."""
    with open(path, "wb") as file:
        file.truncate(HOLE_NBYTES)


@pytest.fixture(autouse=True)
def shorter_logs(monkeypatch):
    """The bound that counts here is that there is one: reading 256 MiB of zeros each time would take long."""
    monkeypatch.setattr("allreduce_bench.importers.lines.LONGEST_LOG", 2**20)


# Each kind: tests/runs/test_careful_reading.py; here that no reader reads without an end.
WITHOUT_END = make_hole if os.getuid() else make_zero  # only root makes a device


@pytest.mark.parametrize(
    ("reader", "make"),
    [
        *((reader, WITHOUT_END) for reader in READERS),
        ("log of fit", make_hole),
        ("algorithm of a run", make_hole),
        ("own algorithm", Path.mkdir),
        ("machine file", Path.mkdir),
    ],
)
def test_each_ends_in_one_line_and_nothing_is_made(tmp_path, reader, make):
    path = tmp_path / ("file.py" if "own" in reader or "algorithm" in reader else "file.cfg")
    make(path)
    words = [word.replace("FILE", str(path)).replace("DIR", str(tmp_path)) for word in READERS[reader]]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and result.stderr.count("\n") == 1, result.output
    assert str(path) in result.stderr
    assert not isinstance(result.exception, MemoryError) and list(tmp_path.iterdir()) == [path]
    if make is not Path.mkdir:
        assert "bytes" in result.stderr or "no regular file" in result.stderr


@pytest.mark.parametrize("command", ["fit", "import -o OUT"])
def test_a_log_may_come_through_a_pipe(tmp_path, command):
    cells = [(ranks, size_bytes) for ranks in (2, 4, 8) for size_bytes in (8, 64, 1024, 8192, 65536)]
    rows = [f"ring,{ranks},{ranks},{size_bytes},{ranks * 3 + size_bytes / 500}\n" for ranks, size_bytes in cells]
    reading, writing = os.pipe()  # as <(cat log.csv) of a shell
    with open(writing, "w") as log:
        log.write("".join(["algorithm,ranks,nodes,size_bytes,time_us\n", *rows]))
    words = command.replace("OUT", str(tmp_path / "out")).split()
    result = CliRunner().invoke(main, [*words, f"/dev/fd/{reading}"])
    os.close(reading)
    assert result.exit_code == 0 and ("ring" in result.stdout or "15 rows" in result.stdout), result.output
    if command != "fit":
        imported = RunFolder(tmp_path / "out").imported() or {}
        assert imported["files"] == [{"name": f"/dev/fd/{reading}", "sha256": None}]
        sentences = dict(describe_imported_method(RunFolder(tmp_path / "out").plan(), imported, [], []))
        assert sentences["imported from"].endswith(f"/dev/fd/{reading}")

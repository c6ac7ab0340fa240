"""`report` and `import` on a full disk: one line with the path, and nothing half made."""

import os
import shutil
import subprocess

import pytest
from click.testing import CliRunner
from made_runs import build_run
from places import TESTS

from allreduce_bench.cli import main

FULL = "no space left on device"  # says the system

LOG = TESTS / "data" / "logs" / "osu_v5.6.2_stackhpc_csd3.txt"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")


@pytest.fixture
def disk(tmp_path):
    """A file system of 2 MB; `disk(free_nbytes)` fills it but for so much."""
    path = tmp_path / "disk"
    path.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)], check=False).returncode:
        pytest.skip("this machine does not let us mount")

    def fill(free_nbytes: int):
        (path / "fill").write_bytes(b"x" * (shutil.disk_usage(path).free - free_nbytes))

    yield path, fill
    subprocess.run(["umount", "-l", str(path)], check=True)  # a handle of what failed may be open


@pytest.mark.parametrize("free_nbytes", [0, 30_000, 90_000])
def test_a_report_is_whole_or_absent(disk, free_nbytes):
    path, fill = disk
    run = build_run(path / "run", sizes=(8, 1024), ranks=(2,)).path
    before = sorted(run.rglob("*"))
    fill(free_nbytes)
    result = CliRunner().invoke(main, ["report", str(run)])
    assert result.exit_code == 2 and result.stderr.count("\n") == 1
    assert f"error: {run}/report" in result.stderr and FULL in result.stderr
    assert sorted(run.rglob("*")) == before


@pytest.mark.parametrize("free_nbytes", [0, 8192, 16384])
def test_an_import_is_whole_or_absent(disk, free_nbytes):
    path, fill = disk
    fill(free_nbytes)
    result = CliRunner().invoke(main, ["import", "-n", "4", str(LOG), "-o", str(path / "run")])
    assert result.exit_code == 2 and result.stderr == f"error: {path}/run: {FULL}\n"
    assert [one.name for one in path.iterdir()] == ["fill"]

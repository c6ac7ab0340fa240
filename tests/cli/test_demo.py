"""The demo: from nothing to a report; never on a login node unless told."""

import os
import subprocess
import sys

import pytest
from interpreters import interpreters
from measured_runs import here, with_package

from allreduce_bench.cli.demo import ranks_within

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(autouse=True)
def login_node(tmp_path, monkeypatch) -> None:
    """A scheduler exists, its controller answers, and no job is around."""
    for job in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"):
        monkeypatch.delenv(job, raising=False)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sbatch", "scontrol"):
        (programs / name).write_text("#!/bin/sh\necho 'Slurmctld(primary) at login is UP'\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)


ONE_SIZE = """import sys
from types import SimpleNamespace
from allreduce_bench.cli import demo, main, run
demo.SIZES = (8,)
demo.run = SimpleNamespace(make_context=lambda name, words: run.run.make_context(name, ["--launches", "1"]))
main(["demo", *sys.argv[1:]])
"""


def test_it_ends_with_the_path_of_a_report(tmp_path):
    words = ["--here", "-n", "2,3", "--within", "3m", "-o", str(tmp_path / "run")]
    command = [sys.executable, "-c", ONE_SIZE, *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, env=with_package(), check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines()[-1] == f"report: {tmp_path / 'run' / 'report.html'}"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "rabenseifner" in page and "3 ranks" in page
    assert result.stdout.count("cells done, 0 wrong elements") == 1
    interim = result.stderr.partition(
        "after the first launch (more follow; differences between launches are not known yet):"
    )[2]
    assert interim.count("cells done, 0 wrong elements") == 1 and "native" in interim


@pytest.mark.parametrize("cores, ranks", [(1, (2,)), (2, (2,)), (3, (2,)), (4, (2, 4)), (96, (16, 32, 64))])
def test_ranks_have_a_core_each(cores, ranks):
    assert ranks_within(cores) == ranks


def test_it_refuses_to_load_a_login_node(tmp_path):
    result = here("demo", "-o", tmp_path / "run")
    assert result.returncode == 2 and "sbatch exists" in result.stderr
    assert not (tmp_path / "run").exists()

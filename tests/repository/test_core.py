"""The core works without any wing: a copy of the package without their folders measures, reads, models and reports."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import in_turn, interpreters
from places import LOGS, PACKAGE, wings

from allreduce_bench.cli import PLACES

COMMANDS = sorted(name for name, place in PLACES.items() if place.partition(".")[0] in wings())


@pytest.fixture(scope="module")
def core(tmp_path_factory) -> Path:
    """The folder that holds the copy."""
    place = tmp_path_factory.mktemp("core")
    being_written = shutil.ignore_patterns("kernel-*", "*.pyc.*")
    shutil.copytree(PACKAGE, place / PACKAGE.name, ignore=being_written)  # compiled, or each command would do it
    for name in wings():
        shutil.rmtree(place / PACKAGE.name / name)
    return place


def said(python: Path, core: Path, *words, status: int = 0) -> str:
    """What a command of the copy prints on stdout, run in a folder of its own."""
    desk = core / python.parent.parent.name
    desk.mkdir(exist_ok=True)
    command = [str(python), "-m", "allreduce_bench", *map(str, words)]
    environ = {**os.environ, "PYTHONPATH": str(core)}
    done = subprocess.run(command, cwd=desk, env=environ, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == status and "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_it_measures_and_reads_what_it_measured(core, python):
    in_turn(0, python)
    few = ["--launches", 1, "--iters", 3, "--no-reference-times", "--executor", "sendrecv", "--identify=never"]
    table = said(
        python, core, "run", "-n", 2, "-a", "native,ring", "--sizes", "8,1K", *few, "--compute", "1ms", "-o", "a"
    )
    assert "ring" in table
    assert "ring" in said(python, core, "show", "a")
    assert len(json.loads(said(python, core, "show", "a", "--format", "json"))["results"]) == 4
    said(python, core, "report", "a", "-o", "a.html")
    assert "<h2" in (core / python.parent.parent.name / "a.html").read_text()


def test_it_imports_fits_predicts_and_proves(core):
    python = Path(sys.executable)
    said(python, core, "import", LOGS / "osu_v7.4_2ranks_case1.txt", "-n", 2, "-o", "osu")
    assert "ring" in said(python, core, "predict", "-a", "ring", "-n", 4, "--alpha", "1us", "--bandwidth", "10GB/s")
    assert "ring" in said(python, core, "verify", "ring", "-n", "1-4")
    assert "ring" in said(python, core, "list")


def test_its_help_has_no_command_of_a_wing(core):
    text = said(Path(sys.executable), core, "--help")
    listed = {line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.strip()}
    assert {"run", "show", "fit"} <= listed
    assert not listed & set(COMMANDS)


def test_a_command_of_a_wing_is_unknown(core):
    said(Path(sys.executable), core, "health", status=2)

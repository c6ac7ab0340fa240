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


COMMANDS_IN_TURN = """
import json, sys
from click.testing import CliRunner
from allreduce_bench.cli import main
for words in json.load(sys.stdin):
    print(json.dumps([(result := CliRunner().invoke(main, words)).exit_code, result.stdout, str(result.exc_info)]))
"""


def printed(python: Path, core: Path, *program: object, **options) -> str:
    """What a program of an interpreter that has the copy prints, in a folder of its own."""
    desk = core / python.parent.parent.name
    desk.mkdir(exist_ok=True)
    command, environ = [str(python), *map(str, program)], {**os.environ, "PYTHONPATH": str(core)}
    done = subprocess.run(command, cwd=desk, env=environ, capture_output=True, text=True, timeout=240, **options)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return done.stdout


def said(python: Path, core: Path, *commands: str, status: int = 0) -> list[str]:
    """What each of these commands of the copy prints on stdout, one after the other in one process."""
    words = json.dumps([command.split() for command in commands])
    results = [json.loads(line) for line in printed(python, core, "-c", COMMANDS_IN_TURN, input=words).splitlines()]
    assert [result[0] for result in results] == [status] * len(commands), results
    return [text for _, text, _ in results]


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_it_measures_and_reads_what_it_measured(core, python):
    in_turn(0, python)
    few = "--launches 1 --iters 3 --no-reference-times --executor sendrecv --identify=never --compute 1ms"
    run = f"run -n 2 -a native,ring --sizes 8,1K {few} -o a"
    table = printed(python, core, "-m", "allreduce_bench", *run.split())
    shown, as_json, _ = said(python, core, "show a", "show a --format json", "report a -o a.html")
    assert "ring" in table and "ring" in shown and len(json.loads(as_json)["results"]) == 4
    assert "<h2" in (core / python.parent.parent.name / "a.html").read_text()


def test_it_imports_fits_predicts_and_proves(core):
    log = LOGS / "osu_v7.4_2ranks_case1.txt"
    commands = [f"import {log} -n 2 -o osu", "predict -a ring -n 4 --alpha 1us --bandwidth 10GB/s"]
    commands += ["verify ring -n 1-4", "list"]
    assert all("ring" in text for text in said(Path(sys.executable), core, *commands)[1:])


def test_its_help_has_no_command_of_a_wing(core):
    (text,) = said(Path(sys.executable), core, "--help")
    listed = {line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.strip()}
    assert {"run", "show", "fit"} <= listed
    assert not listed & set(COMMANDS)


def test_a_command_of_a_wing_is_unknown(core):
    said(Path(sys.executable), core, "health", status=2)

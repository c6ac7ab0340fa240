"""`report`: which files it writes, what it refuses before it loads what draws, and what it says when it takes long."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from made_runs import build_run

from allreduce_bench.cli import main, types
from allreduce_bench.machine import forks
from allreduce_bench.report import page as report
from allreduce_bench.watching import progress

HEAVY = ("pandas", "matplotlib", "scipy")
TOLD_LOADED = f"""
import sys
from allreduce_bench.cli import main
try:
    main(sys.argv[1:])
finally:
    print("loaded:", *[name for name in {HEAVY} if name in sys.modules])
"""


def run(*words):
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A small run, whose models are of no interest."""
    monkeypatch.setattr(report, "_models", lambda *_: ([], []))
    return build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2, 4)).path


def loaded(*words) -> tuple[int, list[str], str]:
    """Exit status, what of HEAVY the command loaded, and its words on stderr."""
    ended = subprocess.run([sys.executable, "-c", TOLD_LOADED, *map(str, words)], capture_output=True, text=True)
    return ended.returncode, ended.stdout.partition("loaded:")[2].split(), ended.stderr


def test_figures_are_files_when_asked_for(folder):
    def kinds() -> set[str]:
        return {path.suffix for path in (folder / "report_figures").iterdir()}

    assert run("report", folder).exit_code == 0 and kinds() == {".csv"}
    assert run("report", folder, "--figures", "pdf", "--width", "3.3in").exit_code == 0 and kinds() == {".csv", ".pdf"}
    assert run("report", folder, "--pictures").exit_code == 0 and kinds() == {".csv", ".pdf", ".png", ".svg"}


def test_another_format_and_a_width_of_nothing_are_refused(folder):
    result = run("report", folder, "--figures", "gif")
    assert result.exit_code == 2 and result.stderr.count("\n") == 1 and "'gif' is not one of 'pdf'" in result.stderr
    result = run("report", folder, "--width", "84mm")
    assert result.exit_code == 2 and "add --figures" in result.stderr


def test_what_cannot_be_read_is_said_before_anything_is_loaded(tmp_path):
    (tmp_path / "empty").mkdir()
    for command in ("report", "show"):
        for path in (tmp_path / "none", tmp_path / "empty"):
            status, heavy, said = loaded(command, path)
            assert (status, heavy) == (2, []) and said.startswith(f"error: {path}"), said
    assert loaded("report", tmp_path, "--figures", "pdf", "--width", "84")[:2] == (2, [])
    assert loaded("fit", tmp_path, "--format", "xml")[:2] == (2, [])


@pytest.mark.parametrize("command", [*("compare", "fit", "import", "report", "show", "stragglers"), "workload --log"])
def test_what_is_absent_is_told_at_once(tmp_path, command):
    status, heavy, words = loaded(*command.split(), tmp_path / "absent")
    assert (status, heavy) == (2, []) and words.count("\n") == 1


@pytest.mark.parametrize("words", ["predict", "predict -n 4 -m absent", "workload absent", "explain absent"])
def test_wrong_words_are_told_at_once(words):
    assert loaded(*words.split())[:2] == (2, [])


def test_help_loads_nothing_heavy():
    assert loaded("lab", "--help")[:2] == (0, [])


def test_a_table_needs_no_frames(folder):
    assert loaded("show", folder)[:2] == (0, [])


def test_a_report_that_takes_long_says_what_it_does(folder, monkeypatch):
    monkeypatch.setattr(forks, "cores", lambda: 1)  # each process says what it draws itself
    monkeypatch.setattr(progress, "QUIET_S", 0.0)
    said = run("report", folder).stderr
    assert f"{folder}: reads" in said
    assert f"{folder}: draws latency" in said


def test_lines_come_late_and_not_too_often(monkeypatch):
    said: list[str] = []
    now = iter([0.0, 1.9, 2.1, 2.1, 3.0, 4.2, 4.2])
    monkeypatch.setattr(progress, "QUIET_S", 2.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(types, "talk", said.append)
    lines = types.progress()
    for doing in ("a", "b", "c", "d"):
        lines(doing)
    assert said == ["... b", "... d"]

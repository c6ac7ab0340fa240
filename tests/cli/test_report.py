"""`report`: which files it writes, what it refuses before it loads what draws, and what it says when it takes long."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_runs import build_run

from allreduce_bench.cli import main, types
from allreduce_bench.machine import forks
from allreduce_bench.report import page as report
from allreduce_bench.report import pictures
from allreduce_bench.report.figures import report_figures
from allreduce_bench.watching import progress

HEAVY = ("pandas", "matplotlib", "scipy")
TOLD_LOADED = f"""
import json, sys
from click.testing import CliRunner
from allreduce_bench.cli import main
for words in json.load(sys.stdin):
    result = CliRunner().invoke(main, words.split())
    print(json.dumps([result.exit_code, [name for name in {HEAVY} if name in sys.modules], result.stderr]))
"""
UNREADABLE = [f"{command} {path}" for command in ("report", "show") for path in ("none", "empty")]
ABSENT = ["compare absent", "fit absent", "import absent", "report absent", "show absent", "stragglers absent"]
ABSENT += ["workload gpt2 --compute 1ms -m absent"]
WRONG = ["predict", "predict -n 4 -m absent", "workload absent", "explain absent", "fit . --format xml"]
WRONG += ["report . --figures pdf --width 84"]


def run(*words):
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A small run, whose models are of no interest."""
    monkeypatch.setattr(report, "_models", lambda *_: ([], []))
    return build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2, 4)).path


def loaded(*commands: str, cwd: Path | None = None) -> dict[str, tuple[int, list[str], str]]:
    """Of each command, one after the other in one process: exit status, what of HEAVY is loaded by then, and stderr."""
    command = [sys.executable, "-c", TOLD_LOADED]
    ended = subprocess.run(command, input=json.dumps(commands), capture_output=True, text=True, check=True, cwd=cwd)
    return dict(zip(commands, map(tuple, map(json.loads, ended.stdout.splitlines())), strict=True))


@pytest.fixture(scope="module")
def refused(tmp_path_factory) -> dict[str, tuple[int, list[str], str]]:
    """What is refused, by its command, in a folder that has but an empty one."""
    folder = tmp_path_factory.mktemp("refused")
    (folder / "empty").mkdir()
    return loaded(*UNREADABLE, *ABSENT, *WRONG, cwd=folder)


def test_figures_are_files_when_asked_for(folder, monkeypatch):
    monkeypatch.setattr(pictures, "report_figures", lambda section: report_figures(section)[:2])  # of many

    def kinds() -> set[str]:
        return {path.suffix for path in (folder / "report_figures").iterdir()}

    assert run("report", folder).exit_code == 0 and kinds() == {".csv"}
    assert run("report", folder, "--figures", "pdf", "--width", "3.3in").exit_code == 0 and kinds() == {".csv", ".pdf"}
    assert run("report", folder, "--pictures").exit_code == 0 and kinds() == {".csv", ".pdf", ".png", ".svg"}


def test_the_page_of_a_run_is_in_it_and_of_several_in_the_working_folder(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "write_report", lambda folders, output, *rest: output)
    said = [run("report", *runs).stdout.strip() for runs in (["run"], ["run", folder], ["run", "-o", "mine.html"])]
    assert said == ["run/report.html", "report.html", "mine.html"]


@pytest.mark.parametrize("name", ["run.json", "summary.csv", "page.pdf", "page"])
def test_a_page_has_the_name_of_a_page(folder, name):
    kept = (folder / "run.json").read_bytes()
    result = run("report", folder, "-o", folder / name)
    assert result.exit_code == 2 and f"error: -o {folder / name}" in result.stderr
    assert (folder / "run.json").read_bytes() == kept


def test_figures_are_not_written_through_a_link(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "page_figures").symlink_to("elsewhere")
    result = run("report", folder, "-o", tmp_path / "page.html")
    assert result.exit_code == 2 and "page_figures" in result.stderr and "figures need" in result.stderr
    assert not list((tmp_path / "elsewhere").iterdir()) and not (tmp_path / "page.html").exists()


def test_another_format_and_a_width_of_nothing_are_refused(folder):
    result = run("report", folder, "--figures", "gif")
    assert result.exit_code == 2 and result.stderr.count("\n") == 1 and "'gif' is not one of 'pdf'" in result.stderr
    result = run("report", folder, "--width", "84mm")
    assert result.exit_code == 2 and "add --figures" in result.stderr


@pytest.mark.parametrize("command", UNREADABLE)
def test_what_cannot_be_read_is_said_before_anything_is_loaded(refused, command):
    status, heavy, said = refused[command]
    assert (status, heavy) == (2, []) and said.startswith(f"error: {command.split()[1]}"), said


@pytest.mark.parametrize("command", ABSENT)
def test_what_is_absent_is_told_at_once(refused, command):
    status, heavy, words = refused[command]
    assert (status, heavy) == (2, []) and words.count("\n") == 1


@pytest.mark.parametrize("command", WRONG)
def test_wrong_words_are_told_at_once(refused, command):
    assert refused[command][:2] == (2, [])


def test_help_loads_nothing_heavy_and_a_table_pandas_alone(folder):
    help_, table = loaded("lab --help", f"show {folder}").values()
    assert help_[:2] == (0, []) and table[:2] == (0, ["pandas"])


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

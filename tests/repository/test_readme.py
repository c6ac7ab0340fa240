"""What the README shows exists, parses and runs."""

import json
import re
import shlex
import subprocess

import pytest
from click.testing import CliRunner
from interpreters import interpreters
from places import ROOT
from run_notebooks import same

from allreduce_bench.algorithms import builtin
from allreduce_bench.cli import main
from allreduce_bench.machine.interfaces import sent_bytes
from allreduce_bench.watching.blame import Report, blame

TEXT = (ROOT / "README.md").read_text()
RESULTS = (ROOT / "results" / "README.md").read_text()
LAUNCHER = r"(?:srun [^#\n]*?|mpirun -n \d+ )?(?:\.venv/bin/)?"
EXAMPLE = re.compile(r"^    allreduce-bench (run [^\n]+)\n\n((?:(?:    [^\n]*)?\n)+)", re.MULTILINE)
COMMANDS = re.findall(rf"^    {LAUNCHER}allreduce-bench ([^#\n]+)", TEXT, re.MULTILINE)
JOBS = (ROOT / "jobs" / "README.md").read_text()
OF_JOBS = re.findall(rf"^    {LAUNCHER}allreduce-bench ([^#\n]+)", JOBS, re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "jobs/README.md", "results/README.md"])
def test_links_lead_somewhere(page):
    place = ROOT / page
    for target in re.findall(r"\]\(([^)#:]+)\)", place.read_text()):
        assert (place.parent / target).exists(), target


def test_every_algorithm_is_in_the_table():
    assert sorted(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == sorted(builtin())


@pytest.mark.parametrize("command", [*COMMANDS, *OF_JOBS])
def test_shown_commands_have_the_options_that_exist(command):
    name, *words = shlex.split(command.partition(" -- ")[0])  # behind it others' options may stand
    known = {option for parameter in main.get_command(None, name).params for option in parameter.opts}
    assert {word for word in words if word.startswith("-") and word != "--"} <= known


def test_there_are_commands_to_check():
    assert len(COMMANDS) >= 8 and len(OF_JOBS) >= 5


def test_the_algorithm_of_the_readme_is_proved_as_shown(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    for command in [command for command in COMMANDS if "./mine.py" in command and not command.startswith("run")]:
        result = CliRunner().invoke(main, shlex.split(command))
        assert result.exit_code == 0, result.output
    assert "doubling" in result.output


def section(text: str, title: str) -> str:
    """What stands under the heading `title`."""
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


CLOSING = re.compile(r"\d+ of \d+ cells|floors|nothing on the network|bytes counted")  # other lines depend on the times


def shape(text: str) -> dict[str, list]:
    """What a run's table shows, whatever was measured: its header, columns, sizes, and kinds of closing lines."""
    above, grid, closing = ([line.strip() for line in part.splitlines()] for part in text.strip("\n").split("\n\n"))
    header = [line for line in above if not line.startswith("grade: ")]  # which says what else the machine did
    return {
        "header": [re.sub(r"(\d+ ranks on 1 node).*", r"\1, LIBRARY", line) for line in header],
        "columns": [line.split() for line in grid[:2]],
        "sizes": [line.split()[:2] for line in grid[2:]],
        "closing": [
            re.sub(r"^\d+ of \d+ cells", "N of N cells", line.split(":")[0]) for line in closing if CLOSING.match(line)
        ],
    }


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.skipif(not sent_bytes(), reason="nothing here counts what the network carried, so the last line is absent")
def test_the_example_output_is_what_its_command_prints_and_what_is_kept_is_explained(tmp_path):
    ((command, shown),) = EXAMPLE.findall(TEXT)
    more = ["--within", "5m", "-o", tmp_path / "run"]  # else a busy machine would leave cells out, and say so
    words = [interpreters()[-1], "-m", "allreduce_bench", *shlex.split(command), *more]
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr
    assert shape(result.stdout) == shape(shown)
    kept = json.loads((tmp_path / "run" / "launches" / "2r-1.1.json").read_text())
    explained = re.findall(r"^\| (`.*?) \|", section(RESULTS, "launches/*.json"), re.MULTILINE)
    assert sorted(kept) == sorted(re.findall(r"`(\w+)`", " ".join(explained)))
    assert {word for finding in kept["findings"] for word in finding} | set(kept["startup"]) - {"slowest_rank"} <= set(
        re.findall(r"`(\w+)`", RESULTS)
    )


def test_the_hang_of_the_readme_is_named_in_the_words_that_are_said():
    def waiting(rank: int, partner: int, host: str) -> Report:
        call = {"step": 2, "source": partner, "dest": None, "sent": {}, "received": {}}
        return Report(host, "there", [1, 2], "", call | {"received": {str(partner): 1}})

    reports = {0: waiting(0, 3, "h1"), 1: waiting(1, 0, "h1"), 2: Report("h2", "silent"), 3: waiting(3, 2, "h2")}
    assert f"nothing for 60 s (--timeout); {blame(reports)}; finished cells are kept" in " ".join(TEXT.split())


def test_what_the_readme_predicts_is_what_is_predicted(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    model = tmp_path / "lumi.json"
    fit, predict = (
        next(command for command in COMMANDS if command.startswith(start)) for start in ("fit analysis", "predict lumi")
    )
    for command in (fit, predict):
        result = CliRunner().invoke(main, shlex.split(command.replace("lumi.json", str(model))))
        assert result.exit_code == 0, result.output
    shown = re.search(r"\n    64 ranks on 64 nodes\n.*?\n\nThe intervals", TEXT, re.DOTALL)[0].splitlines()[1:-2]
    printed = [line.strip() for line in result.output.splitlines()]
    for line in filter(None, map(str.strip, shown)):
        assert any(same(other, line) for other in printed), line

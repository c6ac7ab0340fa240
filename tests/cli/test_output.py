"""-o of every command: what is there and is no regular file is never replaced, and said in one line."""

import pytest
from click.testing import CliRunner
from made_runs import build_run
from special_files import MAKERS, identity

from allreduce_bench.cli import main

RUN = "run -n 2 --sizes 8 -a ring --launches 1"
COMMANDS = {  # -> the end of the name of its output
    "report RUN": ".html",
    "fit RUN": ".json",
    "compare RUN OTHER": ".txt",
    "collect RUN": ".html",
    "collect RUN OTHER": "",
    "explain ring -n 2": ".txt",
    "import LOG": "",
    RUN: "",
    f"{RUN} --resume": "",
    "submit --nodes 1 --ranks-per-node 2": "",
    "submit --nodes 1 --ranks-per-node 2 --dry-run": "",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    for name in ("RUN", "OTHER"):
        build_run(place / name, algorithms=("native", "ring"), ranks=(2, 4), launches=2, seed=len(name))
    (place / "LOG").write_text("algorithm,ranks,size_bytes,time_us\nring,2,8,1.5\n")
    return place


def invoked(command: str, places, *more: object):
    words = [str(places / word) if word.isupper() else word for word in command.split()]
    return CliRunner().invoke(main, [*words, *map(str, more)])


# Each kind: tests/runs/test_atomic_write.py; here that each command asks, and that each kind is said.
CASES = [
    *((command, "a symbolic link") for command in COMMANDS),
    *(("report RUN", kind) for kind in MAKERS if kind != "a symbolic link"),
]


@pytest.mark.parametrize(("command", "kind"), CASES)
def test_what_is_no_regular_file_stays(tmp_path, places, command, kind):
    path = tmp_path / f"out{COMMANDS[command]}"
    MAKERS[kind](path)
    before = identity(path)
    result = invoked(command, places, "-o", path)
    assert identity(path) == before and "Traceback" not in result.output
    assert not (tmp_path / "target").exists() or (tmp_path / "target").read_text() == "kept\n"
    assert result.exit_code == 2 and result.stderr.count("error: ") == 1, result.output
    assert str(path) in result.stderr
    assert [entry.name for entry in tmp_path.iterdir() if entry.name not in (path.name, "target")] == []


@pytest.mark.parametrize("command", [command for command, ending in COMMANDS.items() if ending])
def test_no_folder_is_made_for_a_file(tmp_path, places, command):
    result = invoked(command, places, "-o", tmp_path / "nowhere" / f"out{COMMANDS[command]}")
    assert result.exit_code == 2 and f"error: {tmp_path}/nowhere: no such folder; make it first" in result.stderr
    assert not list(tmp_path.iterdir())


def test_links_among_the_figures_are_not_followed(tmp_path, places):
    (tmp_path / "page_figures").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("kept")
    for name in ("bus_bandwidth.png", "bus_bandwidth.svg", "bus_bandwidth.csv"):
        (tmp_path / "page_figures" / name).symlink_to(victim)
    result = invoked("report RUN", places, "-o", tmp_path / "page.html")
    assert victim.read_text() == "kept" and result.exit_code == 2, result.output
    assert "a symbolic link, which is never replaced" in result.stderr


@pytest.mark.parametrize("command", [RUN, "import LOG", "report RUN", "submit --nodes 1 --ranks-per-node 2"])
def test_an_empty_word_is_no_output(places, command):
    result = invoked(command, places, "-o", "")
    assert result.exit_code == 2 and result.stderr == "error: --output: expected a path, found an empty word\n"

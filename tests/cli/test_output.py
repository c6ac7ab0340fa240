"""-o of every command: what is there and is no regular file is never replaced, and said in one line."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from made_runs import build_run
from special_files import MAKERS, identity

from allreduce_bench.cli import main

EXPLAIN, PREDICT = "explain ring -n 2", "predict -n 4 --alpha 5us --bandwidth 10Gbit --sizes 8"
RUN = "run -n 2 --sizes 8 -a ring --launches 1"
COMMANDS = {  # -> the end of the name of its output
    "report RUN": ".html",
    "fit RUN": ".json",
    "compare RUN OTHER": ".txt",
    "collect RUN": ".html",
    "collect RUN OTHER": "",
    EXPLAIN: ".txt",
    PREDICT: ".txt",
    "import LOG": "",
    RUN: "",
    f"{RUN} --resume": "",
    "submit --nodes 1 --ranks-per-node 2": "",
    "submit --nodes 1 --ranks-per-node 2 --dry-run": "",
}
WRITTEN_THROUGH = ("fit RUN", "compare RUN OTHER", EXPLAIN, PREDICT)
STREAMS = ("a FIFO", "a character device")


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
    *((command, "a character device") for command in WRITTEN_THROUGH if "a character device" in MAKERS),
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
    if command in WRITTEN_THROUGH and kind == "a character device":
        assert result.exit_code in (0, 1)  # 1: compare found a difference
    else:
        assert result.exit_code == 2 and result.stderr.count("error: ") == 1, result.output
        assert str(path) in result.stderr
        assert [entry.name for entry in tmp_path.iterdir() if entry.name not in (path.name, "target")] == []


@pytest.mark.parametrize("command", [EXPLAIN, PREDICT])
def test_stdout_may_be_named(tmp_path, command):
    words = [sys.executable, "-m", "allreduce_bench", *command.split()]
    named, plain = (
        subprocess.run([*words, *more], capture_output=True, check=True).stdout for more in (["-o", "/dev/stdout"], [])
    )
    assert named == plain != b""
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([*words, "-o", "/dev/stdout"], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == plain


def test_links_among_the_figures_are_not_followed(tmp_path, places):
    (tmp_path / "page_figures").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("kept")
    for name in ("bus_bandwidth.png", "bus_bandwidth.svg", "bus_bandwidth.csv"):
        (tmp_path / "page_figures" / name).symlink_to(victim)
    result = invoked("report RUN", places, "-o", tmp_path / "page.html")
    assert victim.read_text() == "kept" and result.exit_code == 2, result.output
    assert "a symbolic link, which is never replaced" in result.stderr

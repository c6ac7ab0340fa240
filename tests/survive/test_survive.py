"""`survive`: ranks of the real MPIs are lost, and those left have a right result, by both ways."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from interpreters import FULL, interpreters

from allreduce_bench.survive import BY_RESTART, BY_ULFM
from allreduce_bench.survive.ways import PROGRAM

BRIEF = ("--calls", "8", "--checkpoint-every", "2", "--format", "json", "--sizes", "64K")


def survive(python, folder, *words):
    """Status, outcomes by way, and stderr; nothing may be left behind."""
    command = [str(python), "-m", "allreduce_bench", "survive", *words]
    environ = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, timeout=240)
    assert [path.name for path in folder.iterdir() if path.name.startswith("survive-")] == []
    assert processes(folder) == []
    outcomes = json.loads(done.stdout)["outcomes"] if done.stdout.startswith("{") else []
    return done.returncode, {one["way"]: one for one in outcomes}, done.stderr


def processes(folder) -> list[str]:
    """The ranks of this test that still run; others may test at the same time."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words, variables = ((path / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
        except OSError:
            continue
        if PROGRAM.encode() in words and f"TMPDIR={folder}".encode() in variables:
            found.append(path.name)
    return found


LONG = (("--kill", "0@3", "--kill", "1@binding", "-a", "two_tree"), ("--stop", "2@5", "-a", "native"))


def is_right(one: dict, phases: tuple[str, ...], left: int) -> bool:
    """Whether a way was gone to its end, and has all of its phases."""
    return tuple(one["phases_s"]) == phases and one["ranks_left"] == left and one["total_s"] > 0 and one["ratio"] > 0


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_killed_rank(python, tmp_path):
    status, ways, stderr = survive(python, tmp_path, "-n", "4", "-a", "ring", "--kill", "3@8+2s", *BRIEF)
    assert status == 0, stderr  # the loss is long after the last call would have ended
    assert is_right(ways["restart"], BY_RESTART, 3) and ways["restart"]["steps_lost"] == 0
    if ways["ulfm"]["state"] != "unavailable":
        assert is_right(ways["ulfm"], BY_ULFM, 3) and ways["ulfm"]["steps_lost"] == 0


@pytest.mark.slow
def test_each_launch_has_checkpoints_of_its_own(tmp_path):
    words = ("-n", "3", "-a", "native", "--kill", "2@6", "--way", "restart", "--launches", "2", *BRIEF)
    command = [str(interpreters()[-1]), "-m", "allreduce_bench", "survive", *words]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=environ)
    assert [one["steps_lost"] for one in json.loads(done.stdout)["outcomes"]] == [1, 1], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("python", interpreters()[:1], ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize(
    "words",
    [
        ("--kill", "0@3", "--kill", "1@shrink", "-a", "recursive_doubling", "--way", "ulfm"),
        ("--stop", "2@5", "--notice-within", "4s", "-a", "native", "--way", "ulfm"),
        *(LONG if FULL else ()),
    ],
    ids=lambda words: f"{words[0]} {words[1]}",
)
def test_two_ranks_and_a_stopped_one(python, words, tmp_path):
    status, ways, stderr = survive(python, tmp_path, "-n", "4", *words, *BRIEF)
    assert status == 0, stderr
    left = 4 - words.count("--kill") - words.count("--stop")
    assert all(one["total_s"] > 0 and one["ranks_left"] == left for one in ways.values()), ways


@pytest.mark.parametrize(
    "words",
    [
        ("-n", "4"),
        ("-n", "4", "--kill", "4@3"),
        ("-n", "4", "--kill", "3@99"),
        ("-n", "2", "--kill", "1@3"),
        ("-n", "4", "--kill", "1@shrink"),
        ("-n", "4", "--kill", "1@3", "--kill", "2@4"),
        ("-n", "4", "--kill", "1@3", "--kill", "1@shrink"),
        ("-n", "4", "--kill", "1@3+2m"),
        ("-n", "4", "--kill", "1@3", "--notice-within", "0s"),
        ("-n", "4", "--kill", "1@3", "--timeout", "1us"),
        ("-n", "4", "--kill-host", "n3@3"),
        ("-n", "4", "--kill-host", "n3@3", "--hosts", "n1,n2"),
        ("-n", "4", "--kill-host", "n1@3", "--hosts", "n1,n2"),
        ("-n", "4", "--link-down", "n2@3", "--hosts", "n1,n2"),
        ("-n", "4", "--kill", "1@3", "--sizes", "7"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused_in_one_line(words, tmp_path):
    from click.testing import CliRunner

    from allreduce_bench.survive.command import survive as command

    done = CliRunner().invoke(command, words)
    assert done.exit_code == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.output

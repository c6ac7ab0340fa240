"""`compare` of logs: files, folders and runs on either side, what is asked for, and that nothing is left."""

import json
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from made_logs import NCCL, OSU
from made_runs import build_run

from allreduce_bench.cli import main
from allreduce_bench.cli.import_ import is_log


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    """The current folder, and a folder for temporary files beside it: both are empty afterwards but for the test's."""
    temporary, here = tmp_path / "temporary", tmp_path / "here"
    temporary.mkdir()
    here.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(here)
    yield here
    assert list(temporary.iterdir()) == []


def log(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def table(factor: float = 1.0, ranks: int = 8) -> str:
    """A CSV of five sizes."""
    return "bytes,ranks,type,redop,time_us\n" + "".join(
        f"{8 << power},{ranks},float,sum,{factor * (10 + power)}\n" for power in range(5)
    )


def compare(*words: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, words)])


def judged(*words: object) -> dict:
    return json.loads(compare(*words, "--format", "json").stdout)


def refusal(*words: object) -> str:
    result = compare(*words)
    assert result.exit_code == 2 and not result.stdout and result.stderr.count("\n") == 1, result.output
    return result.stderr


def test_two_logs_are_compared_and_nothing_is_left_behind(place):
    old, new = log("old.csv", table()), log("new.csv", table(1.6))
    found = judged(old, new)
    assert (found["baseline"], found["new"]) == (["old.csv"], ["new.csv"])
    assert [cell["ratio"] for cell in found["cells"]] == pytest.approx([1.6] * 5)
    (slower,) = found["observed"]["directions"]
    assert (slower["observed"], slower["cells"], found["failed"]) == ("slower", 5, True)
    assert sorted(path.name for path in place.iterdir()) == ["new.csv", "old.csv"]
    assert compare(old, new).exit_code == 1 and compare(old, new, "--undecided", "pass").exit_code == 0


def test_logs_that_do_not_say_their_hosts_are_judged_if_four_a_side_are_given():
    for launch in range(4):
        log(f"before/{launch}.csv", table(1 + launch / 1000))
        log(f"after/{launch}.csv", table(1.3 + launch / 1000))
    found = judged("before", "after")  # a folder of logs is a job
    assert {(cell["verdict"], cell["observed"]) for cell in found["cells"]} == {("undecided", "slower")}
    assert found["cells"][0]["baseline_launches"] == 4 and "hosts unknown: " in found["sentence"]
    sides = [[f"{side}/{launch}.csv" for launch in range(4)] for side in ("before", "after")]
    found = judged(*sides[0], "--", *sides[1])
    assert {(cell["verdict"], cell["unit"]) for cell in found["cells"]} == {("slower", "job")}


def test_a_run_beside_a_log_that_says_neither_ranks_nor_type():
    build_run(Path("run"), algorithms=("native", "ring"), sizes=(8, 16), ranks=(2,), launches=3)
    osu = log("osu.txt", OSU)
    assert "--ranks N" in refusal("run", osu)
    assert {cell["verdict"] for cell in judged("run", osu, "-n", 2)["cells"]} == {"undecided"}
    assert all("the ratio alone" in cell["reason"] for cell in judged("run", osu, "-n", 2)["cells"])
    found = judged("run", osu, "-n", 2, "--despite", "time")
    assert [(cell["competitor"], cell["size_bytes"], cell["dtype"]) for cell in found["cells"]] == [
        ("native", 8, "float32"),
        ("native", 16, "float32"),
    ]
    assert [cell["new_s"] for cell in found["cells"]] == pytest.approx([2.5e-6, 3.5e-6])
    note = "osu.txt does not say the type of the elements: taken to be float32, as on the other side"
    assert note in found["notes"]
    assert [
        len(judged("run", osu, "-n", 2, "--despite", "time", *more)["cells"]) for more in ([], ["-d", "float32"])
    ] == [
        2,
        2,
    ]


def test_in_place_columns_and_numbers_for_each_log():
    nccl = log("nccl.txt", NCCL)
    assert "copy.txt: a copy of nccl.txt" in refusal(nccl, log("copy.txt", NCCL))
    assert "the same times" in refusal(nccl, log("copy.txt", NCCL + "\n"))
    log("worse.txt", NCCL.replace("    17.72    ", "    27.72    "))
    assert judged(nccl, "worse.txt", "--in-place")["observed"]["directions"][0]["cells"] == 1
    one, two = log("one.txt", OSU), log("two.txt", OSU.replace("1.50", "3.00"))
    said = refusal(one, two, "-n", "2,4")
    assert "cell in common: ranks is 2 in the" in said and "4 in the" in said
    assert judged(one, two, "-n", 2)["cells"][0]["ratio"] == pytest.approx(2)


def test_what_is_neither_a_run_nor_a_log_is_one_line():
    run = build_run(Path("sweep/run"), sizes=(8,), ranks=(2,)).path
    new = log("new.csv", table())
    assert "sweep: contains no run.json" in refusal("sweep", new)
    assert "whose runs" in refusal(next((run / "launches").glob("*.1.calls.csv")), new)
    assert "--dtype is about" in refusal(run, build_run(Path("b")).path, "-d", "int32")
    Path("empty").mkdir()
    assert "holds no file" in refusal("empty", new)
    assert "named twice" in refusal(new, new)
    assert is_log(new) and not is_log(run) and not is_log(Path("sweep")) and not is_log(Path("nowhere"))


def test_a_file_of_a_folder_that_cannot_be_read_is_a_note_and_a_warning():
    log("before/a.csv", table())
    log("after/a.csv", table(2))
    bad = log("after/b.csv", "hello\n")
    found = judged("before", "after")
    assert [note for note in found["notes"] if note.startswith(f"after: not read: {bad}, line 1: unknown log format")]
    assert f"warning: {bad}, line 1: unknown log format" in compare("before", "after").stderr
    assert found["observed"]["directions"][0]["cells"] == 5

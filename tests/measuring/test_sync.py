"""How ranks enter a call together: each way through a whole run, which one is chosen, what happens if none holds."""

import json
from pathlib import Path

import numpy as np
import pytest
from interpreters import FULL, in_turn, interpreters
from read_calls import calls_of

from allreduce_bench.evaluation import frames
from allreduce_bench.evaluation.stamps import stamps_of
from allreduce_bench.machine.findings import fullest_node
from allreduce_bench.measuring.launch import CLOCK_DIGITS
from allreduce_bench.runs.folder import RunFolder, key_of
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.schema import SYNCS

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

RANKS = (1, 2, 3, 4, 5, 8)


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def facts(folder: Path, launch: str, attempt: int = 1) -> dict:
    return json.loads((folder / "launches" / f"{launch}.{attempt}.json").read_text())


@pytest.mark.parametrize("way", SYNCS)
def test_every_way_at_every_number_of_ranks_gives_columns_that_fit_together(python, run_on_ranks, tmp_path, way):
    """Every second number of ranks unless the matrix is full: the ways, and the MPIs, take turns."""
    in_turn(SYNCS.index(way), python)
    folder, turn = tmp_path / "run", SYNCS.index(way) + interpreters().index(python)
    numbers = RANKS if FULL else RANKS[turn % 2 :: 2]
    words = ["--sizes", "8,4K", "-a", "native,ring", "--launches", 1, "--iters", 6, "--warmups", 2, "--record", "all"]
    words += [
        "--no-reference-times",
        "--back-to-back",
        3,
        "--sync",
        way,
        "-n",
        ",".join(map(str, numbers)),
        "-o",
        folder,
    ]
    result = run_on_ranks(*words)
    assert result.returncode == 0, result.stderr
    every = list(calls_of(RunFolder(folder)))
    for mark in RunFolder(folder).marks():
        ranks = int(mark["ranks"])
        assert (mark["state"], mark["stopped"]) == ("done", "iterations")
        error_s = 2 * float(mark["clock_error_s"])
        calls = [row for row in every if row["launch"] == mark["launch"] and key_of(row) == key_of(mark)]
        assert mark["start"] in {way, "barrier"} and mark["time_definition"] == "max_local"
        assert way == "round_time" or {row["valid"] for row in calls} == {"1"}
        assert len(calls) == int(mark["calls"]) and sum(row["warmup"] == "0" for row in calls) >= 6
        for row in calls:
            check_call(row, ranks, error_s)
        assert float(mark["nccl_tests_s"]) > 0
        mean_s = np.mean([float(row["osu_avg_s"]) for row in calls if row["warmup"] == "0" and row["valid"] == "1"])
        assert float(mark["imb_t_max_s"]) >= mean_s - 10.0**-CLOCK_DIGITS  # of kept times
        check_stamps(RunFolder(folder), mark, calls, error_s)
    for ranks in numbers:
        launch = facts(folder, f"{ranks}r-1")
        assert launch["sync"]["way"] == way and launch["sync"]["why"].startswith("requested")
        assert launch["clock"]["error_start_s"] > 0 and launch["clock"]["error_end_s"] > 0 and launch["clock"]["method"]
        assert "drift_ppm" in launch["clock"]


def check_call(row: dict, ranks: int, error_s: float) -> None:
    """One call's columns; `error_s`: by how much a difference of two ranks may be wrong."""
    mean, longest = float(row["osu_avg_s"]), float(row["time_s"])
    assert 0 < mean <= longest + 1e-12
    assert 0 <= int(row["slowest_rank"]) < ranks
    if ranks == 1:
        assert row["global_s"] == row["arrival_skew_s"] == row["last_rank"] == ""
        return
    skew, slack = float(row["arrival_skew_s"]), error_s + 1e-3 * longest
    completion = float(row["global_s"]) - skew
    assert longest - slack <= float(row["global_s"])
    assert skew >= 0 and longest - skew - slack <= completion <= longest + slack
    assert 0 <= int(row["last_rank"]) < ranks


def check_stamps(folder: RunFolder, mark: dict, calls: list[dict], error_s: float) -> None:
    entry, exit = stamps_of(folder, mark)
    assert entry.shape == (len(calls), int(mark["ranks"]))
    told = np.array([float(row["time_s"]) for row in calls])
    assert np.allclose((exit - entry).max(axis=1), told, rtol=2e-3, atol=1e-9)
    assert (entry[1:] + error_s >= exit[:-1]).all()


def test_stamps_come_back_as_a_tidy_frame_and_damage_is_refused(run_on_ranks, tmp_path):
    folder, words = (
        tmp_path / "run",
        ["-n", 2, "--sizes", "8,64", "-a", "ring", "--no-reference-times", "--launches", 1, "--iters", 3],
    )
    words += ["--sync", "barrier"]  # where no common start is met, calls are repeated
    assert run_on_ranks(*words, "--record", "all", "-o", folder).returncode == 0
    run = RunFolder(folder)
    frame = frames.stamps([run])
    assert len(frame) == 2 * 2 * (3 + 3) and set(frame["rank"]) == {0, 1} and set(frame["size_bytes"]) == {8, 64}
    assert (frame["exit_s"] > frame["entry_s"]).all() and set(frame["competitor"]) == {"ring"}
    mark = next(row for row in run.marks())
    with pytest.raises(RunError, match="damaged: expected float64"):
        stamps_of(run, {**mark, "stamps": "../run.json"})
    (run.launches / mark["stamps"]).write_bytes(b"\x80\x04}.")
    with pytest.raises(RunError, match="damaged: .*pickle"):
        stamps_of(run, mark)


@pytest.fixture
def plain_run(run_on_ranks, tmp_path) -> Path:
    """A run without any wish of how its calls are kept or begun."""
    folder = tmp_path / "run"
    words = ["-n", 2, "--sizes", 8, "-a", "ring", "--launches", 2, "--iters", 2, "--no-reference-times", "-o", folder]
    result = run_on_ranks(*words)
    assert result.returncode == 0, result.stderr
    return folder


def test_without_record_all_no_stamps_are_kept(plain_run):
    folder = plain_run
    assert not list(folder.rglob("*.npy")) and not list(folder.rglob("*.tmp"))
    assert frames.stamps([RunFolder(folder)]).empty
    assert {mark["nccl_tests_s"] for mark in RunFolder(folder).marks()} == {""}


def test_a_launch_says_which_start_it_chose_and_why(plain_run):
    (first, second) = (facts(plain_run, launch)["sync"] for launch in ("2r-1", "2r-2"))
    assert first == second and first["why"].startswith("2 ranks on a node of")


def node(**limits) -> dict:
    return {"cores": 4, "threads": 8, **limits}


@pytest.mark.parametrize(
    "wanted, ranks_of_node, machines, way, why",
    [
        ("auto", [1], [node()], "barrier", "a single rank"),
        ("auto", [8], [node()], "round_time", "8 ranks on a node of 8 usable cores can all wait for a time"),
        ("auto", [9], [node()], "barrier", "9 ranks on a node of 8 usable cores cannot all wait for a time"),
        ("auto", [3], [node(cpus_of_ranks=2)], "barrier", "3 ranks on a node of 2 usable cores cannot"),
        ("auto", [2], [node(cpu_quota=1.5)], "barrier", "2 ranks on a node of 1.5 usable cores cannot"),
        ("auto", [4, 3], [node(), node(cpus_of_ranks=2)], "barrier", "3 ranks on a node of 2 usable cores cannot"),
        ("round_time", [9], [node()], "round_time", "requested"),
        ("barrier", [2], [node()], "barrier", "requested"),
    ],
)
def test_the_start_follows_from_the_plan_and_the_machine(wanted, ranks_of_node, machines, way, why):
    from allreduce_bench.measuring.sync import choose  # late: it starts MPI

    chosen = choose(wanted, sum(ranks_of_node), fullest_node(machines, ranks_of_node))
    assert chosen.way == way and chosen.why.startswith(why)

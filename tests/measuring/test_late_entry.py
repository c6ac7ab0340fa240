"""Ranks that enter late: how late each is under each pattern, and that they are in real runs."""

import numpy as np
import pytest
from interpreters import in_turn, interpreters
from measured_runs import here, one_line_error
from read_calls import calls_of

from allreduce_bench.evaluation.stamps import stamps_of
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.stragglers.run_arrivals import arrivals_of_run, parts_of_run

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
QUICK = ["--launches", 1, "--iters", 6, "--warmups", 1, "--sizes", "1K", "--no-reference-times", "--sync", "barrier"]


@pytest.mark.parametrize(
    ("pattern", "size", "delays"),
    [
        ("one-late", 1, [2]),
        ("one-late", 4, [0, 0, 0, 2]),
        ("ramp", 1, [0]),
        ("ramp", 5, [0, 0.5, 1, 1.5, 2]),
        ("half-late", 2, [0, 2]),
        ("half-late", 3, [0, 0, 2]),
        ("half-late", 8, [0, 0, 0, 0, 2, 2, 2, 2]),
    ],
)
def test_the_delays_of_a_pattern(pattern, size, delays):
    from allreduce_bench.measuring.work import pattern_delays_s

    assert pattern_delays_s(pattern, 2.0, size, 1).tolist() == [delays]


def test_random_delays_are_even_other_in_each_call_and_determined_by_the_seed():
    from allreduce_bench.measuring.work import DRAWN, pattern_delays_s

    drawn = pattern_delays_s("random", 2.0, 8, 1)
    assert drawn.shape == (DRAWN, 8) and 0 <= drawn.min() < 0.01 and 1.99 < drawn.max() <= 2
    assert abs(drawn.mean(axis=0) - 1).max() < 0.1
    assert abs(np.corrcoef(drawn, rowvar=False) - np.eye(8)).max() < 0.15
    assert (drawn == pattern_delays_s("random", 2.0, 8, 1)).all()
    assert (drawn != pattern_delays_s("random", 2.0, 8, 2)).any()


def test_a_call_is_entered_when_the_delay_is_over_and_delays_begin_again():
    from allreduce_bench.measuring.calls import timed
    from allreduce_bench.measuring.work import late_by_turns

    class Sync:
        def begin(self):
            return True

    clock = iter(range(10_000))
    late = late_by_turns(np.array([0.0, 5e-4]))
    rows = timed(lambda: lambda: None, Sync(), lambda: next(clock) * 1e-4, 4, approach=late)
    entry, _, _, begin, ready = rows
    assert (entry == ready).all()
    late = ready - begin
    assert (late[1::2] >= 5e-4 - 1e-9).all() and (late[::2] < 2e-4).all()


@pytest.mark.parametrize("python", interpreters())
@pytest.mark.parametrize(("arrival", "late_by"), [("half-late", "0.005"), ("steps.csv", "0.004")])
def test_a_trace_and_a_pattern_are_replayed_and_their_time_is_the_completion(
    python, run_on_ranks, tmp_path, arrival, late_by
):
    in_turn(1, python)
    trace = tmp_path / "steps.csv"
    trace.write_text("step,rank,late_s\n0,0,0.004\n0,1,0\n0,2,0\n1,0,0\n1,1,0.003\n1,2,0\n")
    words = ["-a", "ring", "--arrival", trace if arrival == trace.name else arrival, "--late-by", "5ms"]
    result = run_on_ranks("-n", 3, *QUICK, *words, "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    assert f"arrival {arrival}" in " ".join(result.stdout.split())
    assert "time (us): last exit - last entry" in result.stdout
    folder = RunFolder(tmp_path / "run")
    (mark,) = folder.marks()
    assert mark["late_by_s"] == late_by and (mark["time_definition"], mark["start"]) == ("completion", "barrier")
    delays = np.subtract(*stamps_of(folder, mark)[1::-1])
    if arrival == "half-late":
        assert (delays[:, 2] >= 0.005).all() and (delays[:, :2].min(axis=0) < 0.005).all()
    else:
        assert (delays[::2, 0] >= 0.004).all() and (delays[1::2, 1] >= 0.003).all()
    (joined,) = parts_of_run(folder)
    assert joined.what == f"3 ranks, --arrival {arrival}" and len(arrivals_of_run(folder)) == 1
    rows = list(calls_of(folder))
    times = [(float(row["time_s"]), float(row["global_s"]) - float(row["arrival_skew_s"])) for row in rows]
    assert all(time_s == pytest.approx(completion_s, abs=3e-9) for time_s, completion_s in times)
    _, _, entry, exit = stamps_of(folder, mark)
    after_the_last = exit.max(axis=1) - entry.max(axis=1)  # without the wait for it
    assert [float(row["time_s"]) for row in rows] == pytest.approx(after_the_last.tolist())
    assert [int(row["slowest_rank"]) for row in rows] == exit.argmax(axis=1).tolist()
    again = run_on_ranks("--resume", "-o", tmp_path / "run")
    assert again.returncode == 0 and "cell 1" not in again.stderr, again.stderr  # nothing is measured again


@pytest.mark.parametrize("python", interpreters()[:1])
def test_a_multiple_of_the_library_s_time_and_a_single_rank_that_waits_for_nobody(python, run_on_ranks, tmp_path):
    words = ["-a", "native", "--arrival", "random", "--late-by", "2x"]
    result = run_on_ranks("-n", "1,2", *QUICK, *words, "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    marks = {mark["ranks"]: mark for mark in RunFolder(tmp_path / "run").marks()}
    assert marks["1"]["state"] == "skipped" and "waits for nobody" in marks["1"]["reason"]
    assert float(marks["2"]["late_by_s"]) > 0 and marks["2"]["state"] == "done"


def test_a_trace_of_other_ranks_and_long_delays_are_one_line(tmp_path):
    trace = tmp_path / "steps.csv"
    trace.write_text("step,rank,late_s\n0,0,20\n0,1,0\n")
    run = ["run", *QUICK, "-a", "ring", "-o", tmp_path / "run", "--arrival"]
    assert "a trace of 2 ranks, expected 4" in one_line_error(here(*run, trace, "-n", "2,4"))
    for words in ([trace, "-n", 2], ["ramp", "--late-by", "20s", "-n", 2]):
        assert "--timeout of 15 s" in one_line_error(here(*run, *words, "--timeout", "15s"))
    assert not (tmp_path / "run").exists()

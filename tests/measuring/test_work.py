"""A phase of work before each call: what is stamped when, how long it takes, who is told to be in it."""

import json

import numpy as np
import pytest
from interpreters import in_turn, interpreters
from measured_runs import here, one_line_error

from allreduce_bench.evaluation.frames import stamps
from allreduce_bench.evaluation.stamps import stamps_of
from allreduce_bench.runs.folder import RunFolder

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
QUICK = ["--launches", 1, "--iters", 6, "--warmups", 1, "--sizes", "1K", "-a", "native,ring", "--no-reference-times"]


class Order:
    """Notes what happens in which order, by a clock that counts."""

    def __init__(self):
        self.happened: list[str] = []

    def now(self) -> float:
        self.happened.append("clock")
        return float(len(self.happened))

    def begin(self) -> bool:
        self.happened.append("start")
        return True

    def note(self, what: str):
        return lambda: self.happened.append(what)


def test_ranks_are_ready_before_the_common_start():
    from allreduce_bench.measuring.calls import Approach, timed

    order = Order()
    rows = timed(lambda: order.note("call"), order, order.now, 2, approach=Approach(order.note("work")))
    assert order.happened == ["clock", "work", "clock", "start", "clock", "call", "clock"] * 2
    assert rows.tolist() == [[5, 12], [7, 14], [1, 1], [1, 8], [3, 10]]  # entry, exit, on time, begin, ready


def test_a_rank_in_its_work_is_said_to_be_there():
    from allreduce_bench.measuring.calls import Approach, timed
    from allreduce_bench.measuring.work import spin
    from allreduce_bench.watching.whereabouts import where

    seen, order = [], Order()
    work = Approach(lambda: spin(lambda: seen.append(where()), 2))
    timed(lambda: order.note("call"), order, order.now, 1, approach=work)
    assert [at["doing"] for at in seen] == ["in its phase of work"] * 2
    assert all(at["call"] is None for at in seen)
    assert json.dumps(seen[0]["at"]) == json.dumps(seen[1]["at"])  # its turns are no progress


@pytest.mark.parametrize("python", interpreters())
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_stamps_of_work_are_kept(python, run_on_ranks, tmp_path, ranks):
    in_turn([1, 3, 4].index(ranks), python)
    work = "spin" if ranks == 3 else "sleep"  # how long that takes on shared cores, nobody knows
    words = ["--compute", "3ms", "--work", work, "--inject-slowdown", f"{ranks - 1}:200%"]
    result = run_on_ranks("-n", ranks, *QUICK, *words, "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    folder = RunFolder(tmp_path / "run")
    marks = [mark for mark in folder.marks() if mark["state"] == "done"]
    assert len(marks) == 2
    for mark in marks:
        begin, ready, entry, exit = stamps_of(folder, mark)
        assert begin.shape == (7, ranks)
        assert (begin <= ready).all() and (entry <= exit).all()
        phases = np.median(ready - begin, axis=0)
        assert phases[-1] > (0.006 if work == "sleep" else 0)  # a sleep is never shorter
        if ranks > 1:  # nobody enters before the last one is ready
            assert (entry.min(axis=1) >= ready.max(axis=1) - float(mark["clock_error_s"]) - 1e-6).all()
    frame = stamps([folder])
    assert list(frame.columns[-6:]) == ["call", "rank", "begin_s", "ready_s", "entry_s", "exit_s"]
    assert len(frame) == 2 * 7 * ranks and frame["ready_s"].notna().all()


def test_what_cannot_be_is_one_line(tmp_path):
    run = ["run", "-n", 2, *QUICK, "-o", tmp_path / "run"]
    outside = one_line_error(here(*run, "--compute", "1ms", "--inject-slowdown", "2:12%"))
    assert all(words in outside for words in ("--inject-slowdown 2", "2 ranks", "rank 2"))
    assert "--timeout" in one_line_error(
        here(*run, "--compute", "9s", "--inject-slowdown", "0:12%", "--timeout", "10s")
    )
    assert not (tmp_path / "run").exists()

"""Cells and launches of a run as one row of steps."""

import numpy as np
import pytest
from made_inspector import Job, write_job
from made_runs import build_run

from allreduce_bench.importers import keep, read
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.stragglers.arrivals import Arrivals
from allreduce_bench.stragglers.run_arrivals import join_arrivals, parts_of_run


def part(launch: str, begin_s: list[float], ready_s: float) -> tuple[dict, Arrivals]:
    begins = np.array(begin_s)
    ready = np.full((len(begins), 2), ready_s)
    return {"launch": launch}, Arrivals(ready, np.ones(len(begins)), 1e-6 * len(begins), (0, 0), (), begins)


def test_steps_stand_in_their_order_launch_after_launch():
    one = join_arrivals([part("a", [5.0, 9.0], 1), part("a", [7.0], 2), part("b", [100.0, 101.0], 3)])
    assert one.ready_s[:, 0].tolist() == [1, 2, 1, 3, 3]
    assert one.begin_s.tolist() == [0, 2, 4, 5, 6]  # each launch begins where the one before has ended
    assert one.clock_error_s == pytest.approx(2e-6) and len(one.step_s) == 5


def test_a_step_of_unknown_length_is_left_out():
    first = part("a", [0.0, 1.0], 1)
    first[1].step_s[0] = np.nan
    assert len(join_arrivals([first]).step_s) == 1


def test_an_imported_run_is_one_part_whatever_its_sizes(tmp_path):
    for path in write_job(tmp_path / "job", Job(steps=20)):
        text = path.read_text()
        path.write_text(
            text.replace('"coll_sn":7,"coll_msg_size_bytes":1048576', '"coll_sn":7,"coll_msg_size_bytes":64')
        )
    keep(read(tmp_path / "job"), RunFolder(tmp_path / "run"), [], {})
    ((what, arrivals, _, injected, *_),) = parts_of_run(RunFolder(tmp_path / "run"))
    assert injected.slowdowns == () and injected.pattern == ""
    assert what == "8 ranks" and len(arrivals.step_s) == 19 and (np.diff(arrivals.begin_s) > 0).all()


def test_a_run_without_stamps_has_none(tmp_path):
    build_run(tmp_path / "run")
    assert parts_of_run(RunFolder(tmp_path / "run")) == []

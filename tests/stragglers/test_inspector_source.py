"""Ready times of NCCL Inspector on a common clock."""

import numpy as np
import pytest
from made_inspector import Job, write_job

from allreduce_bench.importers import LogError, LogWarning
from allreduce_bench.stragglers.arrivals import waits
from allreduce_bench.stragglers.sources import arrivals_of_logs
from allreduce_bench.stragglers.verdict import straggler_report

JOB = Job(ranks=8, steps=60)


def test_clocks_that_are_off_and_drift_are_put_right(tmp_path):
    communicator, arrivals = arrivals_of_logs(write_job(tmp_path, JOB), None)
    assert (communicator.ranks, arrivals.nodes, arrivals.node_of) == (8, ("gpu00", "gpu01"), (0,) * 4 + (1,) * 4)
    assert arrivals.ready_s.shape == (59, 8) and arrivals.clock_error_s < 5e-6  # the first step has no beginning
    late_ms = 1e3 * (arrivals.ready_s - np.median(arrivals.ready_s, axis=1, keepdims=True))
    assert np.abs(np.median(late_ms, axis=0) - [0, 0, 0, 0, 0, 2.4, 0, 0]).max() < 0.2
    assert arrivals.step_s == pytest.approx(23.4e-3, rel=0.05) and arrivals.begin_s[0] == 0
    assert (waits(arrivals.ready_s).last == 5).mean() > 0.95


def test_the_report_names_the_rank_that_was_made_slow(tmp_path):
    report = straggler_report(arrivals_of_logs(write_job(tmp_path, JOB), None)[1])
    (suspect,) = report.suspects
    assert suspect.ranks == (5,) and suspect.slower_by == pytest.approx(0.12, abs=0.02)


def test_a_job_without_a_slow_rank_names_nobody(tmp_path):
    assert straggler_report(arrivals_of_logs(write_job(tmp_path, JOB._replace(slow=None)), None)[1]).silence


def test_a_rank_without_a_file_is_not_known(tmp_path):
    paths = write_job(tmp_path, JOB)
    with pytest.warns(LogWarning, match="no file.*2"):
        _, arrivals = arrivals_of_logs([*paths[:2], *paths[3:]], None)
    assert np.isnan(arrivals.ready_s).all(axis=0).tolist() == [rank == 2 for rank in range(8)]
    assert straggler_report(arrivals).suspects[0].ranks == (5,)


def test_lines_without_stamps_say_nothing_of_lateness(tmp_path):
    with pytest.raises(LogError, match="NCCL_INSPECTOR_DUMP_VERBOSE=1"):
        arrivals_of_logs(write_job(tmp_path, JOB._replace(verbose=False)), None)
    with pytest.raises(LogError, match="no two"):
        arrivals_of_logs(write_job(tmp_path / "one", JOB._replace(steps=1)), None)

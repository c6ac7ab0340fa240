"""Traces of torch.profiler as arrivals: those that torch wrote here, changed, and written anew."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from made_traces import RANKS, of_nccl, two_hosts, without, write_traces
from places import RANK_PROGRAMS

from allreduce_bench.importers import LogError, LogNote, LogWarning
from allreduce_bench.stragglers.kineto import HOST_CLOCK_ERROR_S, arrivals_of_traces
from allreduce_bench.stragglers.verdict import straggler_report

LATE = 2
LATE_S = 0.01


def late_s(arrivals):
    """Of each rank how late it is behind the median of all, by its median."""
    return np.median(arrivals.ready_s - np.median(arrivals.ready_s, axis=1, keepdims=True), axis=0)


def suspects(arrivals):
    return [list(suspect.ranks) for suspect in straggler_report(arrivals).causes]


def test_the_late_rank_of_a_recorded_job(tmp_path):
    what, arrivals = arrivals_of_traces(write_traces(tmp_path))
    assert what == "4 ranks, 30 all_reduce" and arrivals.ready_s.shape == (29, RANKS) and arrivals.nodes == ("vm",)
    assert late_s(arrivals)[LATE] == pytest.approx(LATE_S, rel=0.1) and suspects(arrivals) == [[LATE]]
    assert np.median(arrivals.step_s) > LATE_S and arrivals.clock_error_s < 1e-3


def test_nobody_of_a_clean_one(tmp_path):
    _, arrivals = arrivals_of_traces(write_traces(tmp_path, of="clean"))
    assert suspects(arrivals) == []


def test_clocks_of_two_hosts_meet_at_the_ends_of_calls(tmp_path):
    _, arrivals = arrivals_of_traces(write_traces(tmp_path, two_hosts))
    assert arrivals.nodes == ("vm", "other") and arrivals.node_of == (0, 0, 1, 1)
    assert late_s(arrivals)[LATE] == pytest.approx(LATE_S, rel=0.1) and suspects(arrivals) == [[LATE]]


def test_without_ends_one_host_has_one_clock(tmp_path):
    with pytest.warns(LogNote, match="step lasts"):
        _, arrivals = arrivals_of_traces(write_traces(tmp_path, without("gloo")))
    assert arrivals.clock_error_s == HOST_CLOCK_ERROR_S
    assert late_s(arrivals)[LATE] == pytest.approx(LATE_S, rel=0.1) and suspects(arrivals) == [[LATE]]


def test_calls_of_gloo_alone_are_enough(tmp_path):
    _, arrivals = arrivals_of_traces(write_traces(tmp_path, without("c10d")))
    assert suspects(arrivals) == [[LATE]]


def test_calls_of_nccl_are_matched_by_number_and_group(tmp_path):
    def edit(rank, document):
        of_nccl(rank, document)
        if rank == 1:  # begins three calls later, ends with the others
            document["traceEvents"] = document["traceEvents"][12:]

    paths = write_traces(tmp_path, edit)
    with pytest.warns(LogWarning) as said:
        what, arrivals = arrivals_of_traces(paths)
    assert "27 calls; further ones" in str(said[0].message)
    assert what == "process group dp, 4 ranks, 27 all_reduce" and suspects(arrivals) == [[LATE]]


def test_hosts_that_run_ahead_of_their_gpus_say_nothing_of_ranks(tmp_path):
    def edit(rank, document):
        of_nccl(rank, document)
        for event in document["traceEvents"]:
            event["ts"] += 5_000 * (event["cat"] == "kernel")

    with (
        pytest.warns(LogNote),
        pytest.raises(LogError, match=r"5\.00 ms before.*GPUs begin"),
    ):
        arrivals_of_traces(write_traces(tmp_path, edit))


def test_of_several_groups_one_is_chosen(tmp_path):
    def edit(rank, document):
        of_nccl(rank, document)
        for event in document["traceEvents"][60:]:
            if event["args"]:
                event["args"]["Process Group Name"] = "tp0" if rank < 2 else "tp1"

    paths = write_traces(tmp_path, edit)
    with pytest.raises(
        LogError,
        match="3 process.*expected: dp, tp0, tp1.*--communicator dp",
    ):
        arrivals_of_traces(paths)
    with pytest.warns(LogNote):
        what, arrivals = arrivals_of_traces(paths, "tp1")
    assert what.startswith("process group tp1, 4 ranks, 15 all_reduce")
    assert np.isnan(arrivals.ready_s[:, :2]).all() and not np.isnan(arrivals.ready_s[:, 2:]).any()
    with pytest.raises(LogError, match="process group pp .*there are: dp, tp0, tp1"):
        arrivals_of_traces(paths, "pp")


def test_calls_that_overlap_are_one_step(tmp_path):
    def edit(rank, document):
        """Of every three calls all begin with the first one: buckets of one step."""
        begin = {}
        for name in ("c10d::allreduce_", "gloo:all_reduce"):
            events = sorted((e for e in document["traceEvents"] if e["name"] == name), key=lambda event: event["ts"])
            for place, event in enumerate(events):
                first = begin.setdefault(place // 3, event["ts"])
                event["dur"] += event["ts"] - first - place % 3
                event["ts"] = first + place % 3

    what, arrivals = arrivals_of_traces(write_traces(tmp_path, edit))
    assert what == "4 ranks, 30 all_reduce in 10 steps" and arrivals.ready_s.shape == (9, RANKS)


def test_ranks_without_a_file_are_named(tmp_path):
    with pytest.warns(LogWarning, match="no file.*1"):
        _, arrivals = arrivals_of_traces([path for path in write_traces(tmp_path) if "_1" not in path.name])
    assert np.isnan(arrivals.ready_s[:, 1]).all() and suspects(arrivals) == [[LATE]]
    assert arrivals.nodes == ("vm", "unknown")


def _later(rank, document):
    document["baseTimeNanoseconds"] += (rank == 3) * 3600 * 10**9


def _a_call_later(rank, document):
    events = document["traceEvents"]
    of_calls = [event for event in events if event["name"] in ("c10d::allreduce_", "gloo:all_reduce")]
    ordered = sorted(of_calls, key=lambda event: event["ts"])
    left_out = ordered[:2] if rank == 3 else ordered[-2:]
    document["traceEvents"] = [event for event in events if event not in left_out]


def _fewer(rank, document):
    if rank == 3:
        calls = [event for event in document["traceEvents"] if event["name"] in ("c10d::allreduce_", "gloo:all_reduce")]
        ordered = sorted(calls, key=lambda event: event["ts"])
        document["traceEvents"] = [event for event in document["traceEvents"] if event not in ordered[-6:]]


def _longer(rank, document):
    for event in document["traceEvents"] if rank == 3 else ():
        if event["name"] == "c10d::allreduce_":
            event["args"]["Input Dims"][0] = [[250]]


def _elsewhere(rank, document):
    two_hosts(rank, document)
    without("gloo")(rank, document)


@pytest.mark.parametrize(
    "edit, said",
    [
        (_later, "clocks do not agree: rank 3 begins 3599 s after rank . has ended, by the clock of host vm"),
        (_a_call_later, "clocks do not agree: calls that are the same by their order end up to"),
        (_fewer, "collective calls of rank 3, but 30 of rank 0, and they have no numbers"),
        (_longer, r"call 0 is all_reduce of \[\[250\]\] on rank 3, but all_reduce of \[\[1000\]\] on rank 0"),
        (_elsewhere, "no common clock: one file a rank, of the hosts other, vm, and no event that ends on all ranks"),
        (lambda rank, document: document["distributedInfo"].update(world_size=4 + rank), "world_size is 5, but 4 in"),
        (lambda rank, document: document["distributedInfo"].update(rank=rank // 2), "rank 0 is also in"),
    ],
)
def test_what_has_no_common_clock_is_refused_with_the_reason(tmp_path, edit, said):
    paths = write_traces(tmp_path, edit)
    with warnings.catch_warnings(), pytest.raises(LogError, match=said) as error:
        warnings.simplefilter("ignore", LogWarning)
        arrivals_of_traces(paths)
    assert "\n" not in str(error.value)


def test_one_file_says_nothing_of_lateness(tmp_path):
    with pytest.raises(LogError, match="rank 0 of 4, so nobody"):
        arrivals_of_traces(write_traces(tmp_path)[:1])


def test_what_torch_writes_now(tmp_path):
    pytest.importorskip("torch")
    program = [
        sys.executable,
        str(RANK_PROGRAMS / "recorded_torch.py"),
        str(tmp_path),
        "--late",
        "0.2",
        "--steps",
        "15",
    ]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr[-2000:]
    what, arrivals = arrivals_of_traces(sorted(tmp_path.glob("trace_*.json")))
    assert what == "4 ranks, 15 all_reduce" and int(late_s(arrivals).argmax()) == LATE

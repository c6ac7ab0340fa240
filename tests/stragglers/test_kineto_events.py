"""What a trace of one rank says, and what is none."""

import json

import pytest
from made_traces import TORCH, of_nccl, without, write_traces

from allreduce_bench.importers import LogError
from allreduce_bench.importers.lines import head_of
from allreduce_bench.stragglers.kineto import COMMS, GLOO, KERNEL, OP, read_traced_rank, recognises


def test_a_trace_that_torch_wrote_over_gloo():
    path = TORCH / "late" / "trace_2.json.gz"
    part = read_traced_rank(path)
    assert recognises(head_of(path).decode())
    assert (part.rank, part.ranks, part.host) == (2, 4, "vm") and part.base_ns > 1.7e18
    assert part.calls["kind"].value_counts().to_dict() == {OP: 30, GLOO: 30}
    program, gloo = (part.calls[part.calls["kind"] == kind].reset_index() for kind in (OP, GLOO))
    assert {*zip(program["collective"], program["size"], program["number"])} == {("all_reduce", "[[1000]]", None)}
    assert (program["entry_us"] < gloo["entry_us"]).all() and (gloo["entry_us"] < gloo["end_us"]).all()
    assert (program["end_us"] == gloo["end_us"]).all()  # of the call, not of the event


def test_calls_of_nccl_have_numbers_and_groups_and_kernels_are_none(tmp_path):
    part = read_traced_rank(write_traces(tmp_path, of_nccl)[1])
    assert part.calls["kind"].value_counts().to_dict() == {COMMS: 30, KERNEL: 30}
    calls = part.calls[part.calls["kind"] == COMMS]
    assert [*calls["number"]] == list(range(7, 37)) and calls["end_us"].isna().all()
    assert {*zip(calls["collective"], calls["size"], calls["group"])} == {("all_reduce", "1000 Float", "dp")}


def _leave_out(name):
    return lambda rank, document: document.pop(name)


def _with_event(**changed):
    def edit(rank, document):
        next(event for event in document["traceEvents"] if event["name"] == "c10d::allreduce_").update(changed)

    return edit


def _only_kernels(rank, document):
    of_nccl(rank, document)
    document["traceEvents"] = [event for event in document["traceEvents"] if event["cat"] == "kernel"]


@pytest.mark.parametrize(
    "edit, said",
    [
        (_leave_out("distributedInfo"), "no distributedInfo"),
        (_leave_out("traceEvents"), "what export_chrome_trace"),
        (without("c10d", "gloo"), "no collective call that all ranks meet in"),
        (_only_kernels, "a kernel waits in its stream and is no entry of the host"),
        (_with_event(ts="soon"), "dur 0"),
        (_with_event(dur=float("nan")), "expected microseconds"),
        (_with_event(dur=-5.0), "expected microseconds, dur 0 or more"),
        (lambda rank, document: document["distributedInfo"].update(rank=4), "rank is 4, expected .* from 0 to 3"),
        (lambda rank, document: document["distributedInfo"].update(world_size=10**9), "world_size is"),
    ],
)
def test_what_is_no_trace_of_a_rank_is_one_sentence(tmp_path, edit, said):
    with pytest.raises(LogError, match=said):
        read_traced_rank(write_traces(tmp_path, edit)[0])


def test_other_traces_of_chrome_are_told_and_refused(tmp_path):
    path = tmp_path / "chrome.json"
    path.write_text(json.dumps([{"ph": "X", "name": "gloo:all_reduce", "ts": 1, "dur": 2}]))
    assert recognises(path.read_text())
    with pytest.raises(LogError, match="what export_chrome_trace"):
        read_traced_rank(path)
    assert not recognises('{"entries": []}') and not recognises("step,rank,late_s")

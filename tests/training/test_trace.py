"""The trace, checked against the rules of the Trace Event Format."""

import json
from numbers import Real

from allreduce_bench.training.result import trace
from allreduce_bench.training.time_line import Phase, TimeLine, Transfer

LINE = TimeLine(
    (Phase("forward", 0.0, 1.0), Phase("backward", 1.0, 3.0)),
    (Transfer(4096, 1.5, 1.5, 2.5, 3, "ring"), Transfer(8192, 3.0, 3.0, 3.25, 1, "ring")),
)


def refuse_malformed(document: dict) -> None:
    """Assert what the format demands of the JSON object form, and of the events `X` and `M`."""
    assert isinstance(document["traceEvents"], list) and document["displayTimeUnit"] in ("ms", "ns")
    for event in document["traceEvents"]:
        assert isinstance(event["name"], str) and event["ph"] in ("X", "M")
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert event["tid"] != event["pid"], "Perfetto would call it the main thread, and show it first"
        assert isinstance(event["ts"], Real) and isinstance(event["args"], dict)
        if event["ph"] == "X":
            assert isinstance(event["cat"], str) and event["dur"] >= 0 <= event["ts"]
            assert isinstance(event["dur"], int) and isinstance(event["ts"], int)
        else:
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str)
    spans = sorted(
        (event["pid"], event["tid"], event["ts"], event["ts"] + event["dur"])
        for event in document["traceEvents"]
        if event["ph"] == "X"
    )
    for (pid, tid, _, end), (next_pid, next_tid, start, _) in zip(spans, spans[1:]):
        assert (pid, tid) != (next_pid, next_tid) or start >= end, "events of a thread nest or follow each other"


def test_a_trace_obeys_its_format():
    document = trace({"modelled, 4 ranks": LINE, "measured, 4 ranks": LINE}, {"kind": "modelled"})
    refuse_malformed(json.loads(json.dumps(document, allow_nan=False)))
    events = document["traceEvents"]
    assert {(event["pid"], event["args"]["name"]) for event in events if event["name"] == "process_name"} == {
        (1, "modelled, 4 ranks"),
        (2, "measured, 4 ranks"),
    }
    second = [event for event in events if event["ph"] == "X" and event["pid"] == 1][3]
    assert (second["name"], second["ts"], second["dur"]) == ("bucket 1: 8 KiB", 3e6, 0.25e6)
    assert second["args"] == {"size_bytes": 8192, "tensors": 1, "ready_us": 3e6, "algorithm": "ring"}


def test_events_that_follow_each_other_do_not_overlap_by_a_rounding():
    times_s = [number / 3e5 for number in range(200)]
    transfers = tuple(Transfer(8, start, start, end) for start, end in zip(times_s, times_s[1:]))
    refuse_malformed(trace({"thirds": TimeLine((Phase("forward", 0.0, 1 / 3),), transfers)}, {}))

"""Files of other formats are called by their names, in one sentence, by every reader of logs."""

import json
import pickle

import pytest
from made_logs import CSV, IMB, NCCL, OSU, log

from allreduce_bench.importers import LogError, read
from allreduce_bench.importers.reading import other_text

EVENT = {"name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ph": "X", "cat": "kernel", "ts": 1.0, "dur": 2.0}
FLIGHT = {"version": "2.9", "pg_config": {"0": {"name": "0"}}, "entries": [{"collective_seq_id": 1}]}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [EVENT]}), "a trace in the Chrome"),
        (json.dumps([EVENT]), "a trace in the Chrome format"),
        (json.dumps([EVENT], indent=1)[:-2], "a trace in the Chrome format"),  # Chrome's own need not be closed
        (json.dumps(FLIGHT), "Flight Recorder, which torchfrtrace reads"),
        ('{"nccl_version": "2.29.1", "communicators_count": 1}', "a report of NCCL RAS"),
        (pickle.dumps(FLIGHT), "binary, not text"),
        ('<algo name="ring" proto="Simple" nchannels="1">', "an algorithm of MSCCL"),
        ("Device: tcp\nOptions:     processes=2, inputs=1, threads=1\n", "a log of Gloo's benchmark"),
        ("#bytes #elem_count #repetitions t_min[usec]\n8 2 10 1.0\n", "a log of oneCCL's benchmark, which is not read"),
        ("data_size(Bytes): | aveg_time(us): | check_result:\n8 | 1.0 | success\n", "a log of hccl_test, which"),
        ("<!DOCTYPE html>\n<html>", "XML or HTML"),
    ],
)
def test_each_is_refused_by_its_name(tmp_path, content, found):
    with pytest.raises(LogError, match=found) as refusal:
        read(log(tmp_path, content))
    assert f"{tmp_path}/a.log, line 1: " in str(refusal.value) and "\n" not in str(refusal.value)


def test_logs_are_none_of_them():
    assert not any(other_text(text) for text in (OSU, IMB, NCCL, CSV, "{}", "[1]"))

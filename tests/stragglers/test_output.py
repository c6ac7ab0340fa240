"""The log of rank 0: whole lines, and one word where it cannot be written."""

import json
from math import nan

import numpy as np

from allreduce_bench.stragglers.monitor.output import LogThread, json_line


def test_a_line_is_json_that_others_read():
    line = json_line({"a": np.array([1.23456789012, nan]), "b": (np.int64(3), None), "c": {"not": "changed"}["not"]})
    assert line == '{"a": [1.2345679, null], "b": [3, null], "c": "changed"}\n'


def test_lines_are_appended(tmp_path):
    log = tmp_path / "steps.jsonl"
    log.write_text('{"kind": "before"}\n')
    output = LogThread(log)
    for number in range(100):
        output.line(number=number)
    output.close()
    assert [json.loads(line).get("number") for line in log.read_text().splitlines()] == [None, *range(100)]


def test_a_log_that_cannot_be_written_is_told_once(tmp_path, capfd):
    output = LogThread(tmp_path)
    output.line(number=1)
    output.line(number=2)
    output.close()
    (told,) = capfd.readouterr().err.splitlines()
    assert told.startswith("StepMonitor: cannot write '")

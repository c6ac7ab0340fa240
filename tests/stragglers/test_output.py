"""The files of rank 0: whole lines, a textfile that is renamed, and one word where they cannot be written."""

import json
from collections import deque
from math import nan

import numpy as np

from allreduce_bench.stragglers.monitor.output import Metrics, OutputThread, json_line


def test_a_line_is_json_that_others_read():
    line = json_line({"a": np.array([1.23456789012, nan]), "b": (np.int64(3), None), "c": {"not": "changed"}["not"]})
    assert line == '{"a": [1.2345679, null], "b": [3, null], "c": "changed"}\n'


def test_lines_are_appended_and_the_textfile_is_replaced(tmp_path):
    log, textfile = tmp_path / "steps.jsonl", tmp_path / "a.prom"
    log.write_text('{"kind": "before"}\n')
    output = OutputThread(log, textfile, Metrics(("n1",), deque(), steps=3))
    for number in range(100):
        output.line(number=number)
    output.news()
    output.close()
    assert [json.loads(line).get("number") for line in log.read_text().splitlines()] == [None, *range(100)]
    assert "allreduce_bench_steps_total 3\n" in textfile.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.prom", "steps.jsonl"]


def test_a_file_that_cannot_be_written_is_told_once_and_leaves_nothing(tmp_path, capfd):
    (tmp_path / "a.prom").mkdir()
    output = OutputThread(tmp_path, tmp_path / "a.prom", Metrics(("n1",), deque()))
    output.line(number=1)
    output.line(number=2)
    output.news()
    output.close()
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 2 and all(line.startswith("StepMonitor: cannot write '") for line in told)
    assert [path.name for path in tmp_path.iterdir()] == ["a.prom"]

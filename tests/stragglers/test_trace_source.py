"""Arrival traces, written and read."""

import numpy as np
import pytest
from made_arrivals import arrivals
from made_logs import log

from allreduce_bench.importers import LogError
from allreduce_bench.runs.injected import read_trace
from allreduce_bench.stragglers.sources import trace_text


def test_what_is_written_is_read(tmp_path):
    made = arrivals(ranks=3, steps=5, slow=1)
    text = trace_text(made)
    assert text.splitlines()[0] == "step,rank,late_s" and len(text.splitlines()) == 16
    late_s = made.ready_s - made.ready_s.min(axis=1, keepdims=True)
    assert np.allclose(read_trace(log(tmp_path, text, "t.csv")), late_s, rtol=1e-6)


def test_steps_with_an_unknown_rank_are_left_out(tmp_path):
    made = arrivals(ranks=3, steps=5, slow=1)
    made.ready_s[2, 0] = np.nan
    assert read_trace(log(tmp_path, trace_text(made), "t.csv")).shape == (4, 3)


def test_arrivals_of_which_nothing_is_known_are_no_trace():
    made = arrivals(ranks=3, steps=5, slow=1)
    made.ready_s[:] = np.nan
    with pytest.raises(LogError, match="no trace"):
        trace_text(made)

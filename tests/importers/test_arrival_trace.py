"""Arrival traces, written and read."""

import numpy as np
import pytest
from made_arrivals import arrivals

from allreduce_bench.importers import LogError
from allreduce_bench.importers.arrival_trace import lateness_of, recognises, trace_text


def test_what_is_written_is_read(tmp_path):
    made = arrivals(ranks=3, steps=5, slow=1)
    text = trace_text(made)
    assert text.splitlines()[0] == "step,rank,late_s" and recognises(text) and len(text.splitlines()) == 16
    late_s = made.ready_s - made.ready_s.min(axis=1, keepdims=True)
    assert np.allclose(lateness_of(tmp_path, text), late_s, rtol=1e-6)


def test_steps_with_an_unknown_rank_are_left_out(tmp_path):
    made = arrivals(ranks=3, steps=5, slow=1)
    made.ready_s[2, 0] = np.nan
    assert lateness_of(tmp_path, trace_text(made)).shape == (4, 3)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "line 2: no steps"),
        ("0,0,1\n0,1", "line 3: 2 values"),
        ("0,0,1\n0,0,2", "line 3: step 0 has rank 0 twice"),
        ("0,0,1\n0,2,1", "step 0 has no rank 1; every step needs ranks 0 to 2"),
        ("0,0,1\n0,1,1\n1,1,1", "step 1 has no rank 0"),
        ("x,0,1", "line 2: step is 'x'"),
        ("0,0,nan", "line 2: late_s is 'nan'"),
        ("0,0,-1", "line 2: late_s is '-1'"),
        ("0,9999999,1", "line 2: rank is"),
    ],
)
def test_a_damaged_trace_is_one_sentence(tmp_path, lines, said):
    with pytest.raises(LogError, match=said):
        lateness_of(tmp_path / "t.csv", f"step,rank,late_s\n{lines}\n")

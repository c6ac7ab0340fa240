"""Traces of arrivals: read in any order of lines, and refused in one sentence where they cannot be replayed."""

import pytest

from allreduce_bench.runs.injected import (
    LARGEST_NBYTES,
    TraceError,
    digest_of_trace,
    read_trace,
    refuse_trace,
    trace_for,
)

TWO_STEPS = "step,rank,late_s\n7,1,0.5\n7,0,0\n3,0,1e-3\n3,1,0\n"


def written(folder, text, name="steps.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_steps_come_in_the_order_of_their_numbers_and_ranks_in_columns(tmp_path):
    assert read_trace(written(tmp_path, TWO_STEPS)).tolist() == [[1e-3, 0], [0, 0.5]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected the header step,rank,late_s"),
        ("step,rank,late_s\n", "holds no step"),
        ("step,rank,late_s\n0,0,0\n0,1,0\n1,0,0\n", "step 1 lacks rank 1"),
        ("step,rank,late_s\n0,0,0\n0,0,1\n", "line 3: step 0 of rank 0 is there twice"),
        ("step,rank,late_s\n0,0,nan\n", "line 2.*expected step"),
        ("step,rank,late_s\n0,0\n", "expected step"),
        ("step,rank,late_s\n0,99999999999,1\n", "expected step"),
    ],
)
def test_other_files_are_one_sentence(tmp_path, text, words):
    with pytest.raises(TraceError, match=words) as refused:
        read_trace(written(tmp_path, text))
    assert "\n" not in str(refused.value)


def test_what_is_no_file_or_too_large_is_said(tmp_path):
    with pytest.raises(TraceError, match="no such file or directory; expected a trace"):
        read_trace(tmp_path / "steps.csv")
    with open(tmp_path / "large.csv", "wb") as file:
        file.truncate(LARGEST_NBYTES + 1)
    with pytest.raises(TraceError, match="more than 67,108,864 bytes"):
        read_trace(tmp_path / "large.csv")


def test_a_trace_is_that_of_the_plan_and_of_as_many_ranks(tmp_path):
    path = str(written(tmp_path, TWO_STEPS))
    digest = digest_of_trace(path)
    assert refuse_trace(path, digest, (2,)) == 0.5 and refuse_trace("ramp", "", (4,)) == 0
    with pytest.raises(TraceError, match="2 ranks, expected 4; use -n 2"):
        trace_for(path, digest, (2, 4))
    written(tmp_path, TWO_STEPS + "\n")
    with pytest.raises(TraceError, match="changed since"):
        trace_for(path, digest, (2,))

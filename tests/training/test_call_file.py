"""Recorded calls: read, replayed, and refused where they are none."""

import pytest

from allreduce_bench.training.input_files import Call, CallError, read_subject, replay_line


def calls_of(tmp_path, text: str):
    path = tmp_path / "calls.csv"
    path.write_text(text)
    return read_subject(path).calls


def test_calls_are_read_in_any_order_of_columns(tmp_path):
    assert calls_of(tmp_path, "gap,size,dtype\n4ms,4M,float32\n0.5,8,\n") == [
        Call(4 << 20, 0.004, "float32"),
        Call(8, 0.5),
    ]


def test_a_replay_waits_for_each_call():
    line = replay_line([Call(100, 1.0), Call(50, 2.0)], lambda size_bytes: size_bytes / 100)
    assert (line.step_s, line.compute_s, line.communication_s, line.exposed_s) == (4.5, 3.0, 1.5, 1.5)
    assert line.overlap_share == 0
    assert [transfer.start_s for transfer in line.transfers] == [1.0, 4.0]


@pytest.mark.parametrize(
    "text, said",
    [
        ("size,dtype\n8,float32\n", "line 1: expected a CSV"),
        ("size,gap\n", "contains no call"),
        ("bytes,gap\n1,1\n", "line 1: expected a CSV with the columns size, dtype and gap, .*; found 'bytes,gap'"),
        ("size,gap\n4M,1\nmany,1\n", "optional K"),
        ("size,gap\n4M\n", "duration"),
        (
            "size,gap,dtype\n7,1,float32\n",
            "line 2: 7 bytes are.*float32 elements",
        ),
        ("size,gap,dtype\n8,1,complex\n", "line 2: unknown dtype 'complex'"),
    ],
)
def test_what_is_no_call_is_refused_with_its_line(tmp_path, text, said):
    with pytest.raises(CallError, match=said):
        calls_of(tmp_path, text)

"""The words about recorded calls that were replayed."""

from pathlib import Path

from allreduce_bench.tables import UNBOUNDED, Screen
from allreduce_bench.training.input_files import Call, Recording
from allreduce_bench.training.measured import Measured, modelled_calls
from allreduce_bench.training.tables import beside_sentence, measured_text, sizes_sentence
from allreduce_bench.training.time_line import Phase, TimeLine, Transfer

CALLS = [Call(400, 0.002), Call(1200, 0.004), Call(400, 0.0)]
SENT = tuple(Transfer(size_bytes, at, at, at + 0.001) for size_bytes, at in ((400, 0.002), (1200, 0.007), (400, 0.008)))
LINE = TimeLine((Phase("compute", 0, 0.002), Phase("compute", 0.003, 0.007)), SENT)
ALONE = (400, 1200, 400), (1e-3, 5e-4, 1e-3)
MEASURED = Measured(3, "ring@pipelined", 0.009, 0.006, 0.0063, 0.0025, *ALONE, 4, LINE, "spin", "between")


def text_of(measured: Measured, calls: list[Call], screen: Screen = UNBOUNDED) -> str:
    return measured_text(modelled_calls(measured, Recording(Path("x.csv"), calls)), measured, screen)


def test_the_replay_stands_beside_its_model():
    text = text_of(MEASURED, CALLS)
    lines = text.splitlines()
    assert lines[0].split(": ") == ["x.csv, 3 calls on 3 ranks, measured", "medians of 4 replays"]
    assert lines[1] == "1.953 KiB of each rank are reduced, in 3 calls of 2 lengths from 400 B to 1.172 KiB"
    assert "gaps by spinning; all-reduces by ring@pipelined" in lines[2]
    assert "measured  9.00 ms  6.00 ms      2.50 ms  3.00 ms" in lines
    assert "modelled  8.50 ms  6.00 ms      2.50 ms  2.50 ms" in lines
    assert "6.00 ms alone" in text and "6.30 ms between the all-reduces: +5%" in text
    assert all(words in text for words in ("2.50 ms one after", "3.00 ms between", "each other there: +20%"))
    assert "of this replay" in lines[-1] and "all-reduces alone, is -6% off" in lines[-1]
    assert max(map(len, text_of(MEASURED, CALLS, Screen(80)).splitlines())) <= 80


def test_calls_without_gaps_have_no_computation():
    calls = [call._replace(gap_s=0.0) for call in CALLS]
    assert "no computation" in text_of(MEASURED._replace(compute_alone_s=0.0, compute_beside_s=0.0), calls)


def test_equal_calls_have_one_length():
    said = sizes_sentence(MEASURED._replace(alone_nbytes=(400, 400)))
    assert "800 B of each rank are reduced" in said and "2 calls of one length" in said
    assert "+20%" in beside_sentence(MEASURED)

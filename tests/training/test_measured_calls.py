"""The words about recorded calls that were replayed."""

from has_message import has_message

from allreduce_bench.message import say
from allreduce_bench.tables import UNBOUNDED, Screen
from allreduce_bench.training.input_files import Call
from allreduce_bench.training.measured import Measured, modelled_calls
from allreduce_bench.training.result import measured_result
from allreduce_bench.training.tables import beside_sentence, measured_calls_text, sizes_sentence
from allreduce_bench.training.time_line import Phase, TimeLine, Transfer

CALLS = [Call(400, 0.002), Call(1200, 0.004), Call(400, 0.0)]
SENT = tuple(Transfer(nbytes, at, at, at + 0.001) for nbytes, at in ((400, 0.002), (1200, 0.007), (400, 0.008)))
LINE = TimeLine((Phase("compute", 0, 0.002), Phase("compute", 0.003, 0.007)), SENT)
MEASURED = Measured(3, "ring pipelined", 0.009, 0.006, 0.0063, 0.0025, (400, 1200, 400), (1e-3, 5e-4, 1e-3), 4, LINE)


def text_of(measured: Measured, calls: list[Call], screen: Screen = UNBOUNDED) -> str:
    modelled = measured_result("x.csv, 3 calls", modelled_calls(measured, calls))
    return measured_calls_text(modelled, measured, ("spin", "between"), screen)


def test_the_replay_stands_beside_its_model():
    text = text_of(MEASURED, CALLS)
    lines = text.splitlines()
    assert lines[0].split(": ") == ["x.csv, 3 calls on 3 ranks, measured", "medians of 4 replays"]
    assert lines[1] == say(
        "training.rank_reduced_calls", lengths="1.953 KiB", length_count=3, span="2 lengths from 400 B to 1.172 KiB"
    )
    assert has_message(lines[2], "training.gaps_reduces_sum_computation", work="spinning", algorithm="ring pipelined")
    assert "measured  9.00 ms  6.00 ms      2.50 ms  3.00 ms" in lines
    assert "modelled  8.50 ms  6.00 ms      2.50 ms  2.50 ms" in lines
    assert has_message(
        text,
        "training.computation_takes_alone_reduces",
        alone="6.00 ms",
        beside="6.30 ms",
        where="between",
        signed_share="+5%",
    )
    assert has_message(text, "training.reduces_take_after_other", alone="2.50 ms", replayed_s="3.00 ms", more=": +20%")
    assert lines[-1].endswith(say("training.model_computation_reduces_alone", what="replay", signed_share="-6%"))
    assert max(map(len, text_of(MEASURED, CALLS, Screen(80)).splitlines())) <= 80


def test_calls_without_gaps_have_no_computation():
    calls = [call._replace(gap_s=0.0) for call in CALLS]
    assert has_message(
        text_of(MEASURED._replace(compute_alone_s=0.0, compute_beside_s=0.0), calls), "training.no_computation"
    )


def test_equal_calls_have_one_length():
    assert has_message(
        sizes_sentence(MEASURED._replace(alone_nbytes=(400, 400))),
        "training.rank_reduced_calls",
        lengths="800 B",
        length_count="2",
        span="one length",
    )
    assert "+20%" in beside_sentence(MEASURED)

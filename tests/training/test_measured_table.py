"""The words about a measured step."""

from has_message import has_message

from allreduce_bench.training.buckets import Caps, Fusion
from allreduce_bench.training.measured import Cycles, Measured, modelled_of
from allreduce_bench.training.result import measured_result
from allreduce_bench.training.step import Setup, TensorParallel
from allreduce_bench.training.tables import TENSOR_HEADS, measured_text, slowdown_sentence
from allreduce_bench.training.tensors import Gradient, Model
from allreduce_bench.training.time_line import Phase, TimeLine, Transfer

SETUP = Setup(Model("m", "M", (Gradient("a", (300,)), Gradient("b", (100,)))), 0.006, Caps(400, 400))
LINE = TimeLine(
    (Phase("forward", 0, 0.002), Phase("backward", 0.002, 0.0066)),
    (Transfer(400, 0.003, 0.003, 0.0045), Transfer(1200, 0.0066, 0.0066, 0.0086)),
)
MEASURED = Measured(2, "ring", 0.0086, 0.006, 0.0066, 0.004, (400, 1200), (0.001, 0.003), 5, LINE)


def text_of(measured: Measured, setup: Setup = SETUP, how: tuple[str, str] = ("sleep", "thread")) -> str:
    return measured_text(measured_result("M", modelled_of(measured, setup), setup), measured, how)


def test_the_measured_step_stands_beside_its_model():
    text = text_of(MEASURED)
    lines = text.splitlines()
    assert lines[0].split(": ") == ["M on 2 ranks, measured", "medians of 5 steps"]
    assert has_message(
        lines[3],
        "training.computation_reduces",
        work="sleeping, which takes no core",
        algorithm="ring",
        where="in a thread beside the computation",
    )
    assert "measured  8.60 ms  6.00 ms      4.00 ms  2.60 ms      35%" in lines
    assert "modelled  9.00 ms  6.00 ms      4.00 ms  3.00 ms      25%" in lines
    assert has_message(
        text,
        "training.computation_takes_alone_reduces",
        alone="6.00 ms",
        beside="6.60 ms",
        where="beside",
        signed_share="+10%",
    )
    assert has_message(text, "training.time_line_median_step", share="43%") and lines[-1].endswith("is +5% off.")


def test_a_step_may_be_faster_than_its_computation_alone_by_noise():
    odd = MEASURED._replace(step_s=0.0059, compute_beside_s=0.0059)
    assert "-100 us" in text_of(odd)
    assert slowdown_sentence(odd).endswith(": -2%.")


def test_tensor_parallel_all_reduces_have_their_own_column_and_sentence():
    setup = SETUP._replace(tensor=TensorParallel("div:2", 2, "1 x 10 x 10 elements", 100, (0.5,), (0.5,), (0,)))
    both = MEASURED._replace(ranks=4, tensor_alone_s=0.001, tensor_beside_s=0.0015)
    text = text_of(both, setup)
    assert has_message(text, "training.tensor_parallelism_shoeybi_et", ranks=2, layout="div:2", calls=2, nbytes="400 B")
    assert "  ".join(TENSOR_HEADS) in text
    assert "measured  8.60 ms  6.00 ms          1.50 ms        4.00 ms        1.10 ms      72%" in text  # 6 + 1.5 + 1.1
    assert has_message(
        text,
        "training.tensor_parallel_reduces_take",
        calls=2,
        alone="1.00 ms",
        beside="1.50 ms",
        signed_share="+50%",
    )


def test_horovods_cycles_are_told():
    setup = SETUP._replace(packing=Fusion(1 << 20, 0.0001))
    measured = MEASURED._replace(cycles=Cycles(2, 61.5, 0.0004, 0.00002))
    text = text_of(measured, setup, ("spin", "blocking"))
    assert has_message(text, "training.horovod_fusion_buffer_cycle", buffer="1 MiB", cycle="100 us", counted="1 bucket")
    assert has_message(text, "training.computation_reduces", work="spinning", algorithm="ring")
    assert has_message(
        text,
        "training.step_reduce_gradients_model",
        all_reduces=2,
        plural="s",
        gradients=2,
        predicted=2,
        cycles=61.5,
        agreed="400 us",
        bound="20.0 us",
    )

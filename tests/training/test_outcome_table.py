"""The words about a modelled step."""

from allreduce_bench.models.machine import bare_machine
from allreduce_bench.tables import Screen
from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.buckets import MIB
from allreduce_bench.training.cost import modelled_costs
from allreduce_bench.training.result import Result
from allreduce_bench.training.step import Setup, outcome, variants
from allreduce_bench.training.tables import (
    answer,
    bucket_text,
    model_sentence,
    packing_sentence,
    result_text,
)

COSTS = modelled_costs(bare_machine(20e-6, 8e-10), ["ring", "tree"])
SETUP = Setup(known_model("resnet50"), 0.1)


def result(setup: Setup = SETUP, ranks: tuple[int, ...] = (1, 4)) -> Result:
    steps = tuple(outcome(setup, COSTS, number) for number in ranks)
    tried = tuple(variants(setup, COSTS, ranks[-1], (MIB, 25 * MIB)))
    return Result(setup, "by hand", "10 Gbit/s", steps, tried)


def test_buckets_are_a_table():
    lines = bucket_text(SETUP).splitlines()
    assert lines[0] == "ResNet-50: 25,557,032 parameters in 161 tensors, 97.49 MiB of float32 gradients"
    assert [line.split()[1] for line in lines[3:]] == ["7.82", "30.04", "25.04", "25.32", "9.27"]
    assert lines[-1].split()[-2:] == ["layer3.0.bn3.bias", "conv1.weight"]


def test_it_is_said_whose_packing_it_is_and_that_there_are_two_stages():
    said = packing_sentence(SETUP)
    assert all(
        words in said for words in ("torch 2.13), caps 1 MiB and 25 MiB, 5 buckets", "second step", "1 in the first")
    )


def test_a_scaled_model_is_labelled():
    small = SETUP._replace(model=SETUP.model.scaled(1 / 64))
    assert small.model.label == "ResNet-50 scaled by 0.0156" and "scaled" in model_sentence(small)


def test_the_text_says_that_it_is_modelled_and_ends_with_the_answer():
    text = result_text(result())
    lines = text.splitlines()
    assert "ResNet-50, modelled" in lines[0]
    last = lines[-1]
    assert last.startswith("ResNet-50 on 4 ranks with 10 Gbit/s: a step takes 157 ms, 56.6 ms of it (36%) are exposed")
    assert "weak scaling" in last
    assert "step takes 100 ms; one rank" in answer(result(), result().outcomes[0])
    (four,) = [line.split() for line in lines if line.startswith("    4")]
    assert four == ["4", "ring", "157", "ms", "100", "ms", "123", "ms", "56.6", "ms", "54%", "63.8%"]
    assert "tree" in text and "35 sent" in text


def test_a_narrow_screen_gets_narrow_lines():
    assert max(map(len, result_text(result(), Screen(80)).splitlines())) <= 80


def test_a_step_with_a_lower_bound_says_or_more():
    steps = (outcome(SETUP, COSTS, 4)._replace(is_lower_bound=True),)
    tried = tuple(variant._replace(is_lower_bound=True) for variant in variants(SETUP, COSTS, 4, (MIB,)))
    bounded = Result(SETUP, "by hand", "10 Gbit/s", steps, tried)
    text = result_text(bounded)
    assert " ms ^ " in text and "^ or more (bound): " in text and " or more (bound), " in answer(bounded, steps[0])
    assert "^" not in result_text(result()) and "or more" not in result_text(result())

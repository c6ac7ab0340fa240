"""Guidelines that a library's own all-reduce breaks: those that were built in are found, and no others."""

import random

import pytest

from allreduce_bench.models.native.guidelines import MONOTONY, OTHER, REDUCED, SPLIT, broken_guidelines, comparisons
from allreduce_bench.stats import log_interval, median

SIZES = (1024, 2048, 4096, 8192)


def row(algorithm, nbytes, time_s, ranks=4, launches=5, noise=0.01, **more):
    """A row of `summarise`, a time and its noise between launches."""
    drawn = random.Random(f"{algorithm} {nbytes} {ranks}")
    medians = {str(launch): time_s * drawn.gauss(1, noise) for launch in range(launches)}
    low, high = log_interval(list(medians.values())) if launches > 2 else (0.9 * time_s, 1.1 * time_s)
    row = {"algorithm": algorithm, "executor": "native" if algorithm == "native" else "sendrecv", "ranks": ranks}
    row |= {"nbytes": nbytes, "cache": "warm", "groups": "", "launch_medians": medians, "time_low_s": low}
    interval = "launches" if launches > 2 else "range"
    return row | {"time_s": median(medians.values()), "time_high_s": high, "interval": interval, **more}


def linear(nbytes):
    return 1e-5 + 1e-8 * nbytes


def rows(native=linear, ring=lambda nbytes: 2 * linear(nbytes), name="ring", **more):
    return [
        one
        for nbytes in SIZES
        for one in (row("native", nbytes, native(nbytes), **more), row(name, nbytes, ring(nbytes), **more))
    ]


def broken(rows):
    return [(one.guideline, one.nbytes, one.rival) for one in comparisons(rows) if one.broken]


def test_an_honest_library_breaks_nothing():
    compared = comparisons(rows())
    assert not broken(rows()) and broken_guidelines(compared) == []
    assert {one.guideline for one in compared} == {OTHER, MONOTONY, SPLIT}
    assert len(compared) == 4 + 3 + 3


def test_a_faster_algorithm_is_named_with_factor_and_interval():
    slow = rows(ring=lambda nbytes: linear(nbytes) / (1.5 if nbytes > 1024 else 0.5))
    found = [one for one in comparisons(slow) if one.broken]
    assert [(one.guideline, one.nbytes) for one in found] == [(OTHER, nbytes) for nbytes in SIZES[1:]]
    for one in found:
        assert one.factor == pytest.approx(1.5, rel=0.03) and 0.99 * one.low < 1.5 < 1.01 * one.high
    (line,) = broken_guidelines(comparisons(slow))
    assert line["sizes"] == "2 KiB to 8 KiB" and line["rival"] == "ring" and line["ranks"] == "4"
    assert line["worst"].startswith("1.5") and "us" in line["worst"]


@pytest.mark.parametrize("name", ["tree", "parameter_server"])
def test_reduce_and_broadcast_is_a_guideline_of_its_own(name):
    assert broken(rows(ring=lambda nbytes: linear(nbytes) / 2, name=name)) == [(REDUCED, n, name) for n in SIZES]


def test_more_bytes_in_less_time_break_monotony():
    bump = rows(native=lambda nbytes: 1.5e-5 if nbytes == 2048 else 1e-5, ring=lambda nbytes: 1)
    assert [(one, nbytes) for one, nbytes, _ in broken(bump)] == [(MONOTONY, 2048)]


def test_a_jump_at_a_switch_breaks_the_split():
    jump = rows(native=lambda nbytes: linear(nbytes) * (5 if nbytes >= 4096 else 1), ring=lambda nbytes: 1)
    (found,) = [one for one in comparisons(jump) if one.broken]
    assert found.guideline == SPLIT and found.nbytes == 4096
    assert found.factor == pytest.approx(5 * linear(4096) / (2 * linear(2048)), rel=0.05)
    (line,) = broken_guidelines(comparisons(jump))
    assert line["sizes"] == "4 KiB" and "2 times" in line["worst"] and "at 2 KiB" in line["worst"]


def test_noise_hides_what_is_not_sure():
    little = {"native": linear, "ring": lambda nbytes: linear(nbytes) / 1.03}
    assert len([one for one in broken(rows(**little, noise=0.2)) if one[0] == OTHER]) <= 1  # of four at 95 %
    assert len([one for one in broken(rows(**little, noise=0.001)) if one[0] == OTHER]) == 0  # within 5 %
    more = {**little, "ring": lambda nbytes: linear(nbytes) / 1.08}
    assert len([one for one in broken(rows(**more, noise=0.001)) if one[0] == OTHER]) == len(SIZES)


def test_single_values_break_nothing():
    assert not broken(rows(ring=lambda nbytes: linear(nbytes) / 9, launches=1))


def test_other_ranks_caches_and_what_was_not_timed_are_not_held_against_each_other():
    fast = [
        row("ring", 1024, 1e-9, ranks=8),
        row("ring", 1024, 1e-9, cache="cold"),
        row("ring", 1024, 1e-9, groups="alone"),
    ]
    missing = {**row("ring", 1024, 1e-9), "time_s": None}
    assert not broken([row("native", 1024, 1e-5), *fast, missing])
    assert comparisons([row("native", 1024, 1e-5, ranks=1), row("ring", 1024, 1e-9, ranks=1)]) == []


def test_launches_in_two_states_are_held_against_nobody():
    slow = rows(ring=lambda nbytes: linear(nbytes) / 2)
    assert broken(slow) and not broken([{**one, "doubt": "two states"} for one in slow])

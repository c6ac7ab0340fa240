"""Guidelines that a library's own all-reduce violates: those that were built in are found, and no others."""

import pytest
from native_rows import SIZES, linear, native_row, rows_of_two

from allreduce_bench.evaluation.cell_times import competing
from allreduce_bench.message import say
from allreduce_bench.models.guidelines import (
    GUIDELINES,
    MADE,
    MONOTONY,
    SPLIT,
    comparisons,
    guidelines_sentence,
    slower_lines,
)
from allreduce_bench.runs.cell import MOCKUPS

REDUCE_BCAST, BLOCK, VECTOR = MOCKUPS


def rows(native=linear, made=lambda nbytes: 2 * linear(nbytes), names=(REDUCE_BCAST,), **more):
    """Native and mock-ups of it."""
    natives = [native_row("native", nbytes, native(nbytes), **more) for nbytes in SIZES]
    return natives + [native_row(name, nbytes, made(nbytes), **more) for name in names for nbytes in SIZES]


def violated(rows):
    return [(one.expected, one.nbytes, one.against) for one in comparisons(rows) if one.slower]


def test_an_honest_library_violates_nothing():
    honest = rows(names=MOCKUPS)
    compared = comparisons(honest)
    assert not violated(honest) and slower_lines(compared, GUIDELINES) == []
    assert [one.expected for one in compared].count(MONOTONY) == [one.expected for one in compared].count(SPLIT) == 3
    assert {one.expected for one in compared} == {*GUIDELINES} and len(compared) == 3 * 4 + 3 + 3
    assert guidelines_sentence(compared) == say("models.native_violates_no_guideline", compared_count=18)


@pytest.mark.parametrize("name", MOCKUPS)
def test_a_faster_mock_up_is_named_with_factor_and_interval(name):
    slow = rows(made=lambda nbytes: linear(nbytes) / (1.5 if nbytes > 1024 else 0.5), names=[name])
    found = [one for one in comparisons(slow) if one.slower]
    assert [(one.expected, one.nbytes, one.against) for one in found] == [(MADE[name], n, name) for n in SIZES[1:]]
    for one in found:
        assert one.factor == pytest.approx(1.5, rel=0.03) and 0.99 * one.low < 1.5 < 1.01 * one.high
    (line,) = slower_lines(comparisons(slow), GUIDELINES)
    assert line["sizes"] == "2 KiB to 8 KiB" and line["against"] == name and line["ranks"] == "4"
    assert line["worst"].startswith("1.5") and "us" in line["worst"]


def test_each_mock_up_is_a_guideline_of_its_own_by_the_names_of_its_functions():
    assert MADE[REDUCE_BCAST] == "no slower than MPI_Reduce + MPI_Bcast"
    assert MADE[BLOCK] == "no slower than MPI_Reduce_scatter_block + MPI_Allgather"
    assert MADE[VECTOR] == "no slower than MPI_Reduce_scatter + MPI_Allgatherv"
    slow = rows(made=lambda nbytes: linear(nbytes) / 2, names=MOCKUPS)
    assert {one[0] for one in violated(slow)} == {*MADE.values()}
    assert "slower than MPI_Reduce" in guidelines_sentence(comparisons(slow))


def test_our_own_algorithms_are_no_guideline():
    fast = [native_row("tree", nbytes, linear(nbytes) / 9) for nbytes in SIZES]
    assert not violated(rows() + fast)


def test_mock_ups_are_held_against_native_called_from_python():
    compiled = [{**row, "executor": "compiled"} for row in rows() if row["algorithm"] == "native"]
    made = [native_row(REDUCE_BCAST, nbytes, linear(nbytes) / 2) for nbytes in SIZES]
    assert {one.expected for one in comparisons(compiled + made)} == {MONOTONY, SPLIT}
    assert len(violated(rows(native=lambda nbytes: 2 * linear(nbytes), made=linear) + compiled)) == len(SIZES)


def test_mock_ups_do_not_compete():
    assert {row["algorithm"] for row in competing(rows(names=MOCKUPS))} == {"native"}


def test_more_bytes_in_less_time_break_monotony():
    bump = rows(native=lambda nbytes: 1.5e-5 if nbytes == 2048 else 1e-5, names=())
    assert [(one, nbytes) for one, nbytes, _ in violated(bump)] == [(MONOTONY, 2048)]


def test_a_jump_at_a_switch_breaks_the_split():
    jump = rows(native=lambda nbytes: linear(nbytes) * (5 if nbytes >= 4096 else 1), names=())
    (found,) = [one for one in comparisons(jump) if one.slower]
    assert found.expected == SPLIT and found.nbytes == 4096
    assert found.factor == pytest.approx(5 * linear(4096) / (2 * linear(2048)), rel=0.05)
    (line,) = slower_lines(comparisons(jump), GUIDELINES)
    assert line["sizes"] == "4 KiB" and "2 times" in line["worst"] and "at 2 KiB" in line["worst"]


def test_noise_hides_what_is_not_sure():
    def made(noise, factor):
        found = violated(rows(made=lambda nbytes: linear(nbytes) / factor, noise=noise))
        return [one for one in found if one[0] == MADE[REDUCE_BCAST]]

    assert len(made(0.2, 1.03)) <= 1  # of four at 95 %
    assert len(made(0.001, 1.03)) == 0  # within 5 %
    assert len(made(0.001, 1.08)) == len(SIZES)


def test_what_is_not_sure_or_was_not_timed_violates_nothing():
    def half(nbytes):
        return linear(nbytes) / 2

    slow = rows(made=half)
    assert violated(slow)
    assert not violated(rows(made=half, launches=1))
    assert not violated([{**one, "doubt": "two states"} for one in slow])
    assert comparisons([{**one, "grade": "not reliable"} for one in slow]) == []
    fast = [
        native_row(REDUCE_BCAST, 1024, 1e-9, **more) for more in ({"ranks": 8}, {"cache": "cold"}, {"groups": "alone"})
    ]
    missing = {**native_row(REDUCE_BCAST, 1024, 1e-9), "time_s": None}
    assert not violated([native_row("native", 1024, 1e-5), *fast, missing])
    assert comparisons([native_row(name, 1024, 1e-5, ranks=1) for name in ("native", REDUCE_BCAST)]) == []


def test_rows_of_other_tools_have_the_guidelines_of_sizes():
    """Logs of others name the library's algorithms; they are no mock-ups."""
    forced = [
        {**row, "algorithm": "native:ring"}
        for row in rows_of_two(native=lambda nbytes: 1e-5)
        if row["algorithm"] == "native"
    ]
    assert {one.expected for one in comparisons(forced)} == {MONOTONY, SPLIT}

"""What the library's other operations make of an all-reduce: those that beat native are found, and no others."""

import pytest
from native_rows import SIZES, linear, native_row

from allreduce_bench.evaluation.parts import part_comparisons, parts_sentence
from allreduce_bench.runs.competitor import MOCKUPS
from allreduce_bench.units import three_digits

REDUCE_BCAST, BLOCK, VECTOR = MOCKUPS


def rows(native=linear, made=lambda size_bytes: 2 * linear(size_bytes), names=(REDUCE_BCAST,), **more):
    """Native and mock-ups of it."""
    natives = [native_row("native", size_bytes, native(size_bytes), **more) for size_bytes in SIZES]
    return natives + [native_row(name, size_bytes, made(size_bytes), **more) for name in names for size_bytes in SIZES]


def slower(rows):
    return [(one.size_bytes, one.against) for one in part_comparisons(rows) if one.slower]


def test_a_library_that_is_faster_than_its_parts_is_told_nothing():
    compared = part_comparisons(rows(names=MOCKUPS))
    assert len(compared) == 3 * len(SIZES) and not any(one.slower for one in compared)
    assert parts_sentence(compared) == ""


@pytest.mark.parametrize("name", MOCKUPS)
def test_a_faster_mock_up_is_named_with_its_factor(name):
    compared = part_comparisons(
        rows(made=lambda size_bytes: linear(size_bytes) / (1.5 if size_bytes > 1024 else 0.5), names=[name])
    )
    found = [one for one in compared if one.slower]
    assert [(one.size_bytes, one.against) for one in found] == [(n, name) for n in SIZES[1:]]
    for one in found:
        assert one.factor == pytest.approx(1.5, rel=0.03)
    worst = max(found, key=lambda one: one.factor)
    assert parts_sentence(compared).startswith(f"{name} of the same library beats native on 4 ranks at ")
    assert f"takes {three_digits(worst.factor)} times" in parts_sentence(compared)


def test_our_own_algorithms_are_no_parts():
    fast = [native_row("tree", size_bytes, linear(size_bytes) / 9) for size_bytes in SIZES]
    assert not slower(rows() + fast)


def test_mock_ups_are_held_against_native_called_from_python():
    compiled = [{**row, "competitor": "native@compiled"} for row in rows() if row["competitor"] == "native"]
    made = [native_row(REDUCE_BCAST, size_bytes, linear(size_bytes) / 2) for size_bytes in SIZES]
    assert part_comparisons(compiled + made) == []
    assert len(slower(rows(native=lambda size_bytes: 2 * linear(size_bytes), made=linear) + compiled)) == len(SIZES)


def test_noise_hides_what_is_not_sure():
    def made(noise, factor):
        return slower(rows(made=lambda size_bytes: linear(size_bytes) / factor, noise=noise))

    assert len(made(0.2, 1.03)) <= 1  # of four at 95 %
    assert len(made(0.001, 1.03)) == 0  # within 5 %
    assert len(made(0.001, 1.08)) == len(SIZES)


def test_what_is_not_sure_or_was_not_timed_beats_nothing():
    def half(size_bytes):
        return linear(size_bytes) / 2

    fast = rows(made=half)
    assert slower(fast)
    assert not slower(rows(made=half, launches=1))
    assert not slower([{**one, "doubt": "two states"} for one in fast])
    assert part_comparisons([{**one, "grade": "not reliable"} for one in fast]) == []
    others = [native_row(REDUCE_BCAST, 1024, 1e-9, ranks=8)]
    missing = {**native_row(REDUCE_BCAST, 1024, 1e-9), "time_s": None}
    assert not slower([native_row("native", 1024, 1e-5), *others, missing])
    assert part_comparisons([native_row(name, 1024, 1e-5, ranks=1) for name in ("native", REDUCE_BCAST)]) == []

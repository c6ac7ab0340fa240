"""What a user can set: algorithms of the library that are faster than its default, and what says so."""

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.settable import find_settable, lacks_settable
from allreduce_bench.evaluation.summary import summarise

SIZES = (8, 1024, 1 << 16, 1 << 20)
NAMES = ("native", "native:default", "native:ring", "native:rabenseifner")


def made(tmp_path, faster_at, names=NAMES, launches=5, sizes=SIZES):
    """Times of a run in which native:ring takes half as long as the default at the sizes `faster_at`."""

    def factor(_, cell):
        return 0.5 if cell.competitor == "native:ring" and cell.size_bytes in faster_at else 1.0

    run = build_run(tmp_path / "run", algorithms=names, sizes=sizes, ranks=(4,), launches=launches, factor=factor)
    return run.plan(), summarise(run)


def test_a_gain_is_a_stretch_of_the_fastest_beside_the_control(tmp_path):
    _, rows = made(tmp_path, SIZES[2:])
    found = find_settable([rows])
    (gain,) = found.gains
    assert (found.control, found.tried) == ("native:default", 2)
    assert (gain.name, gain.sizes, gain.launches) == ("native:ring", (1 << 16, 1 << 20), 5)
    assert 1.5 < gain.worst <= gain.least <= gain.most < 2.6


@pytest.mark.parametrize("faster_at, launches", [((), 5), (SIZES[3:], 5), (SIZES, 3)])
def test_nothing_gains_without_two_sizes_and_five_launches(tmp_path, faster_at, launches):
    _, rows = made(tmp_path, faster_at, launches=launches)
    assert find_settable([rows]).gains == ()


def test_native_is_the_control_where_the_default_was_not_measured(tmp_path):
    _, rows = made(tmp_path, SIZES, names=("native", "native:ring"))
    assert find_settable([rows]).control == "native" and find_settable([rows]).gains


@pytest.mark.parametrize(
    "names, lacks", [(("native", "ring"), True), (("native",), False), (("ring", "tree"), False), (NAMES, False)]
)
def test_whoever_measured_nothing_that_can_be_set_is_told(tmp_path, names, lacks):
    plan, rows = made(tmp_path, (), names=names)
    assert lacks_settable(plan, rows) is lacks
    assert (find_settable([rows]) is None) == (names != NAMES)

"""A tiny sample of `make ratios`: both sides are timed on each MPI, and what cannot be is skipped by name."""

from pathlib import Path

import pytest
import ratio_lab
import ratios
from interpreters import in_turn, interpreters
from ratio_rows import MPICH, OPEN_MPI, ROWS, Goal, Row, both

from allreduce_bench.report.ratio_table import read_ratios

UNMET = both(Goal(low=1e9))


def row(ours, rival, definition="max"):
    return Row("a ratio", 2, 4, ours, rival, UNMET, definition=definition)


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_ratio_is_measured_judged_and_kept(python, tmp_path):
    in_turn(0, python)
    side = ratios.side_of(str(python), tmp_path)
    assert side.mpi in (OPEN_MPI, MPICH)
    ours = ("ring/sendrecv", "ring/unheard-of")
    (found,) = [ratios.measured(row(ours, "plain_ring"), side, 2, 0.05)]
    assert found.by == "ring/sendrecv" and found.low <= found.ratio <= found.high and found.met is False
    skipped = ratios.measured(row(ours[1:], "native/native"), side, 1, 0.05)
    assert skipped.ratio is None and skipped.by == "skipped: there is no executor unheard-of"
    history = tmp_path / "ratios.csv"
    ratios.append(history, [found])
    ratios.append(history, [skipped])
    kept = read_ratios(history)
    assert kept[0]._replace(ratio=None, low=None, high=None) == found._replace(ratio=None, low=None, high=None)
    assert kept[0].ratio == pytest.approx(found.ratio, rel=1e-4) and kept[1] == skipped


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_the_loop_in_c_is_one_of_the_rivals_where_it_can_be_compiled(python, tmp_path):
    in_turn(1, python)
    side = ratios.side_of(str(python), tmp_path)
    found = ratios.measured(row(("native/native",), "osu_loop", "osu"), side, 1, 0.05)
    assert (found.ratio is not None) == bool(side.library), found
    found = ratios.measured(row(("native/native",), "osu_loop", "osu"), side._replace(library=""), 1, 0.05)
    assert found.by == "skipped: no mpicc or no header of this MPI"


def test_goals_say_what_they_are():
    assert [goal.words for goal in (Goal(1.8), Goal(high=1.05), Goal(0.95, 1.05))] == [
        ">= 1.8",
        "<= 1.05",
        "0.95 to 1.05",
    ]
    assert Goal(1.8).met(1.8) and not Goal(1.8).met(1.7) and not Goal(0.95, 1.05).met(1.06)
    assert len({row.what for row in ROWS}) == len(ROWS)


def test_the_upper_end_may_have_to_meet_the_goal():
    assert ratios.judged(MPICH, "a", Goal(high=1.05), [0.9, 1.1], "x", "").met
    assert not ratios.judged(MPICH, "a", Goal(high=1.05), [0.9, 1.1], "x", "", upper=True).met


def test_shares_are_read_from_a_run():
    run = Path(__file__).parents[2] / "docs" / "example"
    medians = ratio_lab.medians_of(run)
    assert len(medians) == len(list((run / "launches").glob("*.json")))
    assert all({"native", "ring"} <= set(times) for times in medians)

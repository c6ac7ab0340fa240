"""A tiny sample of `make ratios`: both sides are timed on each MPI, and what cannot be is skipped by name."""

from pathlib import Path

import pytest
import ratio_lab
import ratio_peers
import ratios
from interpreters import in_turn, interpreters
from ratio_history import read_ratios
from ratio_rows import (
    AIM,
    HOLDS_ONE,
    LAB_ROWS,
    MPICH,
    OPEN_MPI,
    PEER_ROWS,
    ROWS,
    SERIES,
    SHOWN,
    Goal,
    PeerRow,
    Row,
    Series,
    everywhere,
)

from allreduce_bench.runs.library_algorithms import variables_at_start
from allreduce_bench.runs.rows import RunError

UNMET = everywhere(Goal(low=1e9))


def row(ours, rival, definition="max"):
    return Row("a ratio", 2, 4, ours, (rival,), UNMET, definition=definition)


@pytest.mark.slow
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_ratio_is_measured_judged_and_kept(python, tmp_path):
    in_turn(0, python)
    side = ratios.side_of(str(python), tmp_path)
    assert side.mpi in (OPEN_MPI, MPICH)
    ours = ("ring/sendrecv", "ring/unheard-of")
    answer = ratios.measured(row(ours, "plain_ring"), side, 4, 0.05)
    assert len(answer.values) == 2  # the other half chose
    found = ratios.judged(side.mpi, "a ratio", UNMET[side.mpi], answer)
    assert found.by == "ring/sendrecv" and found.low <= found.ratio <= found.high and found.met is False
    answer = ratios.measured(row(ours[1:], "native/native"), side, 2, 0.05)
    skipped = ratios.judged(side.mpi, "a ratio", UNMET[side.mpi], answer)
    assert skipped.ratio is None and skipped.by == "skipped: there is no executor unheard-of"
    history = tmp_path / "ratios.csv"
    ratios.append(history, [found])
    ratios.append(history, [skipped])
    kept = read_ratios(history)
    assert kept[0]._replace(ratio=None, low=None, high=None) == found._replace(ratio=None, low=None, high=None)
    assert kept[0].ratio == pytest.approx(found.ratio, rel=1e-4) and kept[1] == skipped


def test_intel_mpi_is_told_its_ring_from_the_start_of_a_launch():
    rivals = ("native:ring/compiled", "ring/compiled")
    assert ratios.told_at_start(ratios.INTEL, rivals) == variables_at_start("native:ring", ratios.INTEL) != {}
    assert ratios.told_at_start(ratios.INTEL, (*rivals, "native:rabenseifner/compiled")) == {}
    assert ratios.told_at_start(MPICH, rivals) == {}


def test_both_sides_are_chosen_on_launches_that_are_not_reported(monkeypatch):
    asked = []

    def launch(side, ranks, question, level):
        asked.append(question["rivals"])
        factors = {"a": 1.0, "b": 2.0, "c": 0.5, "d": 4.0}
        first = factors[next(name for name in question["rivals"] if name in factors)]
        times = {name: 1 / factors[name] for name in question["rivals"] if name in factors}
        ratios_of = {name: factors[name] / first for name in times}
        return {"times": times, "ratios": ratios_of, "absent": {"no": "not here"}}

    monkeypatch.setattr(ratios, "launch", launch)
    found = ratios.measured(row(("c", "d"), "")._replace(theirs=("no", "a", "b")), ratios.Side("", MPICH, ""), 4, 0.05)
    assert (found.values, found.by) == ([2.0, 2.0], "d against b")
    assert asked[-2:] == [["b", "d"]] * 2 and asked[:2] == [["no", "a", "b", "c", "d"]] * 2


def test_ranks_that_outnumber_cores_are_measured_at_the_level_of_run(monkeypatch):
    levels = []

    def launch(side, ranks, question, level):
        levels.append(level)
        return {"times": {"a": 1.0, "c": 1.0}, "ratios": {"a": 1.0, "c": 1.0}, "absent": {}}

    monkeypatch.setattr(ratios, "launch", launch)
    monkeypatch.setattr(ratios.os, "cpu_count", lambda: 2)
    for ranks in (2, 4):
        ratios.measured(row(("c",), "a")._replace(ranks=ranks), ratios.Side("", MPICH, ""), 4, 0.05)
    assert set(levels[:6]) == {"single", "multiple"} and levels[6:] == ["multiple"] * 4


def test_tables_of_others_are_read():
    text = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    text += "            0        20000         0.04         0.44         0.24\n"
    text += "            4        20000         0.86         0.88         0.87\n"
    text += "     16777216           50      9954.38      9957.80      9956.09\n"
    assert ratio_peers.imb_table(text) == {4: (2, 20000, 0.87), 16777216: (0, 50, 9956.09)}


def test_a_row_without_its_peer_is_skipped_by_name(monkeypatch):
    monkeypatch.delenv("OSU_HOME", raising=False)
    found = [*ratios.peer_ratios(ratios.Side("./absent/bin/python", OPEN_MPI, ""), "4 B, 2 ranks", 4)]
    assert [row.what for row in found] == ["native of the compiled loop against osu_allreduce, 4 B, 2 ranks"]
    assert found[0].by == "skipped: OSU_HOME names no OSU Micro-Benchmarks, and its stand-in needs mpicc"


def test_point_and_interval_are_of_one_estimator():
    low, high = ratios.interval([0.5, 2.0])
    found = ratios.judged(MPICH, "a", SHOWN, ratios.Measured([0.5, 2.0], "x"))
    assert (found.ratio, found.met) == (pytest.approx(1.0), None) and low * high == pytest.approx(1.0)
    assert high == pytest.approx(79.5, rel=0.01)  # exp(6.314 * log 2), one degree of freedom


def test_sizes_make_a_geometric_mean_and_a_worst_one(monkeypatch):
    answers = {4096: [1.0, 4.0], 16384: [4.0, 1.0], 65536: [3.0, 3.0]}
    monkeypatch.setattr(
        ratios, "measured", lambda row, *rest: ratios.Measured(answers[row.size_bytes], "ours", "single")
    )
    series = Series("all", tuple(row for row in SERIES[0].rows if row.size_bytes in answers))
    *_, mean, worst = ratios.series_ratios(ratios.Side("", MPICH, ""), series, "", 4, 1.0)
    assert mean.ratio == pytest.approx((2 * 2 * 3) ** (1 / 3))
    assert worst.ratio == pytest.approx(2.0) and worst.by == "4 KiB: ours"


def test_rows_are_added_to_a_history_and_to_nothing_else(tmp_path):
    history, other = tmp_path / "ratios.csv", tmp_path / "other.csv"
    for _ in range(2):
        ratios.append(history, [ratios.judged(MPICH, "a ratio", SHOWN, ratios.Measured([1.5, 1.5], "ring/sendrecv"))])
    assert [(row.ratio, row.placement) for row in read_ratios(history)] == [(1.5, "page")] * 2
    other.write_text("a,b\n")
    with pytest.raises(RunError, match="expected the columns"):
        ratios.append(other, [])


def test_goals_say_what_they_are():
    assert [goal.words for goal in (Goal(1.8), Goal(high=1.05), Goal(0.95, 1.05))] == [
        ">= 1.8",
        "<= 1.05",
        "0.95 to 1.05",
    ]
    assert Goal(1.8).met(1.8) and not Goal(1.8).met(1.7) and not Goal(0.95, 1.05).met(1.06)
    rows: list = [*ROWS, *PEER_ROWS, *LAB_ROWS, *(row for series in SERIES for row in series.rows)]
    assert len({row.what for row in rows}) == len(rows)
    assert all({*row.goals} == {*everywhere(SHOWN)} for row in rows if not isinstance(row, PeerRow))


@pytest.mark.parametrize(
    ("goal", "words", "met", "missed"),
    [
        (Goal(0.95, 1.05, "interval"), "0.95 to 1.05 (interval)", (1.0, 0.96, 1.04), (1.0, 0.96, 1.06)),
        (Goal(high=1.05, of="upper end"), "<= 1.05 (upper end)", (1.0, 0.5, 1.05), (1.0, 0.9, 1.1)),
        (
            Goal(high=1.05, of="upper end", reaches=1.0),
            "<= 1.05 (upper end), reaches 1",
            (1.02, 1.0, 1.04),
            (1.02, 1.01, 1.04),
        ),
        (HOLDS_ONE, "interval holds 1", (1.2, 0.9, 1.5), (1.2, 1.1, 1.5)),
    ],
)
def test_the_interval_may_have_to_meet_the_goal(goal, words, met, missed):
    assert (goal.words, goal.met(*met), goal.met(*missed)) == (words, True, False)


def test_what_is_wished_for_or_shown_is_neither_met_nor_missed():
    assert (AIM.words, AIM.met(1.0), SHOWN.words, SHOWN.met(9.0)) == ("aim >= 1.8", None, "", None)


def test_shares_are_read_from_a_run():
    run = Path(__file__).parents[2] / "docs" / "example"
    medians = ratio_lab.medians_of(run)
    assert len(medians) == len(list((run / "launches").glob("*.json")))
    assert all({"native", "ring"} <= set(times) for times in medians)

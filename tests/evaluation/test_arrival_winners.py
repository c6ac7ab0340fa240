"""Who suffers least from which arrival pattern: by ratios within launches, and only where it is shown."""

import random

import pytest
from made_rows import made_row, rank

from allreduce_bench.evaluation.winners_elsewhere import arrival_winners

LAUNCHES = 6


def rows_of(ratios, nbytes=1024, noise=0.02, seed=1, **changed):
    """Rows of `ratios`: algorithm -> pattern -> completion over that of 100 us without delays, with noise."""
    drawn = random.Random(seed)
    rows = []
    for algorithm, by_pattern in ratios.items():
        for pattern, ratio in {"": 1.0, **by_pattern}.items():
            medians = [1e-4 * ratio * drawn.gauss(1, noise) for _ in range(LAUNCHES)]
            completion = {f"2r-{number}": median for number, median in enumerate(medians, start=1)}
            facts = {"completion_s": sorted(medians)[LAUNCHES // 2], "completion_medians": completion}
            late = {"arrival": pattern, "late_by_s": 1e-4 if pattern else None}
            rows.append(made_row(algorithm, nbytes, medians, **facts, **late, **changed))
    return rank(rows)


def test_nothing_is_said_where_nobody_was_delayed():
    assert arrival_winners(rows_of({"ring": {}, "tree": {}})) == [] == arrival_winners([])


def test_who_suffers_least_from_which_pattern_is_named():
    lines = arrival_winners(rows_of({"ring": {"ramp": 0.5, "one-late": 2.0}, "tree": {"ramp": 0.9, "one-late": 1.2}}))
    assert [(line.arrival, line.late_by_s) for line in lines] == [("", None), ("ramp", 1e-4), ("one-late", 1e-4)]
    assert [line.least for line in lines] == ["", "ring", "tree"]
    assert [line.fastest for line in lines] == ["", "ring", "tree"]  # at first both take as long
    ring = lines[1].times[0]
    assert ring.algorithm == "ring" and ring.ratio == pytest.approx(0.5, rel=0.1)
    assert ring.ratio_low < ring.ratio < ring.ratio_high
    assert lines[0].times[0].ratio is None


def test_the_fastest_need_not_be_who_suffers_least():
    rows = rows_of({"ring": {"ramp": 0.5}, "tree": {"ramp": 0.9}})
    for row in rows:
        if row["competitor"] == "ring":  # ten times as slow as the other one, delayed or not
            for name in ("launch_medians", "completion_medians"):
                row[name] = {launch: 10 * median for launch, median in row[name].items()}
            row["time_s"] *= 10
            row["completion_s"] *= 10
    line = arrival_winners(rank(rows))[1]
    assert (line.fastest, line.least) == ("tree", "ring")


@pytest.mark.parametrize("seed", range(5))
def test_equal_ratios_are_unclear(seed):
    rows = rows_of({name: {"ramp": 1.3, "random": 1.3} for name in ("ring", "tree", "naive")}, noise=0.1, seed=seed)
    assert {line.least for line in arrival_winners(rows)} == {""}


def test_two_launches_doubted_times_and_a_missing_rival_show_nothing():
    rows = rows_of({"ring": {"ramp": 0.5}, "tree": {"ramp": 0.9}})
    for row in rows:
        row["completion_medians"] = dict(list(row["completion_medians"].items())[:2])
    few = arrival_winners(rows)[1]
    assert few.least == "" and few.times[0].ratio is not None and few.times[0].ratio_low is None
    doubted = rows_of({"ring": {"ramp": 0.5}, "tree": {"ramp": 0.9}})
    for row in doubted:
        row["doubt"] = "invalid calls" if row["competitor"] == "ring" else None
    assert [(line.least, line.times[0].ratio) for line in arrival_winners(doubted)] == [("", None)] * 2
    assert arrival_winners(rows_of({"ring": {"ramp": 0.5}}))[1].least == ""


def test_rows_with_delays_do_not_compete_with_the_others():
    rows = rows_of({"ring": {"ramp": 0.1}, "tree": {"ramp": 5.0}})
    usual = [row for row in rows if not row["arrival"]]
    alone = rank([{**row} for row in usual])
    assert [row["standing"] for row in usual] == [row["standing"] for row in alone]

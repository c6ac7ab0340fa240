"""Who is fastest, equal, unclear or slower."""

import random

import pytest
from made_rows import made_row, rank, ranked_rows, standings

from allreduce_bench.runs.schema import EQUAL, FASTEST, SLOWER, UNCLEAR

SIZES = (8, 64, 512, 4096, 32768)


def noisy(centre_s: float, launches: int = 5, spread: float = 0.01, seed: object = 0) -> list[float]:
    return [centre_s * random.Random(f"{seed} {launch}").lognormvariate(0, spread) for launch in range(launches)]


def test_whoever_is_shown_to_be_faster_than_all_is_the_fastest():
    rows = ranked_rows({(name, 8): noisy(s, seed=name) for name, s in (("ring", 1.0), ("tree", 1.5), ("native", 2.0))})
    assert standings(rows) == {("ring", 8): FASTEST, ("tree", 8): SLOWER, ("native", 8): SLOWER}


def test_two_that_are_as_fast_share_the_lead_and_nobody_wins():
    times = {"ring": 1.0, "tree": 1.001, "native": 2.0}
    rows = ranked_rows({(name, 8): noisy(s, spread=0.002, seed=name) for name, s in times.items()})
    assert standings(rows) == {("ring", 8): EQUAL, ("tree", 8): EQUAL, ("native", 8): SLOWER}


def test_where_all_are_equal_nobody_wins():
    rows = ranked_rows({(name, 8): noisy(1.0, spread=0.002, seed=name) for name in ("ring", "tree", "native")})
    assert set(standings(rows).values()) == {EQUAL}


def test_where_launches_differ_by_more_than_algorithms_nothing_is_clear():
    medians_s = {"ring": 1.0, "tree": 1.1}
    cells = {
        (name, size_bytes): noisy(s, spread=0.5, seed=f"{name} {size_bytes}")
        for name, s in medians_s.items()
        for size_bytes in SIZES
    }
    assert set(standings(ranked_rows(cells)).values()) == {UNCLEAR}


@pytest.mark.parametrize("launches", [1, 2, 4])
def test_few_launches_name_nobody(launches):
    cells = {(name, 8): [s] * launches for name, s in (("ring", 1.0), ("tree", 1.5), ("naive", 300.0))}
    assert {*standings(ranked_rows(cells)).values()} == {UNCLEAR}


def test_whoever_is_slower_than_any_other_one_is_slower():
    cells = {("ring", 8): [1.0, 1.3, 1.0, 1.3, 1.0], ("tree", 8): [1.02] * 5, ("naive", 8): [1.2] * 5}
    assert standings(ranked_rows(cells)) == {("ring", 8): UNCLEAR, ("tree", 8): UNCLEAR, ("naive", 8): SLOWER}


def test_one_algorithm_alone_is_not_ranked():
    rows = ranked_rows({("ring", 8): noisy(1.0)}) + ranked_rows({("ring", 0): [1.0], ("tree", 0): [2.0]})
    assert {row["standing"] for row in rows} == {None}


def test_a_doubted_time_neither_wins_nor_lets_another_win_that_it_may_beat():
    times = {"ring": 1.0, "tree": 2.0, "native": 3.0}
    rows = [made_row(name, 8, noisy(s, seed=name)) for name, s in times.items()]
    rows[0]["call_floor_s"] = 1.5
    rows = rank(rows)
    assert standings(rows) == {("ring", 8): None, ("tree", 8): UNCLEAR, ("native", 8): SLOWER}
    rows[0] |= {"call_floor_s": None, "invalid": 0}
    rows[2]["invalid"] = 1000
    rows = rank(rows)
    assert standings(rows) == {("ring", 8): FASTEST, ("tree", 8): SLOWER, ("native", 8): None}


def test_times_that_are_not_reliable_have_no_winner():
    rows = [made_row(name, 8, noisy(s, seed=name)) for name, s in (("ring", 1.0), ("tree", 2.0), ("naive", 9.0))]
    assert [row["standing"] for row in rank(rows, "provisional")] == [FASTEST, SLOWER, SLOWER]
    assert FASTEST not in {row["standing"] for row in rank(rows, "not reliable")}


def test_imported_means_count_as_many_calls():
    rows = rank([
        made_row(name, 8, noisy(s, seed=name), imported=True, repetitions=5)
        for name, s in (("ring", 1.0), ("tree", 2.0))
    ])  # fmt: skip
    assert standings(rows)["ring", 8] == FASTEST

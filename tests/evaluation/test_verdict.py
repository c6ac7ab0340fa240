"""Who wins which stretch of sizes, and when nobody does."""

import random

import pytest
from made_rows import made_row, made_rows, rank, ranked_rows

from allreduce_bench.evaluation import verdict as reasons
from allreduce_bench.evaluation.verdict import Probable, verdicts

SIZES = [8 * 4**k for k in range(8)]


def cells(factor, launches: int = 5, spread: float = 0.01, names=("native", "ring", "tree")) -> dict:
    """Medians of launches: `factor(name, size_bytes)` with noise; None: not measured."""
    return {
        (name, n): [s * random.Random(f"{name} {n} {i}").lognormvariate(0, spread) for i in range(launches)]
        for name in names
        for n in SIZES
        if (s := factor(name, n))
    }


def verdict_of(*words, **options):
    (verdict,) = verdicts(ranked_rows(cells(*words, **options)))
    return verdict


def test_one_who_is_fastest_at_every_size_wins_them_all():
    (stretch,) = (won := verdict_of(lambda name, n: {"ring": 1.0, "native": 2.0}.get(name, 3.0))).stretches
    assert (stretch.low, stretch.high, stretch.leaders, stretch.is_won) == (8, SIZES[-1], ("ring",), True)
    advantage = stretch.advantage
    assert (advantage.rival, len(advantage.times_s), advantage.launches) == ("native", len(SIZES), 5)
    ratios = [rival_s / leader_s for rival_s, leader_s in advantage.times_s]
    assert advantage.worst <= min(ratios) and ratios == pytest.approx([2] * len(SIZES), rel=0.03)
    assert advantage.worst == pytest.approx(2, rel=0.07)
    assert (stretch.exceptions, won.hand_overs, won.unclear, won.reason) == ((), (), (), "")


def test_a_winner_hands_over_to_the_next():
    def factor(name, n):
        return {"native": 1 + n / 1000, "ring": 3 + n / 3000}.get(name, 20 + n)

    won = verdict_of(factor)
    assert [stretch.leaders[0] for stretch in won.stretches] == ["native", "ring"]
    assert all(stretch.is_won for stretch in won.stretches)
    (over,) = won.hand_overs
    assert over.size_bytes == pytest.approx(3000, rel=0.1)
    assert [(s.low, s.high) for s in won.stretches] == [(8, 2048), (8192, SIZES[-1])]


def test_the_worst_round_may_be_below_one():
    rows = ranked_rows(cells(lambda name, n: {"ring": 1.0}.get(name, 2.0), launches=10))
    medians = next(row for row in rows if row["competitor"] == "native")["launch_medians"]
    medians[next(iter(medians))] = 0.5
    (stretch,) = verdicts(rank(rows))[0].stretches
    assert stretch.is_won and stretch.advantage.worst == pytest.approx(0.5, rel=0.05)


def test_the_reference_of_a_compiled_competitor_is_native_compiled():
    names = ("native", "native@compiled", "ring@compiled", "tree")
    times = {"ring@compiled": 1.0, "native@compiled": 1.5, "native": 3.0}
    (stretch,) = verdict_of(lambda name, n: times.get(name, 4.0), names=names).stretches
    assert (stretch.leaders, stretch.advantage.rival) == (("ring@compiled",), "native@compiled")


def test_noise_makes_no_bands():
    """ring wins but for one size, where nothing can be told, and one, where tree is lower by chance."""
    rows = ranked_rows(cells(lambda name, n: {"ring": 1.0}.get(name, 1.3)))
    for row in rows:
        if (row["competitor"], row["size_bytes"]) == ("tree", SIZES[3]):
            row |= made_row("tree", SIZES[3], [0.5, 3.0, 0.7, 0.9, 2.0])
    (won,) = verdicts(rank(rows))
    assert [(s.low, s.high, s.leaders, s.exceptions) for s in won.stretches] == [(8, SIZES[-1], ("ring",), (SIZES[3],))]
    assert len(won.stretches[0].advantage.times_s) == len(SIZES) - 1


def test_leaders_that_cannot_be_told_apart_are_named_together():
    rows = ranked_rows(cells(lambda name, n: {"native": 3.0}.get(name, 1.0), spread=0.1))
    (stretch,) = verdicts(rows)[0].stretches
    assert set(stretch.leaders) == {"ring", "tree"} and not stretch.is_won and not stretch.is_equal
    assert stretch.advantage.rival == "native"


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"names": ("ring",)}, reasons.ONE),
        ({"launches": 2}, reasons.FEW_LAUNCHES),
        ({"spread": 0.5}, reasons.NOISE),
        ({"spread": 0.001}, reasons.ALL_EQUAL),
    ],
)
def test_without_a_winner_the_reason_is_a_fact(options, reason):
    found = verdict_of(lambda name, n: 1.0, **options)
    assert found.reason == reason and not found.stretches and not found.hand_overs


def test_equal_sizes_do_not_part_the_sizes_of_a_winner_and_unclear_ones_do():
    equal = ranked_rows(
        {
            (name, n): [s] * 5
            for n, ring_s in ((8, 2.0), (64, 1.02), (512, 2.0))
            for name, s in (("native", 1.0), ("ring", ring_s))
        }
    )
    (won,) = verdicts(equal)[0].stretches
    assert (won.low, won.high, won.exceptions, won.is_won) == (8, 512, (64,), True)
    noisy = {("ring", 64): [0.5, 2.0, 0.5, 2.0, 1.1], ("native", 64): [1.0] * 5}
    parted = verdicts(
        ranked_rows({(row["competitor"], row["size_bytes"]): [row["time_s"]] * 5 for row in equal} | noisy)
    )
    assert not parted[0].stretches[0].is_won
    assert parted[0].single == ((8, "native"), (512, "native")) and parted[0].unclear == ()


def test_the_second_fastest_may_be_another_one_at_each_size():
    times_s = {8: {"native": 1.0, "ring": 1.3, "tree": 2.5}, 64: {"native": 1.0, "ring": 2.0, "tree": 1.2}}
    (found,) = verdicts(
        ranked_rows({(name, n): [s] * 5 for n, of_size in times_s.items() for name, s in of_size.items()})
    )
    assert found.stretches[0].advantage.rival == ""
    assert found.stretches[0].advantage.times_s == ((1.3, 1.0), (1.2, 1.0))


def test_few_launches_say_who_is_probably_the_fastest():
    def factor(name, n):
        return {"native": 1 + n / 1000, "ring": 3 + n / 3000}.get(name, 20 + n)

    found = verdict_of(factor, launches=2)
    assert found.reason == reasons.FEW_LAUNCHES
    assert found.probable == (Probable("native", 8, 512), Probable("ring", SIZES[5], SIZES[-1]))
    assert verdict_of(factor, launches=1).probable == ()
    alone = verdict_of(lambda name, n: 0.5 if (name, n) == ("ring", SIZES[3]) else 1.0, launches=2)
    assert alone.probable == ()  # at one size of several it is often chance


def test_the_fastest_at_one_of_many_sizes_has_no_stretch_but_at_the_only_one_it_has():
    def factor(name, n):
        return 0.5 if (name, n) == ("ring", 512) else 1.0

    found = verdict_of(factor, spread=0.001)
    assert (found.reason, found.stretches) == (reasons.ALONE, ())
    rows = ranked_rows({cell: times_s for cell, times_s in cells(factor, spread=0.001).items() if cell[1] == 512})
    (stretch,) = verdicts(rows)[0].stretches
    assert (stretch.leaders, stretch.is_won, stretch.low, stretch.high) == (("ring",), True, 512, 512)


def test_doubts_are_a_reason():
    doubted = [made_row(name, 8, [s, 1.01 * s, s, s, s]) for name, s in (("native", 1.0), ("ring", 2.0), ("tree", 3.0))]
    doubted[0]["call_floor_s"] = 1.5
    assert verdicts(rank(doubted))[0].reason == reasons.DOUBTED


def test_times_that_are_not_reliable_have_no_verdict():
    rows = ranked_rows(cells(lambda name, n: {"ring": 1.0}.get(name, 2.0)))
    (found,) = verdicts(rank(rows, "not reliable"))
    assert (found.grade, found.reason, found.stretches) == ("not reliable", reasons.UNRELIABLE, ())


def test_who_is_not_ranked_everywhere_is_absent_and_a_size_beyond_is_unclear():
    def factor(name, n):
        return None if name == "tree" and n < 100 else {"ring": 1.0, "native": 2.0}.get(name, 3.0)

    assert verdict_of(factor).stretches[0].absent == ("tree",)
    rows = ranked_rows(cells(lambda name, n: 1.0 if n == 8 else {"ring": 1.0}.get(name, 2.0), spread=0.05))
    (found,) = verdicts(rows)
    assert found.unclear == (8,) and found.stretches[0].low == SIZES[1]


def test_one_rank_has_no_verdict():
    assert verdicts(ranked_rows({("ring", 8): [1.0] * 3, ("tree", 8): [2.0] * 3}, ranks=1)) == []


def test_who_has_no_time_at_a_size_may_be_the_fastest_there_and_hands_over_to_nobody():
    def factor(name, n):
        return None if name == "ring" and n == SIZES[4] else {"ring": 1.0, "native": 2.0}.get(name, 3.0)

    (stretch,) = (won := verdict_of(factor)).stretches
    assert (stretch.leaders, stretch.low, stretch.high, stretch.exceptions) == (("ring",), 8, SIZES[-1], (SIZES[4],))
    assert won.hand_overs == ()
    last = verdict_of(lambda name, n: None if name == "ring" and n == SIZES[-1] else factor(name, n))
    assert last.hand_overs == () and last.stretches[0].high == SIZES[-2] and last.single == ((SIZES[-1], "native"),)


def test_a_stretch_says_where_its_winner_is_slower_by_launches_that_are_too_few():
    rows = made_rows({(name, n): [s] * 5 for n in SIZES for name, s in (("ring", 1.0), ("native", 2.0))})
    slow = next(row for row in rows if (row["competitor"], row["size_bytes"]) == ("ring", SIZES[2]))
    slow |= made_row("ring", SIZES[2], [20.0, 20.0])
    (won,) = verdicts(rank(rows))
    assert [(s.low, s.high, s.exceptions) for s in won.stretches] == [(8, SIZES[-1], (SIZES[2],))]


def test_who_is_ranked_nowhere_holds_no_stretch_together():
    def factor(name, n):
        return {"native": 1 + n / 1000, "ring": 3 + n / 3000}.get(name, 9.0 + n)

    rows = ranked_rows(cells(factor))
    for row in rows:
        if row["competitor"] == "tree":
            row["call_floor_s"] = 1e9
    (found,) = verdicts(rank(rows))
    assert [stretch.leaders for stretch in found.stretches] == [("native",), ("ring",)]
    assert all(stretch.absent == ("tree",) for stretch in found.stretches)


def test_who_has_times_at_large_sizes_only_takes_none_of_the_small_ones():
    def factor(name, n):
        return None if name == "ring" and n < SIZES[3] else {"ring": 1.0, "native": 2.0}.get(name, 3.0)

    found = verdict_of(factor)
    assert [(s.leaders, s.low, s.high) for s in found.stretches] == [
        (("native",), 8, SIZES[2]),
        (("ring",), SIZES[3], SIZES[-1]),
    ]
    assert found.hand_overs == (None,)  # nobody knows what ring takes at the small ones

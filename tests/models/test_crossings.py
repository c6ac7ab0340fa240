"""Where algorithms overtake each other: the figures of the notes, brute force, and curves that are drawn by hand."""

import pytest

from allreduce_bench.models.crossings import over_ranks, over_sizes, winner_map
from allreduce_bench.models.machine import Prices, bare_machine
from allreduce_bench.models.prediction import BEST, CompetingModels, Fastest, Layout, Predicted, competing_models

K, M, G = 1 << 10, 1 << 20, 1 << 30
BARE = bare_machine(5e-6, 8e-11)


def of(*names: str, segment=BEST) -> CompetingModels:
    (group,) = competing_models(BARE, names, Layout(segment=segment))
    return group


class Drawn(CompetingModels):
    """Curves drawn by hand: name -> time of (ranks, size_bytes), None where it cannot run."""

    def __init__(self, step: int = 1, **curves):
        super().__init__([])
        self.models, self._step, self.curves = dict.fromkeys(curves), step, curves

    @property
    def step(self) -> int:
        return self._step

    def predict(self, series, ranks, size_bytes):
        return Predicted(series, ranks, None, size_bytes, time_s=self.curves[series](ranks, size_bytes))

    def fastest(self, ranks, size_bytes):
        timed = [
            one for one in (self.predict(name, ranks, size_bytes) for name in self.curves) if one.time_s is not None
        ]
        return Fastest(min(timed, key=lambda one: one.time_s), True) if timed else None


@pytest.mark.parametrize("size_bytes, ranks", [(M, 26), (G, 1100)])
def test_two_tree_overtakes_ring_where_the_notes_say(size_bytes, ranks):
    (one,) = over_ranks(of("ring", "two_tree"), size_bytes, 2, 24576)
    assert (one.faster, one.slower, one.over, one.at) == ("two_tree", "ring", "ranks", size_bytes)
    assert one.above == pytest.approx(ranks, rel=0.05)


@pytest.mark.parametrize("ranks, mebibytes", [(16, 0.33), (1024, 917)])
def test_ring_catches_up_where_the_notes_say(ranks, mebibytes):
    (one,) = over_sizes(of("ring", "two_tree"), ranks, 8, 4 * G)
    assert (one.faster, one.slower, one.at) == ("ring", "two_tree", ranks)
    assert one.above / M == pytest.approx(mebibytes, rel=0.1)


def test_the_sentences():
    (one,) = over_ranks(of("ring", "two_tree"), 64 * M, 2, 24576)
    assert one.sentence == f"two_tree overtakes ring above {one.above} ranks at 64 MiB, powers of two aside"
    (one,) = over_sizes(of("recursive_doubling", "rabenseifner"), 16, 8, M)
    assert one.sentence == "rabenseifner overtakes recursive_doubling above 115 KiB on 16 ranks"


@pytest.mark.parametrize("size_bytes", [8, 64 * K, 16 * M])
def test_over_ranks_finds_what_a_full_search_finds(size_bytes):
    group = of("ring", "recursive_doubling", "rabenseifner", "two_tree", segment=None)
    numbers = [ranks for ranks in range(3, 200) if ranks & (ranks - 1)]
    winners = [group.fastest(ranks, size_bytes).predicted.series for ranks in numbers]
    changes = [(low, a, b) for low, a, b in zip(numbers, winners, winners[1:]) if a != b]
    found = [(one.above, one.slower, one.faster) for one in over_ranks(group, size_bytes, 2, 199)]
    assert set(found) <= set(changes) and [one[1:] for one in found[:1]] == [one[1:] for one in changes[:1]]
    assert (found[-1][2] if found else winners[0]) == winners[-1]


def test_powers_of_two_are_left_aside():
    group = of("ring", "rabenseifner", "two_tree", segment=None)
    assert {one.faster for one in over_ranks(group, 64 * M, 2, 1024)} == {"two_tree"}
    curves = Drawn(a=lambda ranks, n: ranks, b=lambda ranks, n: 6.5, c=lambda ranks, n: 1 if ranks == 16 else None)
    assert [(one.faster, one.above) for one in over_ranks(curves, 8, 2, 64)] == [("b", 6)]


def test_a_size_is_bisected_to_the_byte_or_a_thousandth():
    small = Drawn(low=lambda ranks, n: n, high=lambda ranks, n: 100.5)
    assert over_sizes(small, 4, 8, 4096) == [("high", "low", "sizes", 100, None, 4)]
    large = Drawn(low=lambda ranks, n: n, high=lambda ranks, n: 1e9)
    assert over_sizes(large, 4, 8, 1 << 40)[0].above == pytest.approx(1e9, rel=2e-3)


def test_there_is_no_crossing_outside_of_the_range_or_where_nothing_runs():
    curves = Drawn(low=lambda ranks, n: n, high=lambda ranks, n: 100.5)
    assert over_sizes(curves, 4, 8, 100) == [] and over_sizes(curves, 4, 101, 1000) == []
    assert over_sizes(curves, 4, 64, 64) == [] and over_ranks(curves, 64, 2, 2) == []
    nowhere = Drawn(none=lambda ranks, n: None)
    assert over_sizes(nowhere, 4, 8, M) == [] and winner_map(nowhere, [2, 3], [8]) == [[None], [None]]


def test_numbers_of_ranks_fill_whole_nodes():
    curves = Drawn(step=6, low=lambda ranks, n: ranks, high=lambda ranks, n: 100.5)
    assert [one.above for one in over_ranks(curves, 8, 2, 1000)] == [96]
    (group,) = competing_models(bare_machine(5e-6, 8e-11, within=Prices(2e-6, 1e-11)), layout=Layout(8))
    assert group.step == 8 and all(one.above % 8 == 0 for one in over_ranks(group, 4 * M, 2, 4096))


def test_the_map_has_ranks_down_and_sizes_across():
    group = of("recursive_doubling", "rabenseifner")
    doubling, halving = "recursive_doubling", "rabenseifner"
    assert winner_map(group, [16, 128], [8, 100 * K, M]) == [
        [doubling, doubling, halving],
        [doubling, halving, halving],
    ]


def wobbling(ranks, n):
    return n * (0.9 if 100 <= n < 1000 or n >= 20_000 else 1.1)


def test_crossings_of_one_pair_do_not_contradict_each_other():
    curves = Drawn(a=lambda ranks, n: n, b=wobbling)
    found = over_sizes(curves, 4, 8, 65536)
    assert [(one.faster, one.slower, one.above, one.until) for one in found] == [
        ("b", "a", 99, 999),
        ("a", "b", 999, 19984),
        ("b", "a", 19984, None),
    ]
    assert [one.sentence.removeprefix(f"{one.faster} overtakes {one.slower} ") for one in found] == [
        "from 99 B to 999 B on 4 ranks",
        "from 999 B to 19.5 KiB on 4 ranks",
        "above 19.5 KiB on 4 ranks",
    ]


def test_the_sizes_and_ranks_that_are_shown_are_looked_at():
    """An island between two powers of two is found where a table has a row on it."""
    curves = Drawn(a=lambda ranks, n: 2, b=lambda ranks, n: 1 if 1400 < n < 1600 else 3)
    assert over_sizes(curves, 4, 8, 4096) == []
    assert [(one.faster, one.above, one.until) for one in over_sizes(curves, 4, 8, 4096, [1500])] == [
        ("b", 1400, 1599),
        ("a", 1599, None),
    ]
    curves = Drawn(a=lambda ranks, n: 2, b=lambda ranks, n: 1 if ranks == 37 else 3)
    assert [one.faster for one in over_ranks(curves, 8, 2, 100, [37])] == ["b", "a"]


def test_where_the_models_do_not_tell_nothing_overtakes():
    class Untold(Drawn):
        def fastest(self, ranks, size_bytes):
            return None if 200 <= size_bytes < 2000 else super().fastest(ranks, size_bytes)

    curves = Untold(a=lambda ranks, n: n, b=lambda ranks, n: 100.5, c=lambda ranks, n: 50 + n / 100)
    found = over_sizes(curves, 4, 8, 65536)
    assert [(one.faster, one.above, one.until) for one in found] == [("c", 50, 199), ("b", 5048, None)]
    assert winner_map(curves, [4], [8, 256, 4096]) == [["a", None, "c"]]


def test_crossings_agree_with_every_star_of_the_table():
    """At every size and number of ranks that is shown, the last crossing below it has the winner, or it is said."""
    bare, layout = bare_machine(5e-6, 3.2e-10, within=Prices(1e-6, 1e-11)), Layout(4, BEST, nic_bytes_per_s=3e9)
    (group,) = competing_models(bare, layout=layout)
    ranks, sizes = [4, 12, 16, 20, 48, 64, 100], [8, 3000, 20 * K, 300 * K, 5 * M, 64 * M]
    for number in ranks:
        for one in over_sizes(group, number, sizes[0], sizes[-1], sizes):
            inside = [n for n in sizes if one.above < n <= (one.until or sizes[-1])]
            assert all(group.fastest(number, n).predicted.series == one.faster for n in inside)
            assert group.fastest(number, one.above).predicted.series == one.slower
    for size_bytes in sizes:
        for one in over_ranks(group, size_bytes, ranks[0], ranks[-1], ranks):
            inside = [p for p in ranks if one.above < p <= (one.until or ranks[-1])]
            kept = [p for p in inside if p & (p - 1)]
            assert all(group.fastest(p, size_bytes).predicted.series == one.faster for p in kept)

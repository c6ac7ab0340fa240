"""A kept check is judged again: the same names of tests, virtual hosts, pairs that are left or were measured alone."""

from itertools import combinations

import pytest

from allreduce_bench.cli.types import OneLineError
from allreduce_bench.health.check import judge_folder, judge_rows
from allreduce_bench.health.pair_folder import CheckSettings, PairFolder, PairRow
from allreduce_bench.runs.rows import RunError

NODES = tuple(f"n{number}" for number in range(1, 9))


def rows_of(pair: tuple[str, str], time_s: float, alone: bool = False) -> list[PairRow]:
    one, other = pair
    return [
        PairRow(1 + alone, one, other, 8, 1, time_s * 1e-3, alone),
        PairRow(1 + alone, one, other, 4 << 20, 1, time_s, alone),
        PairRow(1 + alone, other, one, 4 << 20, 1, time_s, alone),
    ]


@pytest.fixture
def kept(tmp_path):
    def make(left: int = 0, **asked):
        folder = PairFolder(tmp_path / "check")
        folder.begin(CheckSettings(NODES, small_repetitions=1, large_repetitions=1, **asked))
        for pair in list(combinations(NODES, 2))[left:]:
            folder.append(rows_of(pair, 2.0 if "n3" in pair else 1.0))
        return folder

    return make


def slow(health) -> dict[str, list[str]]:
    return {one.table.name: [one.table.nodes[node] for node in one.slow_nodes] for one in health.results}


def test_latency_and_bandwidth_are_judged_again_with_another_threshold(kept):
    folder = kept()
    assert slow(judge_folder(folder, 0.2)) == {"latency": ["n3"], "bandwidth": ["n3"]}
    assert slow(judge_folder(folder, 1.5)) == {"latency": [], "bandwidth": []}


def test_the_latency_of_virtual_hosts_is_not_judged(kept):
    found = judge_folder(kept(virtual_rates_bytes_per_s=(1e9,) * 8), 0.2)
    assert slow(found) == {"latency": [], "bandwidth": ["n3"]} and not found.results[0].is_judged


def test_pairs_that_are_left_are_counted(kept):
    assert judge_folder(kept(left=2), 0.2).left == 2


def test_a_check_without_a_whole_pair_or_with_a_node_of_another_is_refused(kept):
    folder = kept(left=len(NODES) * (len(NODES) - 1) // 2)
    with pytest.raises(OneLineError, match="no pair was measured") as refused:
        judge_folder(folder, 0.2)
    assert refused.value.exit_code == 1
    folder.append(rows_of(("n1", "n9"), 1.0))
    with pytest.raises(RunError, match="n9 is no node of this check"):
        judge_folder(folder, 0.2)


def test_suspects_that_are_not_slow_alone_are_cleared(kept):
    folder = kept()
    for pair in (("n3", "n1"), ("n3", "n2"), ("n4", "n5"), ("n6", "n7")):
        folder.append(rows_of(pair, 1.0, alone=True))
    found = judge_folder(folder, 0.2)
    assert slow(found) == {"latency": [], "bandwidth": []} and found.cleared == 2


def test_all_pairs_of_a_node_that_is_gone_have_failed():
    asked = CheckSettings(NODES, small_repetitions=1, large_repetitions=1)
    rows = [row for pair in combinations(NODES[1:], 2) for row in rows_of(pair, 1.0)]
    found = judge_rows(asked, rows, 0.2, {"n1": "away"})
    assert set(found.failed.values()) == {"away"} and len(found.failed) == 7 and found.bad_nodes == ("n1",)

"""The outcome of a check: who is bad, whether all is sound, and what is sound."""

from itertools import combinations

import numpy as np

from allreduce_bench.health.judgement import PairTable, judge_tables

PAIRS = [frozenset(pair) for pair in combinations([f"n{number}" for number in range(8)], 2)]


def table(nodes: int, slow: int | None = None) -> PairTable:
    logs = np.zeros((nodes, nodes))
    if slow is not None:
        logs[slow], logs[:, slow] = 1.0, 1.0
    np.fill_diagonal(logs, np.nan)
    return PairTable("latency", tuple(f"n{number}" for number in range(nodes)), logs, "us", False)


def test_slow_and_failing_nodes_are_bad_each_once_and_in_order():
    names = [f"n{number}" for number in range(9)]
    failed = {frozenset(("n8", name)): "gone" for name in names[:8]}
    tried = frozenset(frozenset((one, other)) for one in names for other in names if one != other)
    health = judge_tables([table(9, slow=4), table(9, slow=4)], tried, failed | {frozenset(("n1", "n2")): "lost"}, 0.2)
    assert health.bad_nodes == ("n4", "n8") and not health.is_sound
    assert health.lone_failures == {frozenset(("n1", "n2")): "lost"}


def test_a_table_that_is_not_judged_names_nobody():
    assert judge_tables([table(9, slow=4)], frozenset(), {}, 0.2, ["latency"]).is_sound


def test_one_failed_pair_is_not_sound():
    health = judge_tables([table(8)], frozenset(PAIRS), {PAIRS[0]: "gone"}, 0.2)
    assert not health.is_sound and health.bad_nodes == ()

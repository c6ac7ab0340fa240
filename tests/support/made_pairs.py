"""Made tables of pairs of nodes n0, n1, …: all pairs alike, but of slow nodes and one slow link."""

from collections.abc import Mapping

import numpy as np

from allreduce_bench.health.judgement import Health, PairTable, judge_tables


def pair_table(nodes: int, slow: Mapping[int, float] = {}, link: float = 1.0, name: str = "bandwidth") -> PairTable:
    """Return the table; the pairs of a slow node take so many times as long, the link from n0 to n1 as well."""
    logs = np.full((nodes, nodes), -np.log(4.0))  # 4 GB/s
    for node, times in slow.items():
        logs[node] += np.log(times)
        logs[:, node] += np.log(times)
    logs[0, 1] += np.log(link)
    np.fill_diagonal(logs, np.nan)
    return PairTable(name, tuple(f"n{number}" for number in range(nodes)), logs, "GB/s", True)


def judge(*tables: PairTable, failed: Mapping[tuple[str, str], str] = {}, unjudged: tuple[str, ...] = ()) -> Health:
    """Return the tables judged, all pairs tried; `failed`: pairs with their reasons."""
    names = tables[0].nodes
    tried = frozenset(frozenset((one, other)) for one in names for other in names if one != other)
    return judge_tables(tables, tried, {frozenset(pair): why for pair, why in failed.items()}, 0.2, unjudged)

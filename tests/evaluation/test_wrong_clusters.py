"""Wrong results that gather at a size or at n/p are told from those that fell by chance."""

import random
import re

import pytest
from made_logs import NCCL, log
from made_runs import build_run
from scipy.stats import hypergeom

from allreduce_bench.evaluation.agreement import BYTES_PER_RANK, SIZE, chance, wrong_clusters
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.importers import keep, read
from allreduce_bench.runs.folder import RunFolder

MIB = 1 << 20


def row(ranks: int, size_bytes: int, checked: int, wrong: int = 0) -> dict:
    return {"ranks": ranks, "size_bytes": size_bytes, "checked_launches": checked, "wrong_launches": wrong}


def jobs_of(wrong_at: dict[tuple[int, int], int]) -> list[dict]:
    """100 jobs of 30 sizes, twenty at each of five numbers of ranks: 3000 results."""
    return [row(p, 8 << i, 20, wrong_at.get((p, 8 << i), 0)) for p in (4, 8, 16, 32, 64) for i in range(30)]


def test_half_of_the_wrong_results_at_one_n_over_p_is_a_cluster():
    scattered = {(4 << (i % 5), 8 << (i + 1)): 1 for i in range(15)}
    gathered = {(p, p * MIB): number for p, number in zip((4, 8, 16, 32, 64), (4, 3, 3, 3, 3))}
    (cluster,) = wrong_clusters(jobs_of(scattered | gathered))
    assert (cluster.kind, cluster.size_bytes) == (BYTES_PER_RANK, MIB)
    assert (cluster.wrong, cluster.all_wrong, cluster.checked, cluster.all_checked) == (16, 31, 100, 3000)
    assert cluster.p_value < 1e-9


def test_one_size_is_a_cluster_that_is_told_once():
    (cluster,) = wrong_clusters(jobs_of({(p, 4 * MIB): 2 for p in (4, 8, 16, 32, 64)}))
    assert (cluster.kind, cluster.size_bytes, cluster.wrong) == (SIZE, 4 * MIB, 10)
    (cluster,) = wrong_clusters([row(4, 8 << i, 20, 9 * (i == 3)) for i in range(10)])  # both are the same there
    assert (cluster.kind, cluster.size_bytes) == (SIZE, 64)


def test_wrong_results_by_chance_are_seldom_a_cluster():
    draw, alarms = random.Random(1), 0
    cells = [(p, 8 << i) for p in (4, 8, 16, 32, 64) for i in range(30)] * 20
    for _ in range(200):
        wrong: dict[tuple[int, int], int] = {}
        for cell in draw.sample(cells, 31):
            wrong[cell] = wrong.get(cell, 0) + 1
        alarms += bool(wrong_clusters(jobs_of(wrong)))
    assert alarms <= 4


def test_two_wrong_results_are_no_cluster_and_neither_is_everything():
    assert wrong_clusters(jobs_of({(4, 8): 2})) == []
    assert wrong_clusters([row(4, 8 << i, 5, 5) for i in range(9)]) == []
    assert wrong_clusters([]) == wrong_clusters([{"size_bytes": 8, "ranks": 2}]) == []


@pytest.mark.parametrize("case", [(3, 10, 31, 3000), (16, 100, 31, 3000), (5, 5, 5, 40), (1, 1, 1, 1)])
def test_the_chance_is_hypergeometric(case):
    wrong, checked, all_wrong, all_checked = case
    assert chance(*case) == pytest.approx(hypergeom.sf(wrong - 1, all_checked, all_wrong, checked))


def test_results_are_counted_by_launch(tmp_path):
    def outcome(launch, cell):
        return {"state": "wrong", "wrong": 7} if cell.size_bytes == 64 and launch.number < 4 else {}

    folder = build_run(tmp_path / "run", sizes=[8 << i for i in range(10)], ranks=(2,), launches=5, outcome=outcome)
    (cluster,) = wrong_clusters(summarise(folder))
    assert (cluster.kind, cluster.size_bytes, cluster.wrong, cluster.checked) == (SIZE, 64, 9, 15)
    assert (cluster.all_wrong, cluster.all_checked) == (9, 150)


def test_wrong_elements_of_nccl_tests_count(tmp_path):
    def broken(line: str) -> str:  # #wrong of both halves
        return re.sub(r" 0(?= |$)", " 5", line) if line.split()[:1] == [str(4 * MIB)] else line

    text = "\n".join(map(broken, NCCL.splitlines()))
    logs = [log(tmp_path, text, f"{number}.log") for number in range(4)]
    rows = keep([row for path in logs for row in read(path)], RunFolder(tmp_path / "run"), ["import"], {})
    (cluster,) = wrong_clusters(rows)
    assert (cluster.kind, cluster.size_bytes) == (SIZE, 4 * MIB)
    assert (cluster.wrong, cluster.checked, cluster.all_wrong, cluster.all_checked) == (4, 4, 4, 100)

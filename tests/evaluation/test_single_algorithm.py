"""Latency and peak bus bandwidth of one algorithm, of times that are known."""

import pytest
from made_logs import US, log

from allreduce_bench.evaluation.single_algorithm import performance
from allreduce_bench.evaluation.summary_row import SummaryRow
from allreduce_bench.evaluation.verdict import verdicts
from allreduce_bench.importers import Asked, keep, read
from allreduce_bench.runs.folder import RunFolder

TIMES_US = {0: 1.0, 8: 10.0, 1024: 12.0, 1 << 20: 100.0, 1 << 24: 4000.0}


def text(factor: float = 1.0, ranks: int = 4, algorithms: tuple[str, ...] = ("native",)) -> str:
    """A CSV in which 1 MiB has the highest bandwidth."""
    return "bytes,ranks,algo,time_us\n" + "".join(
        f"{size_bytes},{ranks},{name},{factor * time_us}\n"
        for name in algorithms
        for size_bytes, time_us in TIMES_US.items()
    )


def rows_of(folder, *texts: str) -> list[SummaryRow]:
    """The summary of logs 0.csv, 1.csv and so on."""
    logs = [log(folder, content, f"{number}.csv") for number, content in enumerate(texts)]
    return keep([row for path in logs for row in read(path, Asked())], RunFolder(folder / "run"), [], {})


def test_latency_is_that_of_the_smallest_size_and_the_peak_where_it_is(tmp_path):
    (verdict,) = verdicts(rows_of(tmp_path, text()))
    found = verdict.alone
    assert (found.ranks, found.algorithm, found.sizes, found.ranked) == (4, "native", 4, 4)
    assert (found.latency_nbytes, found.latency_s) == (8, pytest.approx(10 * US))
    assert (found.peak_nbytes, found.peak_busbw_bytes_per_s) == (1 << 20, pytest.approx(1.5 * (1 << 20) / (100 * US)))


def test_several_algorithms_have_none_and_doubted_times_do_not_count(tmp_path):
    rows = rows_of(tmp_path, text(algorithms=("native", "ring")))
    assert not [verdict for verdict in verdicts(rows) if verdict.alone]
    native = [row for row in rows if row["competitor"] == "native"]
    doubted = [{**row, "doubt": "two states" if row["size_bytes"] == 1 << 20 else None} for row in native]
    found = performance(4, {row["size_bytes"]: [row] for row in doubted})
    assert (found.peak_nbytes, found.sizes, found.ranked) == (1 << 24, 4, 3)
    assert performance(4, {row["size_bytes"]: [{**row, "doubt": "x"}] for row in native}) is None

"""The textfile, read as Prometheus reads it."""

import re
from collections import deque

import numpy as np

from allreduce_bench.stragglers.monitor.output import MOST_RANKS, Metrics, metrics_text

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (\S+)')


def read(metrics: Metrics) -> dict[tuple[str, str], float]:
    """Value by name and labels. Fails where a line is none of the format."""
    values, types = {}, {}
    for line in metrics_text(metrics).splitlines():
        if line.startswith("# TYPE "):
            _, _, name, types[name] = line.split(" ")
        elif not line.startswith("# HELP "):
            name, labels, value = SAMPLE.fullmatch(line).groups()
            assert types[name] in ("gauge", "counter") and (types[name] == "counter") == name.endswith("_total")
            values[name, labels or ""] = float(value)
    return values


def test_before_the_first_step_there_are_no_ranks():
    values = read(Metrics(("n1",), deque()))
    assert values["allreduce_bench_steps_total", ""] == 0 and not any("rank" in name for name, _ in values)


def test_each_rank_has_its_lateness_and_its_share():
    blocks = deque([np.array([[0.0, 0.2], [0.0, 0.4]]), np.array([[0.1, 0.0], [0.0, 0.3], [0.0, 0.5]])])
    metrics = Metrics(("n1", "n2"), blocks, steps=5, step_s=0.25, slow=frozenset({1}), stalled=True)
    metrics.alerts["slow"] += 1
    values = read(metrics)
    second = 'rank="1",node="n2"'
    assert values["allreduce_bench_rank_late_seconds", second] == 0.3
    assert values["allreduce_bench_rank_last_share", second] == 0.8
    assert values["allreduce_bench_rank_slow", second] == values["allreduce_bench_stalled", ""] == 1
    assert (
        values["allreduce_bench_alerts_total", 'kind="slow"'] == 1
        and values["allreduce_bench_step_seconds", ""] == 0.25
    )


def test_of_many_ranks_those_that_are_late_most():
    late_s = np.arange(1000.0)[None]
    values = read(Metrics(("n",) * 1000, deque([late_s])))
    shown = [value for (name, _), value in values.items() if name == "allreduce_bench_rank_late_seconds"]
    assert shown == [*range(1000 - MOST_RANKS, 1000)]

"""What a Prometheus textfile collector reads: the text exposition format 0.0.4, without times of its own.

https://prometheus.io/docs/instrumenting/exposition_formats
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

MOST_RANKS = 64  # in a file; of more, those that are late most
PREFIX = "allreduce_bench_"


@dataclass
class Metrics:
    """The figures as they are now. What costs time is computed when the file is written, in the thread that does."""

    names_of_nodes: tuple[str, ...]  # of each rank
    late_s: deque[np.ndarray]  # float64 [step, rank]: the last blocks that are known, the longest ago first
    steps: int = 0
    step_s: float = 0.0  # median of the last block
    alerts: Counter[str] = field(default_factory=Counter)
    slow: frozenset[int] = frozenset()  # the ranks that are slow now
    stalled: bool = False
    last_step_time: float = 0.0  # seconds since 1970; 0: no step has ended


def text(metrics: Metrics) -> str:
    """The whole file."""
    plain = [
        ("steps_total", "counter", "Steps that have ended.", metrics.steps),
        ("step_seconds", "gauge", "Median time of the last steps.", metrics.step_s),
        ("stalled", "gauge", "1 while no step ends.", int(metrics.stalled)),
        ("last_step_timestamp_seconds", "gauge", "When the last step ended that is known.", metrics.last_step_time),
    ]
    lines = [line for name, kind, words, value in plain for line in _family(name, kind, words, [("", value)])]
    kinds = [(f'{{kind="{kind}"}}', metrics.alerts[kind]) for kind in ("slow", "recovered", "groups", "stall")]
    lines += _family("alerts_total", "counter", "Alerts since the start.", kinds)
    blocks = [np.nan_to_num(late_s, nan=0.0) for late_s in tuple(metrics.late_s)]
    if not blocks:
        return "\n".join(lines) + "\n"
    came_last = np.concatenate([late_s.argmax(axis=1) for late_s in blocks])
    last_share = np.bincount(came_last, minlength=len(metrics.names_of_nodes)) / len(came_last)
    median_s = np.median(blocks[-1], axis=0)
    ranks = np.sort(np.argsort(-median_s, kind="stable")[:MOST_RANKS]).tolist()
    labels = {rank: f'{{rank="{rank}",node="{escaped(metrics.names_of_nodes[rank])}"}}' for rank in ranks}
    families: list[tuple[str, str, Iterable[float]]] = [
        ("rank_late_seconds", "Median time from the first rank that is ready to this one.", median_s[ranks]),
        ("rank_last_share", "Share of the last steps to which this rank came last.", last_share[ranks]),
        ("rank_slow", "1 while an alert says that this rank is slow.", [rank in metrics.slow for rank in ranks]),
    ]
    for name, words, values in families:
        lines += _family(name, "gauge", words, zip(labels.values(), map(float, values)))
    return "\n".join(lines) + "\n"


def escaped(label: str) -> str:
    """A label's value as the format wants it."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _family(name: str, kind: str, words: str, values: Iterable[tuple[str, float]]) -> list[str]:
    name = PREFIX + name
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}", *(f"{name}{label} {value!r}" for label, value in values)]

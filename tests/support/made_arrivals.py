"""Arrivals of known truth in all forms in which they come."""

import json
from pathlib import Path

import numpy as np

from allreduce_bench.stragglers.arrivals import Arrivals
from allreduce_bench.stragglers.sentences import JudgedArrivals, judge_arrivals
from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals


def arrivals(ranks: int = 8, steps: int = 200, slow: int | None = 5, by: float = 0.12, **choices) -> Arrivals:
    """Steps of 1 s; rank `slow` is slower."""
    slows = [] if slow is None else [Slow((slow,), by, **{k: choices.pop(k) for k in ("from_step",) if k in choices})]
    settings = {"noise": 0.02, "spikes": 0.0, "ranks_per_node": 4, "seed": 1, **choices}
    return synthetic_arrivals(ranks, steps, slow=slows, **settings)


def judgement(**choices) -> JudgedArrivals:
    """The same with what it says."""
    made = arrivals(**choices)
    return judge_arrivals(f"{made.ready_s.shape[1]} ranks", made)


def write_steps(path: Path, made: Arrivals, every: int = 20, job: str = "a") -> Path:
    """The lines that StepMonitor writes of these steps."""
    late_s = made.ready_s - np.nanmin(made.ready_s, axis=1, keepdims=True)
    head = {"kind": "start", "schema": "allreduce-bench-steps-1", "ranks": late_s.shape[1], "every": every}
    lines = [{**head, "node_of": made.node_of, "nodes": made.nodes, "clock_error_s": 1e-6, "time": "2026-01-01T00:00"}]
    for first in range(0, len(late_s), every):
        block = slice(first, first + every)
        times = {"step_s": made.step_s[block].tolist(), "late_s": late_s[block].T.tolist()}
        lines.append({"kind": "steps", "first_step": first, **times, "clock_error_s": 2e-6})
    lines.append({"kind": "end", "steps": len(late_s)})
    path.write_text("".join(json.dumps({**line, "job": job}) + "\n" for line in lines))
    return path

"""`health --format json`: what a check of nodes says of every node, link and pair, as one object."""

import json
from math import isfinite
from typing import Any

import numpy as np

from .node_health import Health
from .node_pairs import Judged
from .text import health_sentences

SCHEMA = "urn:allreduce-bench:health:1"


def json_text(health: Health) -> str:
    """An object with schema, verdict, tests and failed pairs; a value that is not known is null."""
    content = {
        "schema": SCHEMA,
        "nodes": list(health.nodes),
        "threshold": health.threshold,
        "is_sound": health.is_sound,
        "bad_nodes": list(health.bad_nodes),
        "verdict": health_sentences(health, every_link=True),
        "tests": [_test(result) for result in health.results],
        "failing_nodes": [one._asdict() for one in health.failing],
        "failed_pairs": [{"nodes": sorted(pair), "reason": why} for pair, why in health.failed.items()],
        "cleared": health.cleared,
        "left": health.left,
        "settings": [one._asdict() | {"nodes": list(one.nodes)} for one in health.settings],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _test(result: Judged) -> dict[str, Any]:
    table = result.table
    links = [
        {
            "nodes": [table.nodes[node] for node in pair],
            "ratio": result.link_ratio(pair),
            "z": _known(result.link_z[pair]),
        }
        for pair in result.slow_links
    ]
    measured = zip(*np.nonzero(~np.isnan(table.log_time)))
    return {
        "name": table.name,
        "unit": table.unit,
        "is_rate": table.is_rate,
        "is_judged": result.is_judged,
        "slow_nodes": [table.nodes[node] for node in result.slow_nodes],
        "slow_group": [table.nodes[node] for node in result.group],
        "slow_links": links,
        "nearly_slow": [table.nodes[node] for node in result.nearly],
        "node_groups": {
            "groups": [[table.nodes[node] for node in members] for members in result.blocks.members],
            "alone": [table.nodes[node] for node in result.blocks.alone],
            "far_ratio": result.blocks.far_ratio,
        },
        "per_node": [
            {"node": name, "ratio": _known(np.exp(result.polished.node_effect[node])), "z": _known(result.node_z[node])}
            for node, name in enumerate(table.nodes)
        ],
        "pairs": [
            {"source": table.nodes[one], "dest": table.nodes[other], "value": table.value(table.log_time[one, other])}
            for one, other in measured
        ],
    }


def _known(value: Any) -> float | None:
    return float(value) if isfinite(value) else None

"""What a page computes, without a browser: its prices are those of the schedules."""

import json
import shutil
import subprocess

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.drawing import subject
from allreduce_bench.pages.page import message_rows
from allreduce_bench.schedule.price import price
from allreduce_bench.web import asset

PROGRAM = """
const [rounds, ranks, alpha, beta] = JSON.parse(require("fs").readFileSync(0, "utf-8"));
console.log(JSON.stringify(price(rounds, ranks, alpha, beta)));
"""
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@needs_node
@pytest.mark.parametrize("name", builtin())
@pytest.mark.parametrize("ranks", [7, 32])
def test_the_script_prices_the_very_schedules(name, ranks):
    chosen = subject(name, ranks, segment=32)
    alpha, beta, size_bytes = 3e-6, 7e-10, 5e5
    rounds = message_rows(chosen)
    said = json.dumps([rounds, ranks, alpha, beta * size_bytes / chosen.count])
    program = f"{asset('allreduce_bench.pages', 'prices.js')}{PROGRAM}"
    result = subprocess.run(["node", "-e", program], input=said, capture_output=True, text=True, check=True)
    found, expected = json.loads(result.stdout), price(chosen.schedules, alpha, beta * size_bytes / chosen.count)
    assert found["total"] == pytest.approx(expected.time, rel=1e-12)
    assert alpha * found["messages"] + beta * size_bytes * found["elements"] / chosen.count == (
        pytest.approx(expected.time, rel=1e-12)
    )
    assert sum(part for part in found["parts"] if part is not None) == found["elements"]
    assert len(found["ends"]) == len(rounds) + 1 and found["ends"][-1] == found["total"]

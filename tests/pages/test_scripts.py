"""What a page computes, without a browser: its replay is the drawing, and its prices are those of the schedules."""

import json
import shutil
import subprocess

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.drawing import letters, subject, word
from allreduce_bench.pages.page import cut, cut_data, path
from allreduce_bench.web import asset

PROGRAM = """
const [cut, ranks, alpha, beta, letters] = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const played = replay(cut, ranks), priced = price(played, ranks, alpha, beta);
const wordsOf = (m) => m.blocks.map((block, i) => words(m.contents[i], block, letters)[0]);
const sent = played.rounds.map((messages) => messages.map(wordsOf));
console.log(JSON.stringify({ sent, states: played.states.map((held) => [...held]), priced }));
"""
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def computed(made, ranks: int, alpha: float, beta: float) -> dict:
    """What the scripts of a page make of a cut."""
    said = json.dumps([cut_data(made), ranks, alpha, beta, letters(ranks)])
    program = f"{asset('allreduce_bench.pages', 'replay.js', 'prices.js')}{PROGRAM}"
    result = subprocess.run(["node", "-e", program], input=said, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


@needs_node
@pytest.mark.parametrize("name", builtin())
@pytest.mark.parametrize("ranks", [2, 7, 32])
def test_the_script_replays_and_prices_the_very_schedules(name, ranks):
    chosen = subject(name, ranks, segment=32)
    made, alpha, beta, size_bytes = cut(chosen), 3e-6, 7e-10, 5e5
    found = computed(made, ranks, alpha, beta * size_bytes / chosen.count)
    expected = path(chosen, alpha, beta, size_bytes)
    assert found["priced"]["total"] == pytest.approx(expected.time, rel=1e-12)
    assert alpha * found["priced"]["messages"] + beta * size_bytes * found["priced"]["elements"] / chosen.count == (
        pytest.approx(expected.time, rel=1e-12)
    )
    assert sum(part for part in found["priced"]["parts"] if part is not None) == found["priced"]["elements"]
    assert found["priced"]["ends"][-1] == found["priced"]["total"]
    bits = [[sum(1 << rank for rank in held) for own in each.held for held in own] for each in made.drawing.rounds]
    assert found["states"][1:] == bits
    assert found["sent"] == [
        [[word(*pair, letters(ranks)) for pair in zip(message.content, message.blocks)] for message in each.messages]
        for each in made.drawing.rounds
    ]

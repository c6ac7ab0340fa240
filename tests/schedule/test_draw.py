"""What `explain` shows: the sentences of the textbooks, and totals that agree with the proof."""

import re

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.draw import rounds
from allreduce_bench.schedule.price import price
from allreduce_bench.schedule.verify import Refusal, verify


def shown(name: str, size: int, count: int, segment: int | None = None) -> str:
    schedules = builtin()[name].schedules(size, Topology.filled(size, 4), count, segment or max(count, 1))
    return rounds(name, schedules, count, "formula")


def round_of(text: str, number: int) -> str:
    return re.split(r"^round (\d+)$", text, flags=re.MULTILINE)[2 * number]


def test_the_ring_of_four_in_the_words_of_the_classic_picture():
    text = shown("ring", 4, 4)
    second = round_of(text, 2)
    for sentence in (
        "rank 0 (a) sends d4+a4 to rank 1 (b), which adds it",
        "rank 1 (b) sends a1+b1 to rank 2 (c), which adds it",
        "rank 2 (c) sends b2+c2 to rank 3 (d), which adds it",
        "rank 3 (d) sends c3+d3 to rank 0 (a), which adds it",
    ):
        assert sentence in second
    assert "rank 0 (a) sends S2 to rank 1 (b), which keeps it" in round_of(text, 4)
    assert re.search(r"^ +a +a1 +a2 +c3\+d3\+a3 +d4\+a4$", second, re.MULTILINE)
    assert text.count("\nround ") == 6


def test_the_last_table_holds_the_finished_sums():
    last = round_of(shown("ring", 3, 3), 4)
    assert [line.split() for line in last.splitlines() if line.startswith("    ")][1:] == [
        [name, "S1", "S2", "S3"] for name in "abc"
    ]


def test_naive_sends_what_each_rank_had_in_the_beginning():
    text = shown("naive", 3, 1)
    assert "rank 0 (a) sends a1 to rank 1 (b), which adds it" in round_of(text, 1)
    assert "rank 0 (a) sends a1 to rank 2 (c), which adds it" in round_of(text, 2)
    assert "sends S1" not in text


def test_letters_end_at_z():
    """From rank 26 up a rank is its number, and a finished sum is still known by its part."""
    text = shown("ring", 30, 30)
    assert "rank 29 (29) sends 29.30 to rank 0 (a), which adds it" in round_of(text, 1)
    assert re.search(r"sends S\d+ to", text)
    finished = set(re.findall(r"sends (S\S*) to", text))
    assert finished == {f"S{part}" for part in range(1, 31)}


@pytest.mark.parametrize("name", builtin())
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 30])
def test_totals_agree_with_the_proof_and_the_price(name, size):
    for count, segment in ((size, 2), (3 * size + 1, size), (1, 1), (0, 1)):
        schedules = builtin()[name].schedules(size, Topology.filled(size, 4), count, segment)
        text, proof = rounds(name, schedules, count, "the formula"), verify(schedules, count)
        assert text.startswith(f"{name} on {size} ranks")
        path = re.search(r"rounds on the critical path: (\d+); steps: (\d+) at most in one rank", text)
        assert int(path[2]) == proof.steps
        assert int(path[1]) == price(schedules, alpha=1, beta=0).time
        assert f"elements sent: {proof.sent}" in text
        assert text.endswith("cost: the formula")
        assert text.count("), which ") == sum(step.dest is not None for own in schedules for step in own)


def test_what_waits_for_ever_is_not_drawn():
    stuck = [[Step(1, (range(1),), None, ())], [Step(0, (range(1),), None, ())]]
    with pytest.raises(Refusal, match="waits forever"):
        rounds("stuck", stuck, 1, "")

"""The same data at another length of the vector: whether schedules give it other bits, derived and as computed."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from places import ROOT

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule import Schedule
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.proofs import same_at_any_length
from allreduce_bench.schedule.verify import rendezvous
from allreduce_bench.units import in_ranks

SIZES = range(2, 9)
SAMPLES = 64  # draws of each element: in one, sums in another order often have the same bits


def counts(size: int) -> list[int]:
    return sorted({1, size - 1, size, size + 1, 2 * size + 1, 3 * size, 57}, reverse=True)


def played(schedules: Sequence[Schedule], inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What each rank holds after its steps; elements are the rows of `inputs`."""
    held, sent = [vector.copy() for vector in inputs], {}

    def begin(rank: int, index: int) -> None:
        if index < len(schedules[rank]):
            step = schedules[rank][index]
            vector = inputs[rank] if step.original else held[rank]
            sent[rank, index] = [vector[span.start : span.stop].copy() for span in step.send]

    for rank in range(len(schedules)):
        begin(rank, 0)
    for rank, index, _, source_index in rendezvous(schedules):
        step = schedules[rank][index]
        for span, arrived in zip(step.recv, sent[step.source, source_index] if step.recv else ()):
            part = held[rank][span.start : span.stop]
            part[:] = part + arrived if step.reduce else arrived
        begin(rank, index + 1)
    return held


def has_the_same_bits_at_any_length(name: str, size: int, topology: Topology) -> bool:
    draws = np.random.default_rng(size)
    inputs = [draws.standard_normal((counts(size)[0], SAMPLES)).astype("float32") for _ in range(size)]
    longest: list[np.ndarray] = []
    for count in counts(size):
        schedules = builtin()[name].schedules(size, topology, count, max(1, size // 2))
        results = played(schedules, [vector[:count] for vector in inputs])
        longest = longest or results
        if any(result.tobytes() != long[:count].tobytes() for result, long in zip(results, longest)):
            return False
    return True


@pytest.mark.parametrize("name", builtin())
def test_bits_change_with_the_length_where_the_order_of_additions_does(name):
    for size in SIZES:
        for topology in {Topology.one_node(size), Topology.filled(size, 3)}:
            if not builtin()[name].unmet(size, topology):
                derived = same_at_any_length(builtin()[name], size, topology)
                assert has_the_same_bits_at_any_length(name, size, topology) == derived, size


def test_the_table_of_the_page_is_what_is_derived():
    text = (ROOT / "docs" / "same-bits.md").read_text()
    told = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE))
    derived = {}
    for name, own in builtin().items():
        same = [size for size in SIZES if same_at_any_length(own, size, Topology.one_node(size))]
        derived[name] = "yes" if same == [*SIZES] else in_ranks(same)
    assert told == derived

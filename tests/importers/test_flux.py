"""Ranks and nodes of the jobs that Flux appends to a log."""

import json

import pytest

from allreduce_bench.importers.lines import lines_of
from allreduce_bench.importers.tools.osu import FluxJob, job_of, jobs


def jobspec(resource: dict, count: dict) -> str:
    return json.dumps({"resources": [resource], "tasks": [{"count": count}]})


SLOTS = {"type": "slot", "count": 4}


@pytest.mark.parametrize(
    "resource, count, nodes, ranks",
    [
        ({"type": "node", "count": 2, "with": [SLOTS]}, {"per_slot": 1}, 2, 8),
        ({"type": "node", "count": 2, "with": [SLOTS]}, {"total": 6}, 2, 6),
        (SLOTS, {"per_slot": 3}, None, 12),
    ],
)
def test_a_jobspec_says_nodes_and_ranks(resource, count, nodes, ranks):
    assert jobs(lines_of(f"a table\n{jobspec(resource, count)}\n")) == [FluxJob(2, nodes, ranks)]


@pytest.mark.parametrize(
    "line", ['{"resources": [], "tasks": []}', '{"resources": [{"tasks"', jobspec({"type": "core"}, {"total": 1})]
)
def test_what_is_no_whole_jobspec_says_nothing(line):
    assert jobs(lines_of(line)) == []


def test_the_job_of_a_table_is_the_first_one_below_it():
    first, last = FluxJob(10, 1, 2), FluxJob(20, 1, 4)
    assert [job_of(number, [first, last]) for number in (1, 15, 30)] == [first, last, last]
    assert job_of(1, []) is None

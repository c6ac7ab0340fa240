"""The order of the cells of a launch, and what is printed of each."""

import pytest
from interpreters import interpreters

from allreduce_bench.runs.plan import Cell, Launch, Plan
from allreduce_bench.schedule.algorithm import Topology

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

PLAN = Plan(("ring",), (8, 64, 512), (1,), 1, seed=1)
CELLS = [Cell(name, size, None) for name in ("ring", "tree") for size in (8, 64, 512)]


class Comm:
    """One rank."""

    rank, size = 0, 1

    def bcast(self, value):
        return value


def make_context(deadline: float | None):
    from allreduce_bench.measuring.context import Context, Party

    real, comm = Topology.one_node(1), Comm()
    one_party = Party(comm, real, real), ((range(1), real),)
    return Context(comm, PLAN, Launch(1, 1), real, real, {}, None, None, *one_party, deadline)


def test_a_cell_is_printed_with_its_median_or_the_reason_why_it_has_none():
    context = make_context(None)
    from allreduce_bench.measuring.calls import CellTimes
    from allreduce_bench.measuring.launch import CellOutcome, _facts_before, _format_result

    calls = {"time_s": [9.0, 1e-6, 3e-6], "valid": [True, True, True]}
    done = CellOutcome({"state": "done"}, CellTimes(calls, 1, {}, None, [], None))
    assert _format_result(done) == "  2.00 us"
    assert _format_result(CellOutcome({"state": "wrong", "wrong": 3})) == ": wrong: 3 wrong elements"
    assert _format_result(CellOutcome({"state": "skipped", "reason": "no memory"})) == ": skipped: no memory"
    facts = _facts_before(context, CELLS[0])
    assert (facts["size_bytes"], facts["ranks"], facts["nodes"], facts["nodes_declared"]) == (8, 1, 1, None)

"""The JSON of a launch: what is read of it is of its type, or refused in words."""

import pytest
from made_runs import launch_facts

from allreduce_bench.runs.kept import check_facts
from allreduce_bench.runs.rows import RunError

HEAD = {"run_crc32": "0", "launch": "2r-1", "attempt": 1, "started": "2026-01-01T00:00:00+00:00"}


def test_made_facts_are_let_through():
    check_facts({**HEAD, **launch_facts(2)})


@pytest.mark.parametrize(
    "change",
    [
        {"started": -0.0},
        {"binding": [{}, "1"]},
        {"machines": [[[1]]]},
        {"startup": {"first_collective_s": float("inf")}},
        {"ranks": 10**30},
        {"mpi": None},
        {"sync": None},
        {"command": 3},
        {"findings": [{"code": "x"}]},
        {"counted": [{"cpus": 2, "elapsed_s": 1.0}]},
        {"clock": {"method": "a", "drift_ppm": 1.0}},
    ],
    ids=str,
)
def test_other_types_are_refused_in_words(change):
    with pytest.raises(RunError, match="found|missing"):
        check_facts({**HEAD, **launch_facts(2), **change})

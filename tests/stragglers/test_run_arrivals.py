"""The arrivals of a run: timed calls only, of cells whose stamps say when ranks were ready."""

import numpy as np
import pytest
from interpreters import in_turn, interpreters
from made_runs import build_run

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.stragglers.run_arrivals import arrivals_of_run, nodes_of_ranks

QUICK = ["--launches", 1, "--iters", 8, "--warmups", 2, "--sizes", "1K", "-a", "native", "--no-reference-times"]


def test_plain_stamps_say_nothing_about_lateness(tmp_path):
    folder = build_run(tmp_path / "run", ranks=(2,), launches=1, sizes=(8,), stamps=True, choices={"record": "all"})
    assert any(mark["stamps"] for mark in folder.marks())
    assert arrivals_of_run(folder) == []


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, ((0, 0, 0), ())),
        ({"node_of": [0, 0, 1], "hosts": ["a", "a", "b"]}, ((0, 0, 1), ("a", "b"))),
        ({"node_of": [0, 1, 0], "hosts": ["b", "a", "b"]}, ((0, 1, 0), ("b", "a"))),
        ({"node_of": [0, 0, 1], "hosts": ["a", "a", "a"]}, ((0, 0, 1), ())),  # declared nodes
        ({"node_of": [7, 7, 3]}, ((0, 0, 1), ())),
    ],
)
def test_nodes_are_numbered_by_their_first_ranks(facts, expected):
    assert nodes_of_ranks(facts, 3) == expected


@pytest.mark.parametrize("python", interpreters())
def test_the_slowed_rank_of_eight_that_sleep_arrives_last(python, run_on_ranks, tmp_path):
    in_turn(1, python)
    words = ["--compute", "20ms", "--work", "sleep", "--inject-slowdown", "5:500%"]
    result = run_on_ranks("-n", 8, *QUICK, *words, "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    ((cell, arrivals),) = arrivals_of_run(RunFolder(tmp_path / "run"))
    assert (cell["launch"], cell["competitor"]) == ("8r-1", "native")
    assert arrivals.ready_s.shape == (8, 8) and arrivals.begin_s is not None  # no warm-ups
    assert (arrivals.ready_s.max(axis=1) - arrivals.begin_s <= arrivals.step_s).all()
    assert arrivals.clock_error_s > 0
    assert arrivals.node_of == (0,) * 8 and len(arrivals.nodes) == 1
    late_s = (arrivals.ready_s - arrivals.begin_s[:, None]).min(axis=0)
    assert late_s[5] > 0.119 and np.delete(late_s, 5).min() < 0.119  # busy cores may keep others, but not all of them


def test_a_rank_that_only_waits_in_the_call_is_not_late(tmp_path):
    """Injected by hand: rank 0 leaves each call last, and is ready with the others."""
    from allreduce_bench.stragglers.run_arrivals import _arrivals

    begin = np.array([[0.0, 0.0], [5.0, 5.0], [9.0, 9.0]])
    stamps = np.array([begin, begin + 1, begin + 1, begin + [3.0, 2.0]])
    arrivals = _arrivals(stamps, {"clock_error_s": ""}, {})
    assert arrivals.ready_s.tolist() == [[1, 1], [6, 6], [10, 10]]
    assert arrivals.step_s.tolist() == [3, 3, 3] and arrivals.begin_s.tolist() == [0, 5, 9]

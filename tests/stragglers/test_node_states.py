"""What kernels counted of each node, the worst of all launches."""

from allreduce_bench.stragglers.run_arrivals import NodeState, node_states


def launch(**counted) -> dict:
    use = {"elapsed_s": 10.0, "cpus": 2, "worked_s": 10.0, "stolen_s": 0.0, "own_s": 10.0}
    return {"hosts": ["a", "a", "b"], "counted": [{"host": "a", **use}, {"host": "b", **use, **counted}]}


def test_a_node_has_the_worst_of_its_launches():
    good, hot, busy = launch(), launch(throttled=7, clock=0.4), launch(worked_s=16.0)
    first, second = node_states([good, hot, busy], (0, 0, 1))
    assert first == NodeState() and not first.is_noteworthy
    assert (second.throttled, second.clock, round(second.others, 3)) == (7, 0.4, 0.3) and second.is_noteworthy


def test_a_launch_that_says_nothing_counts_as_nothing():
    assert node_states([{}, {"hosts": ["a"]}, {"hosts": ["a", "b"], "counted": None}], (0, 1)) == (NodeState(),) * 2
    assert node_states([], ()) == ()

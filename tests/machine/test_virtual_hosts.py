"""The finding about virtual hosts: how many, which links, and who shares the cores."""

from made_nodes import found, node

from allreduce_bench.machine.virtual_hosts import describe, virtual_hosts

RATE = 12.5e6


def test_hosts_and_links_are_said():
    assert describe([RATE / 2, RATE]) == "2 virtual hosts of one machine, links of 50 Mbit/s to 100 Mbit/s"
    assert describe([RATE]) == "1 virtual host of one machine, links of 100 Mbit/s"


def test_more_ranks_than_cores_are_a_caution():
    shared, alone = virtual_hosts(4, 2, True, [RATE] * 4), virtual_hosts(2, 2, False, [RATE] * 2)
    assert shared["level"] == "caution" and shared["text"] == (
        "4 virtual hosts of one machine, links of 100 Mbit/s: 4 ranks on 2 cores, waiting ranks yield"
    )
    assert alone["level"] == "info" and alone["text"].endswith(": 2 ranks on 2 cores")


def test_a_launch_on_virtual_hosts_says_so_and_does_not_ask_for_a_fabric():
    wheel = {"library": "MPICH 5.0.2", "from_pypi": True}
    for rates, code in (([RATE] * 4, "virtual"), ([], "pypi")):
        assert [one["code"] for one in found(*map(node, range(4)), ranks=1, mpi=wheel, virtual_rates=rates)] == [code]

"""What joins nodes, and what only looks as if it did."""

from made_nodes import codes, found, interface, node

from allreduce_bench.machine.interfaces import bridges, way_between


def with_docker(number: int, *more: dict) -> dict:
    docker = interface("docker0", "172.17.0.1", 16, True)
    return node(number, interfaces=[docker, interface("eth0", f"10.0.0.{number}", rate=1.25e8), *more])


def test_the_same_bridge_on_every_node_is_named_with_the_way_around_it():
    assert codes(with_docker(1)) == []
    (one,) = found(with_docker(1), with_docker(2), node(3))
    assert (one["code"], one["level"]) == ("interfaces", "caution")
    assert all(words in one["text"] for words in ("docker0 (172.17.0.1/16) has the", "2 nodes", "network between"))
    assert one["advice"].endswith("--interface eth0")


def test_a_bridge_that_is_switched_off_is_no_trouble():
    nodes = [with_docker(1), with_docker(2)]
    nodes[0]["interfaces"][0]["up"] = False
    assert found(*nodes) == []


def test_containers_that_share_the_network_of_their_host_share_its_addresses():
    assert found(with_docker(1), {**with_docker(1), "host": "other"}) == []


def test_virtual_interfaces_with_addresses_of_their_own_are_a_network():
    hosts = [node(i, interfaces=[interface("e0", f"10.1.0.{i}", virtual=True)]) for i in (1, 2, 3)]
    assert found(*hosts) == [] and way_between(hosts) == "e0"


def test_two_interfaces_in_one_range_are_named():
    nodes = [
        node(i, interfaces=[interface("eth0", f"10.0.0.{i}"), interface("eth1", f"10.0.0.{i + 100}")]) for i in (1, 2)
    ]
    (one,) = found(*nodes)
    assert one["text"] == "eth0 and eth1 share an address range on n1, n2"
    assert codes(nodes[0]) == []


def test_the_way_between_is_the_fastest_that_reaches_all():
    nodes = [
        with_docker(i, interface("hsn0", f"10.9.0.{i}", rate=25e9), interface("storage", f"10.{i}.0.1", rate=50e9))
        for i in (1, 2)
    ]
    assert way_between(nodes) == "hsn0"
    assert way_between([with_docker(1), node(2, interfaces=[])]) is None
    assert way_between([with_docker(1), with_docker(1)]) is None


def test_one_node_shows_bridges_that_others_may_have_too():
    (one,) = bridges(with_docker(1))
    assert one["level"] == "info" and "docker0 (172.17.0.1/16)" in one["text"] and "--interface eth0" in one["advice"]
    assert bridges(node(1)) == []

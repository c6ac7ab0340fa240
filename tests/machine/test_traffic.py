"""What the networks carried: counted in files, said in words, and measured between virtual hosts with a known wire."""

import csv
import json
from pathlib import Path

import pytest
from interpreters import in_turn, interpreters
from made_runs import build_run
from measured_runs import bench
from virtual_hosts import INTERFACE, virtual_hosts

from allreduce_bench.evaluation.link_limit import NodeLink, least_s, link_of
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.machine import traffic
from allreduce_bench.report import traffic_sentence
from allreduce_bench.report.table import table

MIB = 1 << 20


def test_counts_survive_the_way_through_a_file_and_idle_virtual_interfaces_are_left_out():
    counts = traffic.total_traffic(
        [traffic.per_call({"e0": 100, "lo": 5}, {"e0": 1100, "lo": 5}, 10), {"e0": 7, "hsn0": 0}]
    )
    assert counts == {"e0": 107, "lo": 0, "hsn0": 0}
    assert traffic.format_traffic(counts) == "e0=107 hsn0=0"
    assert traffic.parse_traffic("e0=107 hsn0=0") == {"e0": 107, "hsn0": 0}
    assert traffic.parse_traffic("mlx5_0:1=9 broken =3 x=-1") == {"mlx5_0:1": 9}
    assert traffic.per_call(None, None, 3) == {} and traffic.per_call({"e0": 1}, {"e0": 2}, 0) == {}


def row(text: str | None, internode: int | None, nbytes: int = MIB) -> dict:
    return {"wire": text, "internode_nbytes": internode, "nbytes": nbytes}


@pytest.mark.parametrize(
    "rows, says",
    [
        ([row("hsn0=1070000 eth0=0", MIB), row("hsn0=2140000 eth0=0", 2 * MIB)], "1.02 x on hsn0, 0 on eth0"),
        ([row("eth0=40 lo=3", 0)], "nothing on the network from 1 MiB up: one node, shared memory"),
        ([row("lo=1048576", 0)], "one node, but its interfaces sent from 1 MiB up: 1.00 x the vectors on lo"),
        ([row("hsn0=1", None), row("hsn0=1", 8, nbytes=8), row(None, MIB)], None),
    ],
)
def test_the_sentence(rows, says):
    said = traffic_sentence.sentence(rows)
    assert said is None if says is None else says in said


def test_the_limit_takes_the_links_that_carried_the_bytes():
    machine = {"interfaces": [{"name": "a0", "rate_bytes_per_s": 1e9}, {"name": "b0", "rate_bytes_per_s": None}]}
    two_nodes, carried = [{"nodes": 2, "machines": [machine, machine]}], [{"wire": "a0=1000 b0=3 lo=9999"}]
    assert link_of(None, carried, two_nodes) == NodeLink(1e9, "a0, 8 Gbit/s as the system says")
    assert link_of(None, [{"wire": "a0=1000 b0=900"}], two_nodes) is None  # b0 does not say its rate
    assert link_of(5e8, carried, two_nodes) == NodeLink(5e8, "a0, 4 Gbit/s as --link-rate says")
    assert link_of(5e8, carried, [{"nodes": 1, "machines": [machine]}]) is None
    fabric = [{"nodes": 2, "machines": [{"port_rates_bytes_per_s": {"mlx5_0:1": 25e9}}] * 2}]
    assert link_of(None, [{"wire": "mlx5_0:1=1000"}], fabric) == NodeLink(
        25e9, "mlx5_0:1, 200 Gbit/s as the system says"
    )
    assert least_s(1000, 4, NodeLink(100.0, "")) == pytest.approx(15.0)


def test_the_table_gives_the_share_of_the_limit(tmp_path):
    folder = build_run(
        tmp_path / "run",
        ranks=[4],
        facts={"nodes": 2, "hosts": ["n1", "n1", "n2", "n2"]},
        outcome=lambda launch, cell: {"nodes": 2, "wire": "hsn0=4000000", "internode_nbytes": 3900000},
    )
    plan = json.loads(folder.run_json.read_text())
    plan["plan"]["link_rate_bytes_per_s"] = 1e10
    folder.run_json.write_text(json.dumps(plan))
    rows = summarise(folder)
    large = [one for one in rows if one["nbytes"] == 1 << 22 and one["algorithm"] == "ring"][0]
    assert large["limit_s"] == pytest.approx((1 << 22) / 1e10)
    assert large["of_limit"] == pytest.approx(large["limit_s"] / large["time_s"])
    text = table(folder.plan(), rows, "an MPI")
    assert "limit: 2(N-1)/N n bytes of each of N nodes over hsn0, 80 Gbit/s as --link-rate says" in text
    best = min(one["time_s"] for one in rows if one["nbytes"] == 1 << 22)
    assert f" {(1 << 22) / 1e10 / best:.0%} " in text


def rows_of(folder: Path) -> dict[tuple[str, int], dict]:
    with open(folder / "summary.csv", newline="") as file:
        return {(line["algorithm"], int(line["nbytes"])): line for line in csv.DictReader(file)}


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_between_two_hosts_the_wire_carries_what_the_schedules_send(python, tmp_path):
    in_turn(1, python)
    folder, words = tmp_path / "run", ["-n", 4, "--sizes", "1M,4M", "-a", "native,ring,hierarchical_ring"]
    words += ["--launches", 1, "--iters", 3, "--warmups", 1, "--interface", INTERFACE, "--link-rate", "500Mbit"]
    with virtual_hosts(2, "500mbit") as hosts:
        start = ["--hosts", ",".join(hosts.names), "--remote-shell", hosts.agent, "--timeout", "60s"]
        transport = ["env", "UCX_TLS=tcp,self"]  # or MPICH takes the hosts' common memory for theirs
        command = [*transport, python, "-m", "allreduce_bench", "run", *words, *start, "-o", folder]
        result = hosts.run(0, command)
    assert result.returncode == 0, result.stderr
    rows = rows_of(folder)
    for nbytes in (MIB, 4 * MIB):
        for algorithm, sent in (("ring", 2 * 3 / 4 * 2), ("hierarchical_ring", 2 * (2 - 1) / 2 * 2)):
            line = rows[algorithm, nbytes]
            assert int(line["internode_nbytes"]) == pytest.approx(sent * nbytes, rel=0.01)
            assert 1.0 <= traffic.parse_traffic(line["wire"])[INTERFACE] / int(line["internode_nbytes"]) <= 1.1, line
            assert 0 < float(line["of_limit"]) <= 1.05
    assert "4 ranks on 2 nodes" in result.stdout
    assert f"x on {INTERFACE}" in result.stdout and "500 Mbit/s as --link-rate says" in result.stdout


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_with_shared_memory_nothing_is_on_the_network(tmp_path):
    folder, words = tmp_path / "run", ["-n", 2, "--sizes", "1M", "-a", "ring", "--launches", 1, "--iters", 20]
    result = bench(interpreters()[0], "run", *words, "-o", folder)
    assert "nothing on the network from 1 MiB up: one node, shared memory" in result.stdout
    line = rows_of(folder)["ring", MIB]
    assert line["internode_nbytes"] == "0" and sum(traffic.parse_traffic(line["wire"]).values()) < 0.01 * MIB

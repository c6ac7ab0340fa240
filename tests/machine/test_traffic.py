"""What the networks carried: counted in files, said in words, and measured between virtual hosts with a known wire."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner
from interpreters import in_turn, interpreters
from virtual_hosts import INTERFACE, virtual_hosts

from allreduce_bench.cli import main
from allreduce_bench.machine.traffic import format_traffic, parse_traffic, per_call, total_traffic

MIB = 1 << 20


def test_counts_survive_the_way_through_a_file_and_idle_virtual_interfaces_are_left_out():
    counts = total_traffic([per_call({"e0": 100, "lo": 5}, {"e0": 1100, "lo": 5}, 10), {"e0": 7, "hsn0": 0}])
    assert counts == {"e0": 107, "lo": 0, "hsn0": 0}
    assert format_traffic(counts) == "e0=107 hsn0=0"
    assert parse_traffic("e0=107 hsn0=0") == {"e0": 107, "hsn0": 0}
    assert parse_traffic("mlx5_0:1=9 broken =3 x=-1") == {"mlx5_0:1": 9}
    assert per_call(None, None, 3) == {} and per_call({"e0": 1}, {"e0": 2}, 0) == {}


def rows_of(folder: Path) -> dict[tuple[str, int], dict]:
    with open(folder / "summary.csv", newline="") as file:
        return {(line["competitor"], int(line["size_bytes"])): line for line in csv.DictReader(file)}


@pytest.mark.slow
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
    for size_bytes in (MIB, 4 * MIB):
        for algorithm, sent in (("ring", 2 * 3 / 4 * 2), ("hierarchical_ring", 2 * (2 - 1) / 2 * 2)):
            line = rows[algorithm, size_bytes]
            assert int(line["internode_nbytes"]) == pytest.approx(sent * size_bytes, rel=0.01)
            assert 1.0 <= parse_traffic(line["wire"])[INTERFACE] / int(line["internode_nbytes"]) <= 1.1, line
            own_s = int(line["internode_nbytes"]) / 2 / 62.5e6  # half of the bytes leave each node, at 500 Mbit/s
            assert float(line["own_limit_s"]) == pytest.approx(own_s) and line["limit_by"] == "links"
            share = float(line["limit_s"]) / float(line["time_s"])  # buffers send the last bytes after the call
            assert 0 < share <= 1.05 and line["of_limit"] == ("" if share > 1 else line["of_limit"]) != "0"
    assert "4 ranks on 2 nodes" in result.stdout
    shown = CliRunner().invoke(main, ["show", "-v", str(folder)]).stdout
    assert f"x on {INTERFACE}" in shown and "N nodes" in shown

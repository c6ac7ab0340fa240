"""Whole runs over two virtual hosts: the ranks are where they were asked for, and the wire carries their messages."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from interpreters import in_turn, interpreters
from places import ROOT
from virtual_hosts import INTERFACE, VirtualHosts, virtual_hosts

from allreduce_bench.lab.lab import AGENT_SCRIPT

UNRESOLVED = re.search(r'echo "(.*)\$1"', AGENT_SCRIPT)[1]

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
NBYTES = 1 << 20


@pytest.fixture(scope="module")
def hosts():
    with virtual_hosts(2) as made:
        yield made


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def run_on(hosts: VirtualHosts, python: Path, *words):
    """`run` inside h1, with a remote shell that gives the other hosts a fresh environment, as ssh does."""
    few = ["--launches", 1, "--identify=never"]
    program = [python, "-m", "allreduce_bench", "run", *few, "--remote-shell", hosts.agent]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return hosts.run(0, [*program, *words], env=environ, stdin=subprocess.DEVNULL)


def facts_of(folder: Path, ranks: int) -> dict:
    return json.loads((folder / "launches" / f"{ranks}r-1.1.json").read_text())


def test_ranks_are_spread_over_the_hosts_and_their_messages_are_on_the_wire(hosts, python, tmp_path):
    in_turn(0, python)
    many = 2 * (os.cpu_count() or 1) + 2  # more than cores
    if many > 20:
        pytest.skip(f"{many} ranks would be too many for one machine")
    words = ["-n", f"2,{many}", "--sizes", NBYTES, "-a", "ring", "--iters", 3, "--no-reference-times"]
    before = hosts.sent_nbytes(0)
    result = run_on(hosts, python, *words, "--hosts", "h1,h2", "--interface", INTERFACE, "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    heads = re.findall(r"(\d+) ranks on 2 nodes", result.stdout)
    assert heads == ["2", str(many)] and "2 of 2 cells done, 0 wrong elements." in result.stdout
    for ranks in (2, many):
        facts = facts_of(tmp_path / "run", ranks)
        assert facts["hosts"] == ["h1"] * (ranks // 2) + ["h2"] * (ranks // 2) and facts["nodes"] == 2
        assert facts["layout"] == f"2x{ranks // 2}" and facts["oversubscribed"] == (ranks == many)
        assert facts["variables"]["UCX_NET_DEVICES"] == INTERFACE
    facts = facts_of(tmp_path / "run", 2)
    assert len(facts["binding"]) == 2 and all(facts["binding"])
    assert hosts.sent_nbytes(0) - before > 3 * NBYTES * 2  # a ring over two hosts: at least n over the link, twice


def test_a_host_file_places_and_binds_the_ranks(hosts, python, tmp_path):
    in_turn(1, python)
    (tmp_path / "hosts").write_text("h2 slots=1\nh1:2   # the second\n")
    words = ["-n", 3, "--sizes", 8, "-a", "ring", "--iters", 3, "--no-reference-times", "-o", tmp_path / "run"]
    result = run_on(hosts, python, *words, "--hosts", tmp_path / "hosts", "--bind-to", "core")
    assert result.returncode == 0, result.stderr
    facts = facts_of(tmp_path / "run", 3)
    assert facts["hosts"] == ["h2", "h1", "h1"] and facts["layout"] == "1+2"
    assert facts["binding"][1] != facts["binding"][2] or os.cpu_count() == 1
    assert "measure --launch 3r-1" in facts["command"]  # known though rank 0 is elsewhere


def test_a_host_that_does_not_answer_is_named_before_anything_is_written(hosts, tmp_path):
    words = ["-n", 2, "--sizes", 8, "-o", tmp_path / "run", "--hosts", "h1,h2,nobody"]
    result = run_on(hosts, interpreters()[0], *words)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert re.search(
        "error: .*'nobody' does not" + ".*" + rf" \({UNRESOLVED}nobody\)",
        result.stderr,
    )
    assert not (tmp_path / "run").exists()

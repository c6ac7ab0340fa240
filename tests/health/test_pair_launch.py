"""A check of nodes goes on without what fails: a rank that dies, one that is stopped, a host that does not respond."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from places import ROOT
from virtual_hosts import INTERFACE, virtual_hosts

from allreduce_bench.health.pair_folder import PairFolder, failed_pairs, whole_pairs

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
RANK_VARIABLES = (b"OMPI_COMM_WORLD_RANK=2", b"PMI_RANK=2")


def rank_2(folder: Path) -> int | None:
    """The process of rank 2 of the launch that measures into the folder; None: there is none."""
    for place in filter(lambda path: path.name.isdigit(), Path("/proc").iterdir()):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            environ = (place / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(folder).encode() in words and words[0].endswith(b"python") and set(RANK_VARIABLES) & set(environ):
            return int(place.name)
    return None


def wait_for_rounds(process: subprocess.Popen, folder: PairFolder) -> int:
    """Until the first round is kept; then the process of rank 2. Fails an assertion where it does not come."""
    deadline = time.monotonic() + 240
    while not folder.pairs_csv.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    number = rank_2(folder.path)
    assert number is not None, process.communicate(timeout=240)
    return number


@pytest.mark.parametrize(
    ("turn", "number", "why"),
    [(0, signal.SIGKILL, ("rank 2 on h3 died",)), (1, signal.SIGSTOP, ("no message from h3 for 3 s", "h3"))],
    ids=["dies", "is stopped"],
)
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_the_pair_of_a_rank_that_fails_is_noted_and_all_others_are_measured(python, turn, number, why, tmp_path):
    if number == signal.SIGSTOP and not FULL:
        pytest.skip("it waits for timeouts; ALLREDUCE_BENCH_FULL=1 has it")
    in_turn(turn, python)
    folder, environ = PairFolder(tmp_path / "health"), {**os.environ, "PYTHONPATH": str(ROOT)}
    timeout = "3s" if number == signal.SIGSTOP else "60s"  # ranks on busy cores may be silent for long
    with virtual_hosts(4, rate="400mbit") as hosts:
        words = [
            "--remote-shell",
            hosts.agent,
            "--timeout",
            timeout,
            "-o",
            folder.path,
            "--hosts",
            "h1,h2,h3,h4,nobody",
        ]
        health = hosts.command(0, [python, "-m", "allreduce_bench", "health", *words])
        process = subprocess.Popen(
            health, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        victim = wait_for_rounds(process, folder)
        os.kill(victim, number)
        printed, said = process.communicate(timeout=240)
    assert process.returncode == 1, said
    failed = failed_pairs(folder.rows())
    (pair,) = failed
    assert "h3" in pair and any(words in failed[pair] for words in why), failed
    assert len(whole_pairs(folder.rows(), folder.read_settings())) == 5
    assert "nobody: 4 of its 4 pairs failed" in printed and "'nobody' does not" in printed
    assert f"link {'+'.join(sorted(pair))} failed: " in printed


TWO_ROUNDS = """
import sys
from allreduce_bench.cli import main
from allreduce_bench.health import check, pair_launch, rounds
rounds.MOST_FOR_ALL = pair_launch.MOST_FOR_ALL = check.MOST_FOR_ALL = 3
main(sys.argv[1:])
"""


@pytest.mark.skipif(not FULL, reason="ALLREDUCE_BENCH_FULL=1 has it")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_many_nodes_have_two_rounds_and_suspects_are_measured_again_alone(python, tmp_path):
    folder, environ = PairFolder(tmp_path / "health"), {**os.environ, "PYTHONPATH": str(ROOT)}
    with virtual_hosts(8, rate="200mbit") as hosts:
        slow = ["tc", "qdisc", "replace", "dev", INTERFACE, "root", "tbf", "rate", "50mbit", "burst", "64kb"]
        hosts.run(2, [*slow, "latency", "400ms"], check=True)
        words = ["--remote-shell", hosts.agent, "-o", folder.path, "--hosts", ",".join(hosts.names)]
        result = hosts.run(0, [python, "-c", TWO_ROUNDS, "health", *words], env=environ, stdin=subprocess.DEVNULL)
    assert result.returncode == 1 and "node h3: slow in bandwidth" in result.stdout, result.stdout + result.stderr
    rounds = {row.round for row in folder.rows() if not row.alone}
    alone = [{row.source, row.dest} for row in folder.rows() if row.alone]
    assert rounds == {1, 2} and "4 pairs" in result.stderr
    assert any("h3" in pair for pair in alone) and any("h3" not in pair for pair in alone)

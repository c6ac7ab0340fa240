"""`lab ping`: a ping-pong between two virtual hosts, and its sentence."""

import pytest
from interpreters import in_turn, interpreters
from measured_runs import bench

from allreduce_bench.cli.types import OneLineError
from allreduce_bench.lab.command import Ping, measure, ping_sentence
from allreduce_bench.lab.lab import Lab
from allreduce_bench.launching.launcher import Launcher
from allreduce_bench.machine.virtual_hosts import bucket_nbytes


def test_the_sentence_has_latency_rate_and_share():
    long_s = ((1 << 20) - bucket_nbytes(12.5e6)) / 12.4e6
    said = ping_sentence(Ping(short_s=31e-6, exchange_s=42e-6, long_s=long_s, long_nbytes=1 << 20), 12.5e6)
    assert "31.0 us one way, 42.0 us both" in said


def test_a_launcher_that_fails_is_one_line(monkeypatch):
    for name, value in Lab((12.5e6, 12.5e6), (1, 2)).variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("allreduce_bench.lab.command.find_launcher", lambda start: Launcher("false", "", "plain"))
    monkeypatch.setattr(
        "allreduce_bench.lab.command.mpirun_command", lambda *words: ["sh", "-c", "echo no >&2; exit 3"]
    )
    with pytest.raises(OneLineError, match="lab ping.*failed: no"):
        measure()


@pytest.mark.usefixtures("needs_lab")
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_ping_pong_shows_the_rate_of_the_link(python):
    in_turn(1, python)
    result = bench(python, "lab", "ping", "--rate", "50mbit")
    assert result.returncode == 0 and result.stdout.startswith("ping-pong: 8 B take "), result.stderr
    assert float(result.stdout.split(" goes at ")[1].split()[0]) < 51

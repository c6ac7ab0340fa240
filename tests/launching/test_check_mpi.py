"""The lines of `doctor` about the MPI and its ranks."""

import sys

import pytest

from allreduce_bench.launching import check_mpi
from allreduce_bench.launching.find import Launcher
from allreduce_bench.machine.checks import Check
from allreduce_bench.machine.findings import pypi_finding, singletons

NODE: dict = {"port_rates_bytes_per_s": {}}
FABRIC = {"port_rates_bytes_per_s": {"mlx5_0:1": 25e9}}
HELLO = (
    'print(\'noise\\nallreduce-bench hello: {"seen": SEEN, "transport": null, "thread_level": "single", '
    '"import_s": IMPORT, "init_s": 1, "first_s": 1, "call_s": 1e-7, "sendrecv_s": 1e-6}\')'
)


@pytest.fixture
def ranks(monkeypatch):
    """What is checked when the launcher runs this Python program instead of ranks."""
    monkeypatch.setattr(
        check_mpi, "library", lambda: {"library": "X", "standard": "4.0", "path": "", "from_pypi": False}
    )
    monkeypatch.setattr(check_mpi, "find_launcher", lambda: Launcher("mpirun", "X", "plain"))
    monkeypatch.setattr(check_mpi, "idle_scheduler", lambda environ: None)

    def run(program: str) -> list[Check]:
        monkeypatch.setattr(check_mpi, "mpirun_command", lambda *_: [sys.executable, "-c", program])
        return [check for check in check_mpi.mpi_checks(NODE, True) if check.name in ("ranks", "start", "calls")]

    return run


def test_ranks_that_are_alone_are_named(ranks):
    (check,) = ranks(HELLO.replace("SEEN", "1").replace("IMPORT", "1"))
    assert (check.level, check.text) == ("severe", singletons(2, 1)["text"])


def test_a_slow_import_is_named(ranks):
    seen, start, _ = ranks(HELLO.replace("SEEN", "2").replace("IMPORT", "30"))
    assert (seen.level, start.level) == ("ok", "caution") and "local disk" in start.advice
    assert "an unknown transport" in seen.text


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import sys; sys.stderr.write('-----\\n\\n  no slots  \\nmore\\n'); sys.exit(3)", "status 3: no slots"),
        ("print('hello?')", "status 0: no message"),
    ],
)
def test_ranks_that_fail_are_quoted(ranks, program, why):
    (check,) = ranks(program)
    assert check.level == "severe" and f"started: exit {why}" in check.text
    assert check.advice.startswith(check_mpi.BY_HAND)


def test_ranks_that_hang_are_ended_and_the_interface_is_suspected(ranks, monkeypatch):
    monkeypatch.setattr(check_mpi, "PATIENCE_S", 0.5)
    monkeypatch.setattr(check_mpi, "reachable", list)
    (check,) = ranks("import time; time.sleep(600)")
    assert check.level == "severe" and "no response within" in check.text and "--interface NAME" in check.advice


def test_an_mpi_from_pypi_on_a_cluster_is_named(ranks, monkeypatch):
    wheel = {"library": "Open MPI 5", "standard": "3.1", "path": "/v/lib/libmpi.so", "from_pypi": True}
    monkeypatch.setattr(check_mpi, "library", lambda: wheel)
    lines = [check for check in check_mpi.mpi_checks({**NODE, **FABRIC}, False) if check.name == "MPI"]
    assert [check.level for check in lines] == ["ok", "severe"]
    assert lines[1].text == pypi_finding("Open MPI 5", "on a cluster", [FABRIC])["text"]
    assert [check.level for check in check_mpi.mpi_checks(NODE, False) if check.name == "MPI"] == ["ok"]

"""The demo's part on virtual hosts: it measures, compares with the rate that was set, or says in a line why not."""

import pytest
from interpreters import interpreters

from allreduce_bench.lab import command


def test_where_there_can_be_none_a_line_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(command, "why_no_lab", lambda: "virtual hosts need root")
    assert command.measure_lab(tmp_path / "lab") is None and not (tmp_path / "lab").exists()
    said = capsys.readouterr().err
    assert "demo leaves" in said and "hosts: virtual hosts need root" in said


def test_a_run_that_fails_does_not_fail_the_demo(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(command, "why_no_lab", str)
    monkeypatch.setattr(command, "_run", lambda *words: 1)
    assert command.measure_lab(tmp_path / "lab") is None
    assert "run over" in capsys.readouterr().err


@pytest.mark.usefixtures("needs_lab")
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_the_rate_that_was_set_stands_beside_the_fitted_one(monkeypatch, capfd, tmp_path):
    monkeypatch.setattr(command, "HOSTS", 3)
    monkeypatch.setattr(command, "RUN_OPTIONS", ("-n", "2,3", "-a", "ring", "--sizes", "8,64K,256K"))
    monkeypatch.setattr(command, "REPETITIONS", ("--launches", "1", "--iters", "3"))
    folder = command.measure_lab(tmp_path / "lab")
    said = capfd.readouterr()
    assert folder is not None and len(folder.plan().start.virtual_rates_bytes_per_s) == 3
    assert "80590 ps/byte" in said.err

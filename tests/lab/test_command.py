"""`lab` and `run --virtual-hosts`: whole runs over virtual hosts, on both MPIs; refusals; nothing is left."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from interpreters import in_turn, interpreters
from measured_runs import bench, nobody_is_left, one_line_error, wait_for_cells, with_package

from allreduce_bench.cli import main
from allreduce_bench.machine.virtual_hosts import bucket_nbytes
from allreduce_bench.runs.folder import RunFolder

MIB = 1 << 20
QUICK = ("--launches", 1, "--warmups", 1, "--iters", 3, "--no-reference-times")
needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--virtual-hosts", "2", "--hosts", "n1"], re.escape("--virtual-hosts and --hosts both name hosts")),
        (["run", "-n", "2", "--link-rate", "1Mbit,2Mbit"], "several rates"),
        (
            ["lab", "run", "--", "bash"],
            re.escape("one of the commands run, workload, health, doctor, exec, survive, which, found 'bash'"),
        ),
        (["lab", "shell", "--hosts", "99"], "99 virtual.*they share"),
    ],
)
def test_bad_usage_is_one_sentence_and_starts_nothing(words, said, tmp_path):
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and re.search(said, result.output) and result.output.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("needs_lab")
@needs_mpi
def test_the_hosts_of_a_run_are_recorded_as_virtual_and_their_links_carry_its_bytes(python, tmp_path):
    folder = tmp_path / "run"
    words = ["-n", "2,4", "-a", "ring,native", "--sizes", "8,256K", *QUICK, "--identify=never", "-o", folder]
    rates = "200mbit,100mbit"
    result = bench(python, "lab", "run", "--hosts", 2, "--rate", rates, "--", "run", "--ranks-per-node", 2, *words[2:])
    assert result.returncode == 0, result.stderr
    assert "4 ranks on 2 nodes" in result.stdout and "4 of 4 cells done, 0 wrong elements." in result.stdout
    assert "N nodes" in result.stdout
    assert "2 virtual hosts" in result.stderr and "links of 100 Mbit/s to 200 Mbit/s: 4 ranks on" in result.stderr
    run = RunFolder(folder)
    assert run.plan().start.virtual_rates_bytes_per_s == (25e6, 12.5e6) and run.plan().ranks == (4,)
    (facts,) = run.attempts()
    assert facts["hosts"] == ["h1", "h1", "h2", "h2"] and "virtual" in [found["code"] for found in facts["findings"]]
    marks = [mark for mark in run.marks() if mark["competitor"] == "ring" and int(mark["size_bytes"]) == MIB // 4]
    carried = int(marks[0]["wire"].split("e0=")[1].split()[0])
    assert 1.0 <= carried / int(marks[0]["internode_nbytes"]) < 1.5  # what is lost is sent again


@pytest.mark.slow
@pytest.mark.usefixtures("needs_lab")
@needs_mpi
def test_no_call_is_faster_than_the_link_allows_and_large_ones_are_near_it(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-a", "ring", "--sizes", 2 * MIB, *QUICK, "-o", folder]
    result = bench(python, "run", "--virtual-hosts", 2, "--link-rate", "100mbit", *words)
    assert result.returncode == 0, result.stderr
    with open(folder / "summary.csv") as file:
        names, values = (line.rstrip("\n").split(",") for line in file)
    row = dict(zip(names, values))
    least_s = (2 * MIB - bucket_nbytes(12.5e6)) / 12.5e6  # 2 (N-1)/N n over the link; what a bucket holds is free
    assert float(row["limit_s"]) == pytest.approx(least_s) and float(row["time_s"]) > 0.98 * least_s


@pytest.mark.usefixtures("needs_lab")
@needs_mpi
def test_a_run_that_was_interrupted_is_resumed_on_virtual_hosts_of_its_own(python, tmp_path):
    in_turn(0, python)
    folder = tmp_path / "run"
    words = ["--virtual-hosts", 2, "--link-rate", "20mbit", "-a", "ring,native", "--sizes", "8,16,32,256K", *QUICK]
    words += ["-o", folder]
    command = [python, "-m", "allreduce_bench", "run", *words]
    process = subprocess.Popen([*map(str, command)], env=with_package(), stderr=subprocess.PIPE, text=True)
    wait_for_cells(process, folder, 1)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=240)[1]
    assert process.returncode == 130 and f"allreduce-bench run --resume -o {folder}" in said
    nobody_is_left(folder)
    other = bench(python, "lab", "run", "--hosts", 3, "--", "run", "--resume", "-o", folder)
    assert "measured on 2 virtual hosts of one machine, links of 20 Mbit/s" in one_line_error(other)
    resumed = bench(python, "run", "--resume", "-o", folder)
    assert resumed.returncode == 0 and "8 of 8 cells done" in resumed.stdout, resumed.stderr


@pytest.mark.usefixtures("needs_lab")
@needs_mpi
def test_nothing_is_left_of_a_run_that_is_killed(python, tmp_path):
    in_turn(1, python)
    folder, before = tmp_path / "run", interfaces()
    words = ["--virtual-hosts", 2, "-a", "ring", "--sizes", "8,16,32,64,128,2M", *QUICK, "-o", folder]
    command = [python, "-m", "allreduce_bench", "run", *words]
    process = subprocess.Popen([*map(str, command)], env=with_package(), stderr=subprocess.DEVNULL)
    wait_for_cells(process, folder, 1)
    process.kill()
    process.wait(timeout=240)
    nobody_is_left(folder)
    assert interfaces() == before and json.loads((folder / "run.json").read_text())["plan"]["competitors"] == ["ring"]


def interfaces() -> list[str]:
    return sorted(os.listdir("/sys/class/net"))


@pytest.mark.usefixtures("needs_lab")
@needs_mpi
def test_a_shell_is_on_the_first_host(python):
    in_turn(0, python)
    command = [str(python), "-m", "allreduce_bench", "lab", "shell", "--hosts", "2", "--rate", "50mbit"]
    environ = {**with_package(), "SHELL": "/bin/bash"}
    typed = "hostname; tc qdisc show dev e0; exit 4\n"
    result = subprocess.run(command, env=environ, input=typed, capture_output=True, text=True, timeout=240)
    assert result.returncode == 4 and result.stdout.startswith("h1\n") and "rate 50Mbit" in result.stdout
    assert "h1 of 2 virtual hosts of one machine, links of 50 Mbit/s" in result.stderr

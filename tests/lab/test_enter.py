"""Commands in a lab: where they run, what they are told, which signals they get, and which status comes back."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from places import ROOT

from allreduce_bench.lab.lab import Lab, LabEnded, lab_around, run_in_lab

LEFT = "a process of the lab is left"

pytestmark = pytest.mark.usefixtures("needs_lab")
RATE = 12.5e6
ENTER = """import os, sys
from allreduce_bench.lab.lab import run_in_lab
sys.exit(run_in_lab([12.5e6], sys.argv[1:], os.environ))
"""


def test_a_command_runs_on_the_first_host_in_this_folder_and_knows_the_lab(capfd, tmp_path):
    words = ["bash", "-c", "hostname; pwd; echo $MINE; echo $UCX_TLS; echo $ALLREDUCE_BENCH_LAB; exit 7"]
    assert run_in_lab([RATE, RATE / 2], words, {**os.environ, "MINE": "1"}) == 7
    host, folder, mine, transport, variable = capfd.readouterr().out.splitlines()
    assert (host, folder, mine, transport) == ("h1", str(tmp_path), "1", "tcp,self")
    lab = lab_around({"ALLREDUCE_BENCH_LAB": variable})
    assert isinstance(lab, Lab) and lab.rates_bytes_per_s == (RATE, RATE / 2)


def test_one_host_reaches_another_through_the_agent(capfd):
    words = ["/dev/shm/agent", "-x", "h2", "hostname; echo [$MINE]; /dev/shm/agent h1 hostname"]
    assert run_in_lab([RATE, RATE], words, {**os.environ, "MINE": "1"}) == 0
    assert capfd.readouterr().out == "h2\n[]\nh1\n"


def test_a_signal_that_ends_the_command_is_its_status_and_is_said():
    with pytest.raises(LabEnded, match="was killed by SIGTERM") as ended:
        run_in_lab([RATE], ["bash", "-c", "kill -TERM $$"], os.environ)
    assert ended.value.exit_code == 128 + signal.SIGTERM


@pytest.mark.parametrize("who", ["the holder", "the first process in it"])
def test_a_lab_that_is_killed_is_said_and_leaves_nothing(tmp_path, who):
    ready, seconds = tmp_path / "ready", f"{10_000 + os.getpid()}.25"  # which nobody else sleeps

    def kill() -> None:
        while not ready.exists():
            time.sleep(0.02)
        (holder,) = (pid for pid in children(os.getpid()) if Path(f"/proc/{pid}/comm").read_text() == "unshare\n")
        os.kill(holder if who == "the holder" else children(holder)[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(LabEnded, match="was killed by SIGKILL") as ended:
        run_in_lab([RATE], ["bash", "-c", f"touch {ready}; sleep {seconds}"], os.environ)
    killer.join()
    assert ended.value.exit_code == 128 + signal.SIGKILL
    deadline = time.time() + 240
    while sleeps_are_left(seconds):
        assert time.time() < deadline, LEFT
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(word) for task in tasks for word in (task / "children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_reach_the_command_once_and_it_ends_in_its_own_time(number):
    trap = f"trap 'echo got; sleep 0.2; echo ended; exit 5' {number.value}; echo ready; while :; do sleep 0.05; done"
    command = [sys.executable, "-c", ENTER, "bash", "-c", trap]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    while not catches(process.pid, signal.SIGUSR1):  # the last of those that it passes on
        time.sleep(0.01)
    os.killpg(process.pid, number)  # as a terminal does
    assert process.communicate(timeout=240)[0] == "got\nended\n" and process.returncode == 5


def catches(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) >> (number - 1) & 1)


def sleeps_are_left(seconds: str) -> bool:
    return subprocess.run(["pgrep", "-f", f"sleep {seconds}$"], capture_output=True, check=False).returncode == 0

"""Hosts are asked all at once, in ssh's words, each for a bounded time; and only where somebody has to reach them."""

import subprocess
from pathlib import Path

import pytest

from allreduce_bench.launching import silent_hosts
from allreduce_bench.launching.launcher import LaunchError
from allreduce_bench.launching.silent_hosts import refuse_silent_hosts
from allreduce_bench.machine.node import host
from allreduce_bench.runs.start import Start

ABSENT = "'a', 'b', 'c' and 1 more do not respond"


def shell(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def asked(record: Path) -> list[str]:
    return sorted(record.read_text().splitlines()) if record.exists() else []


def test_ssh_is_told_to_give_up_soon_and_to_ask_for_no_password(tmp_path):
    ssh = shell(tmp_path / "ssh", f'echo "$@" >> {tmp_path}/asked')
    refuse_silent_hosts(Start(hosts=("a", "b:2", "localhost", host()), remote_shell=f"{ssh} -p 22"))
    options = "-p 22 -o ConnectTimeout=5 -o BatchMode=yes"
    assert asked(tmp_path / "asked") == [f"{options} a true", f"{options} b true"]


def test_another_remote_shell_gets_the_host_and_the_command(tmp_path):
    agent = shell(tmp_path / "agent", f'echo "$@" >> {tmp_path}/asked')
    refuse_silent_hosts(Start(hosts=("a",), remote_shell=agent))
    assert asked(tmp_path / "asked") == ["a true"]


def test_a_host_that_hangs_is_silent_and_so_are_all_beside_it(tmp_path, monkeypatch):
    def run(command, timeout, **options):
        return ended(command, timeout=timeout if command[1] == "good" else 0.3, **options)

    ended = subprocess.run
    monkeypatch.setattr(silent_hosts.subprocess, "run", run)
    monkeypatch.setattr(silent_hosts, "PATIENCE_S", 60)
    agent = shell(tmp_path / "agent", '[ "$1" = good ] || exec sleep 100')
    with pytest.raises(LaunchError, match=ABSENT + r" \(agent: no response"):
        refuse_silent_hosts(Start(hosts=("good", "a", "b", "c", "d"), remote_shell=agent))


def test_a_remote_shell_that_says_nothing_is_known_by_its_status(tmp_path):
    agent = shell(tmp_path / "agent", "exit 3")
    with pytest.raises(LaunchError, match=r"'a' does not respond \(agent: exit status 3\)"):
        refuse_silent_hosts(Start(hosts=("a",), remote_shell=agent))


def test_inside_a_slurm_job_ssh_is_not_needed(monkeypatch, tmp_path):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    refuse_silent_hosts(Start(hosts=("nobody.invalid",)))
    agent = shell(tmp_path / "agent", "exit 3")
    with pytest.raises(LaunchError):
        refuse_silent_hosts(Start(hosts=("nobody.invalid",), remote_shell=agent))

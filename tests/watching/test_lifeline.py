"""What ties ranks to their starter: the variable of the switches, and SIGUSR1, the warning of a time limit."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from measured_runs import LONG_RUN, bench, done, mpirun, ranks, wait_for_cells, wait_until_nobody_measures

from allreduce_bench.watching.lifeline import WarningFlag, switch_variables, switches_of_hosts

TO_CONTINUE = "job is near.*; left: 2r-1; .*to continue"

LEFT = r"the job is near its time limit: (\d+) of 24 cells left"

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def start(python: Path, folder: Path, *more: object) -> subprocess.Popen:
    words = ["run", "-n", 2, *LONG_RUN, "--launches", 2, "-o", folder, *more]
    command = [str(python), "-m", "allreduce_bench", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_flag_passes_on_what_comes_and_what_came():
    heard, warning = [], WarningFlag()
    warning.forward_to(lambda: heard.append("early"))
    assert not warning.is_set and heard == []
    warning.set()
    warning.forward_to(None)
    warning.set()
    assert warning.is_set and heard == ["early"]
    warning.forward_to(lambda: heard.append("late"))
    assert heard == ["early", "late"]


def test_the_signal_is_the_warning():
    before, warning = signal.getsignal(signal.SIGUSR1), WarningFlag()
    try:
        warning.listen()
        os.kill(os.getpid(), signal.SIGUSR1)
        assert warning.is_set
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_switches_reach_rank_0_by_host_with_or_without_its_domain():
    (value,) = switch_variables({"n1": "s0/s1", "n2": "s0/s1", "n3": "s0/s2"}).values()
    assert switches_of_hosts(value, ["n1", "n3.site.org", "n1", "n9"]) == {"n1": "s0/s1", "n3.site.org": "s0/s2"}
    assert switch_variables({}) == {} and switch_variables({f"node{i:06}": "s" for i in range(20_000)}) == {}
    assert (
        switches_of_hosts("", ["n1"]) == switches_of_hosts("[1]", ["n1"]) == switches_of_hosts('{"s": 1}', ["n1"]) == {}
    )


@needs_mpi
def test_a_warned_run_ends_after_its_cell_and_goes_on_where_it_stopped(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    process = start(python, folder)
    wait_for_cells(process, folder, 2)
    process.send_signal(signal.SIGUSR1)
    table, said = process.communicate(timeout=240)
    kept = done(folder)
    assert process.returncode == 1 and 2 <= len(kept) < 12, said
    (left,) = re.findall(rf"error: {LEFT}; to continue: allreduce-bench run --resume -o {folder}$", said, re.MULTILINE)
    assert int(left) == 24 - len(kept) and "cells done" in table and (folder / "summary.csv").is_file()
    assert {launch for launch, *_ in kept} == {"2r-1"} and "no time" not in table
    facts = json.loads((folder / "launches" / "2r-1.1.json").read_text())
    assert "error_end_s" in facts["clock"]  # the launch came to its end
    wait_until_nobody_measures(folder)
    if not FULL:
        return  # cli/test_in_job.py goes on with such a run
    resumed = bench(python, "run", "--resume", "-o", folder)
    assert resumed.returncode == 0, resumed.stderr
    assert len(done(folder)) == len(set(done(folder))) == 24 and set(kept) <= set(done(folder))


@needs_mpi
def test_a_warning_while_mpi_starts_counts(python, tmp_path):
    in_turn(0, python)
    folder = tmp_path / "run"
    process = start(python, folder, "-v")
    said = ""
    while " measure --launch 2r-1 " not in said:
        said = process.stderr.readline()
        assert said
    process.send_signal(signal.SIGUSR1)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 1 and "error: the job is near its time limit: 24 of 24 cells left" in said, said
    assert done(folder) == [] and "Traceback" not in said and not list(folder.glob("launches/2r-2*"))
    wait_until_nobody_measures(folder)


@needs_mpi
def test_a_warning_that_only_the_ranks_hear_ends_the_run_too(python, tmp_path):
    in_turn(0, python)
    folder = tmp_path / "run"
    process = start(python, folder)
    wait_for_cells(process, folder, 2)
    for rank in ranks(folder):
        os.kill(rank, signal.SIGUSR1)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 1 and re.search(LEFT, said), said
    assert {launch for launch, *_ in done(folder)} == {"2r-1"}


@needs_mpi
def test_ranks_under_mpirun_end_after_their_cell(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    command = mpirun(python, 2, "run", *LONG_RUN, "-o", folder)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_cells(process, folder, 2)
    process.send_signal(signal.SIGUSR1)  # mpirun passes it on
    table, said = process.communicate(timeout=240)
    kept = done(folder)
    assert process.returncode == 1 and 2 <= len(kept) < 12 and "cells done" in table, said
    assert len(re.findall(TO_CONTINUE, said)) == 1
    command = mpirun(python, 2, "run", "--resume", "--identify=never", "-o", folder)
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert len(done(folder)) == len(set(done(folder))) == 12 and set(kept) <= set(done(folder))

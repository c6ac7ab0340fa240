"""A run in a Slurm job: its record, what it refuses, how it goes on. scontrol is a script here."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from interpreters import in_turn, interpreters
from made_runs import build_run
from made_sweeps import read_job_records
from measured_runs import EIGHT_CELLS, done, one_line_error, wait_for_cells
from slurm_programs import SlurmPrograms

JOB = {"SLURM_JOB_ID": "12", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "n[1-2]"}
TOPOLOGY = "SwitchName=s0 Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=s1\\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]"
SMALL = ["-n", 2, "--sizes", 8, "-a", "ring", "--iters", 2, "--no-reference-times"]

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> SlurmPrograms:
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    return SlurmPrograms(tmp_path / "slurm", monkeypatch)


@pytest.fixture
def job(slurm, monkeypatch) -> None:
    """The tests are in this job."""
    for name, value in JOB.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def start(python: Path, *words: object, **variables: str) -> subprocess.Popen:
    """`run` in a job, without srun: the ranks are started by this MPI's mpirun, on this machine."""
    command = [str(python), "-m", "allreduce_bench", "run", *map(str, words)]
    environ = {**os.environ, **JOB, **variables}
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen) -> subprocess.CompletedProcess:
    table, said = process.communicate(timeout=240)
    return subprocess.CompletedProcess(process.args, process.returncode, table, said)


def record(folder: Path) -> dict:
    (only,) = read_job_records(folder).values()
    return only


@needs_mpi
def test_a_job_keeps_its_record_its_switches_and_its_report(python, slurm, tmp_path):
    in_turn(0, python)
    host = os.uname().nodename
    slurm.answer("scontrol", f"printf '{TOPOLOGY.replace('n[1-2]', host)}\\n'")
    slurm.answer("sacct", "printf '12|300\\n12.batch|0\\n12.0|345\\n'")
    folder = tmp_path / "run"
    words = [*SMALL, "--launches", 2, "--only", "2r-2", "--report", "--resume", "--energy", "-o", folder]
    result = ended(start(python, *words, SLURM_JOB_NODELIST=host, SLURM_JOB_NUM_NODES="1"))
    assert result.returncode == 0, result.stderr
    told = record(folder)
    assert told["end"] == "done" and told["why"] is None and told["ended"] and told["only"] == "2r-2"
    assert told["nodes"] == [host] and told["switches"] == {host: "s0/s1"} and not told["requeued"]
    assert told["step_energies_j"] == {"12.0": 345.0} and ["--oneliner", "show", "job", "12"] in slurm.calls("scontrol")
    assert [path.name for path in folder.glob("launches/*.json")] == ["2r-2.1.json"]
    facts = json.loads((folder / "launches" / "2r-2.1.json").read_text())
    assert facts["switches"] == {host: "s0/s1"} and facts["variables"]["SLURM_JOB_ID"] == "12"
    assert f"s0/s1: {host}" in (folder / "report.html").read_text()
    assert f"report: {folder}/report.html" in result.stderr.splitlines()[-1]


@pytest.mark.slow
@needs_mpi
def test_a_slurm_that_does_not_answer_and_a_report_that_fails_change_nothing(slurm, tmp_path):
    slurm.answer("scontrol", "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1")
    folder = tmp_path / "run"
    (folder / "report.html").mkdir(parents=True)
    build_run(tmp_path / "plan", algorithms=("ring",), sizes=(8,), ranks=(2,), launches=1)
    (tmp_path / "plan" / "run.json").rename(folder / "run.json")
    result = ended(start(interpreters()[0], "--report", "--resume", "-o", folder))
    assert result.returncode == 0, result.stderr
    assert record(folder)["end"] == "done" and record(folder)["switches"] == {}
    assert [line for line in result.stderr.splitlines() if line.startswith("warning: no report: ")], result.stderr


@needs_mpi
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_job_that_is_ended_says_so_in_its_record(slurm, tmp_path, number):
    folder = tmp_path / "run"
    process = start(interpreters()[0], "-n", 2, *EIGHT_CELLS, "--launches", 1, "--requeue", "-o", folder)
    wait_for_cells(process, folder, 2)
    assert record(folder)["end"] is None
    process.send_signal(number)
    result = ended(process)
    assert result.returncode == 130 and "error: " in result.stderr and "interrupted; finished" in result.stderr
    assert record(folder)["end"] == "stopped" and record(folder)["why"] == "interrupted"
    assert not [call for call in slurm.calls("scontrol") if "requeue" in call]


def warned(python: Path, folder: Path, cells: int, *more: object) -> subprocess.CompletedProcess:
    """A run that is warned when so many cells are done; with none, when the first launch is being started."""
    process = start(python, "-n", 2, *EIGHT_CELLS, "--launches", 1, "--resume", "-v", "-o", folder, *more)
    if cells:
        wait_for_cells(process, folder, cells)
    else:
        while " measure --launch 2r-1 " not in process.stderr.readline():
            assert process.poll() is None
    process.send_signal(signal.SIGUSR1)
    return ended(process)


@needs_mpi
def test_a_warned_job_is_requeued_and_goes_on_where_it_stopped(python, slurm, tmp_path):
    """scontrol, as Slurm does, ends the job at once: neither of them may die of it before all is said."""
    in_turn(1, python)
    slurm.answer("scontrol", '[ "$1" != requeue ] || { kill -TERM $PPID; kill -TERM $$; }')
    folder = tmp_path / "run"
    result = warned(python, folder, 2, "--requeue", "--report")
    kept, told = done(folder), record(folder)
    assert result.returncode == 1 and ["requeue", "12"] in slurm.calls("scontrol")
    (left,) = re.findall(r"^error: job 12 requeued: (\d+) of 8 cells left$", result.stderr, re.MULTILINE)
    assert int(left) == 8 - len(kept) and "Traceback" not in result.stderr
    assert told["end"] == "warned" and told["requeued"] and told["why"] == f"job 12 requeued: {left} of 8 cells left"
    assert not (folder / "report.html").exists()  # the next start writes it
    again = ended(start(python, "--resume", "--requeue", "--report", "-o", folder, SLURM_RESTART_COUNT="1"))
    assert again.returncode == 0, again.stderr
    assert len(done(folder)) == len(set(done(folder))) == 8 and set(kept) <= set(done(folder))
    last = read_job_records(folder)["job-12.1.json"]
    assert last["end"] == "done" and last["restart"] == 1 and (folder / "report.html").is_file()


@pytest.mark.slow
@needs_mpi
def test_a_job_that_finished_nothing_is_not_requeued(slurm, tmp_path):
    folder = tmp_path / "run"
    result = warned(interpreters()[0], folder, 0, "--requeue", "--only", "2r-1")
    why = "8 of 8 cells left; not requeued: no cell was finished since this start; increase the time limit"
    why += "; to continue: "
    command = f"allreduce-bench run --resume -o {folder} --only 2r-1"
    assert result.returncode == 1
    assert f"limit: {why}{command}" in result.stderr.splitlines()[-1]
    assert record(folder)["end"] == "warned" and record(folder)["why"].endswith(command)
    assert not record(folder)["requeued"] and not [call for call in slurm.calls("scontrol") if "requeue" in call]


@pytest.mark.slow
@needs_mpi
def test_a_refused_requeue_is_said_in_slurms_words(slurm, tmp_path):
    refusal = "echo 'Requested operation is presently disabled for job 12' >&2; exit 1"
    slurm.answer("scontrol", f'[ "$1" != requeue ] || {{ {refusal}; }}')
    folder = tmp_path / "run"
    result = warned(interpreters()[0], folder, 2, "--requeue", "--report")
    said = "cells left; not requeued: scontrol: Requested operation is presently disabled for job 12; to continue: "
    assert result.returncode == 1 and said in result.stderr.splitlines()[-1], result.stderr
    assert record(folder)["end"] == "warned" and not record(folder)["requeued"] and said in record(folder)["why"]
    assert (folder / "report.html").is_file()


@needs_mpi
@pytest.mark.usefixtures("job")
def test_a_job_that_is_too_small_is_refused_before_anything_is_written(run_on_ranks, tmp_path):
    new = tmp_path / "new"
    words = ["-n", "2,6", "--ranks-per-node", 2, "--sizes", 8, "-a", "ring"]
    said = one_line_error(run_on_ranks(*words, "--resume", "-o", new))
    assert all(words in said for words in ("6r-1: 6 ranks", "2 per node", "3 nodes, but job 12 has 2", "--nodes=3"))
    assert not new.exists()


@needs_mpi
@pytest.mark.usefixtures("job")
def test_what_a_job_refuses_stands_in_its_record(run_on_ranks, tmp_path):
    folder = build_run(tmp_path / "run", algorithms=("ring",), sizes=(8,), ranks=(2,), launches=2).path
    said = one_line_error(run_on_ranks("--resume", "--only", "2r-7", "-o", folder))
    told = record(folder)
    assert all(words in said for words in ("--only 2r-7", "no such launch; known: 2r", "-1 to -2"))
    assert told["end"] == "refused" and f"error: {told['why']}" == said and told["ended"]


@needs_mpi
def test_outside_of_a_job_there_is_no_record_and_no_requeue(slurm, tmp_path):
    folder = tmp_path / "run"
    process = start(
        interpreters()[0], "-n", 2, *EIGHT_CELLS, "--launches", 1, "--requeue", "-o", folder, SLURM_JOB_ID=""
    )
    wait_for_cells(process, folder, 1)
    process.send_signal(signal.SIGUSR1)
    result = ended(process)
    assert result.returncode == 1 and "not requeued" in result.stderr
    assert not (folder / "jobs").exists() and slurm.calls("scontrol") == []

"""Slurm's commands: how they are called, and what becomes of their complaints."""

import re
from pathlib import Path
from shlex import quote

import pytest
from slurm_programs import SlurmPrograms

from allreduce_bench.slurm import commands
from allreduce_bench.slurm.commands import SlurmError

OUTER = "of an outer job"
INVALID = "invalid partition specified: gold"  # as Slurm says it
FAILED = "Batch job submission failed: Invalid partition name specified"
UNAVAILABLE = "Requested node configuration is not available"
UNKNOWN, MORE = "unrecognized option '--mems=4'", 'Try "sbatch --help" for more information'


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    return SlurmPrograms(tmp_path / "slurm", monkeypatch)


def test_a_script_is_submitted_with_its_words_unchanged_and_nothing_inherited(slurm, monkeypatch):
    for name in ("SBATCH_PARTITION", "SLURM_NTASKS", "SQUEUE_FORMAT"):
        monkeypatch.setenv(name, OUTER)
    monkeypatch.setenv("SLURM_CONF", "/somewhere/slurm.conf")
    assert commands.submit(Path("a b.sbatch"), ["--output=x y;$(z)", "-C", "hbm"]) == "101"
    assert slurm.calls("sbatch") == [["--parsable", "--output=x y;$(z)", "-C", "hbm", "a b.sbatch"]]
    assert OUTER not in slurm.environment("sbatch")
    assert "SLURM_CONF=/somewhere/slurm.conf" in slurm.environment("sbatch")


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([f"sbatch: error: {INVALID}", f"sbatch: error: {FAILED}"], f"{INVALID}; {FAILED}"),
        ([f"sbatch: error: {FAILED}"], FAILED),
        ([f"allocation failure: {UNAVAILABLE}"], f"allocation failure: {UNAVAILABLE}"),
        ([f"sbatch: {UNKNOWN}", MORE], f"{UNKNOWN}; {MORE}"),
    ],
)
def test_slurms_own_words_in_one_line(slurm, lines, sentence):
    slurm.answer("sbatch", "".join(f"echo {quote(line)} >&2; " for line in lines) + "exit 1")
    with pytest.raises(SlurmError) as caught:
        commands.test_only(Path("x.sbatch"))
    assert str(caught.value) == f"sbatch: {sentence}"


def test_without_slurm_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SlurmError, match="scontrol not found.*no Slurm"):
        commands.ping()


def test_a_controller_that_does_not_answer_is_not_waited_for(slurm):
    slurm.answer("scontrol", "exec sleep 30")
    with pytest.raises(SlurmError, match="scontrol: no response within 0 s"):
        commands.ping(patience_s=0.2)


def test_jobs_come_from_the_queue_then_the_accounts(slurm):
    slurm.answer("squeue", "echo '101|RUNNING|n1|0:14|10:00|None'; echo '103|NODE_FAIL|n1|0:14|10:00|None'; "
                 "echo '104_2|PENDING||0:00|10:00|Resources'")  # fmt: skip
    slurm.answer("sacct", "echo '101|PENDING||0|10|0:0|None'; echo '102|TIMEOUT|n2|60|1|0:15|None'; "
                 "echo '104_1|COMPLETED|n2|60|1|0:0|None'")  # fmt: skip
    found = commands.find_jobs(["101", "102", "103", "104", "105"])
    assert {number: job.state for number, job in found.items()} == {
        "101": "RUNNING",
        "102": "TIMEOUT",
        "103": "NODE_FAIL",
        "104_1": "COMPLETED",
        "104_2": "PENDING",
    }


def test_of_a_job_that_is_over_the_accounts_say_who_cancelled_it(slurm):
    slurm.answer("squeue", "echo '101|CANCELLED|n1|0:14|10:00|None'; echo '102|CANCELLED|n1|0:14|10:00|None'")
    slurm.answer("sacct", "echo '101|CANCELLED by 0|n1|14|10|0:0|None'; echo '102|RUNNING|n1|14|10|0:0|None'")
    found = commands.find_jobs(["101", "102"])
    assert found["101"].by == "root" and found["102"].state == "CANCELLED"


def test_a_queue_that_has_forgotten_its_jobs_is_no_error_but_a_controller_that_is_gone_is(slurm):
    slurm.answer("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    assert commands.find_jobs(["101"]) == {}
    slurm.answer(
        "scontrol", "echo 'slurm_ping: error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
    )
    complaint = "slurm_ping: error: Unable to contact slurm controller (connect failure)"
    with pytest.raises(SlurmError, match=re.escape(f"scontrol: {complaint}")):
        commands.find_jobs(["101"])


def test_the_switches_above_nodes(slurm):
    slurm.answer(
        "scontrol",
        "echo 'SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]'; "
        "echo 'SwitchName=s0 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]'",
    )
    assert commands.switches_of_nodes(["n1", "n3", "login"]) == {"n1": "s0/s1", "n3": "s0"}
    slurm.answer("scontrol", "echo 'scontrol: No topology information available' >&2; exit 1")
    assert commands.switches_of_nodes(["n1"]) == {}

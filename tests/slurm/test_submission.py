"""All jobs of a sweep or none: whatever fails on the way, nothing is left in the queue or on disk."""

import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_runs import build_run
from slurm_programs import NUMBERED, SlurmPrograms

from allreduce_bench.cli import main
from allreduce_bench.runs.start import Start
from allreduce_bench.slurm import submission
from allreduce_bench.slurm.submission import NOTHING

WORDS = ("--nodes", "1,2", "--ranks-per-node", "2", "--sizes", "8", "-a", "native,ring", "--launches", "2")
SEVERAL = ("--nodes", "1,2", "--ranks-per-node", "1,2", *WORDS[4:])
THIRD = 'n=$(cat n 2> /dev/null || echo 100); [ "$n" = 102 ] && '  # sbatch is called for the third time
HEAD_DOWN, HELD = "Slurmctld(primary) at head is DOWN", "Job is in held state"  # as Slurm says it
NO_SPACE, READ_ONLY = "no space left on device", "read-only file system"  # as the system says it
DOWN = f"""echo '{HEAD_DOWN}'
echo '*****************************************'
echo '** RESTORE SLURMCTLD DAEMON TO SERVICE **'
echo '*****************************************'
exit 1
"""
PARTITION = "echo 'sbatch: error: invalid partition specified: nowhere' >&2\n" + (
    "echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2; exit 1"
)
TOO_MANY = """echo 'allocation failure: Requested node configuration is not available' >&2; exit 1"""
ACCOUNT = "echo 'sbatch: error: Batch job submission failed: Invalid account or account/partition combination " + (
    "specified' >&2; exit 1"
)


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> SlurmPrograms:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return SlurmPrograms(tmp_path / "bin", monkeypatch)


def fails(*words: object, status: int = 2) -> str:
    """The one line that `submit` says when it fails."""
    result = CliRunner().invoke(main, ["submit", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == status, result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ") and not result.stdout, result.output
    return lines[0]


def untouched() -> bool:
    """Whether there is nothing in the working folder."""
    return not any(Path.cwd().iterdir())


def submitted(slurm: SlurmPrograms) -> int:
    """How often a job was submitted."""
    return sum("--test-only" not in call for call in slurm.calls("sbatch"))


def test_where_sbatch_does_not_answer_nobody_says_that_nothing_was_submitted(slurm, monkeypatch):
    def late(script, arguments):
        raise submission.NoAnswer(
            "sbatch: no response within 60 s; if 'squeue --me' shows a held job for it, cancel that job"
        )

    monkeypatch.setattr(submission.commands, "submit", late)
    said = fails(*WORDS, "-o", "sweep")
    assert said.startswith("error: 1n.sbatch: sbatch: no response") and "nothing was submitted" not in said
    assert untouched()


def test_a_controller_that_is_down(slurm):
    slurm.answer("scontrol", DOWN)
    said = fails(*WORDS, "-o", "sweep")
    assert said == f"error: scontrol: {HEAD_DOWN}"
    assert untouched() and not slurm.calls("sbatch")


def test_what_slurm_refuses_it_says_in_its_own_words(slurm):
    slurm.answer("sbatch", PARTITION)
    sentence = "invalid partition specified: nowhere; Batch job submission failed: Invalid partition name"
    said = fails(*WORDS, "-o", "sweep")
    assert (
        said.startswith("error: 1n.sbatch: sbatch: ") and sentence in said and said.endswith("; nothing was submitted")
    )
    assert untouched() and not submitted(slurm) and not slurm.calls("scancel")


def test_a_script_that_is_refused_is_named_and_none_is_submitted(slurm):
    slurm.answer("sbatch", f'case "$*" in *2n.sbatch) {TOO_MANY};; esac\n{NUMBERED}')
    assert fails(*WORDS, "-o", "sweep").startswith("error: 2n.sbatch: sbatch: allocation failure: ")
    assert untouched() and not submitted(slurm)


@pytest.mark.parametrize("words", [WORDS, SEVERAL])
def test_a_job_that_is_not_taken_cancels_those_before_it(slurm, words):
    slurm.answer("sbatch", f'case "$* " in *--test-only*) exit 0;; esac\n{THIRD}{{ {ACCOUNT}; }}\n{NUMBERED}')
    said = fails(*words, "-o", "deep/sweep")
    assert "Invalid account" in said and said.endswith("; nothing was submitted")
    assert slurm.calls("scancel") == [["101", "102"]] and not slurm.calls("scontrol")[1:]
    assert not list(Path.cwd().glob("*/*"))


def test_jobs_that_cannot_be_released_are_cancelled(slurm):
    slurm.answer("scontrol", "[ $1 = ping ] || { echo '" + HELD + "' >&2; exit 1; }")
    said = fails(*WORDS, "-o", "sweep")
    assert said == f"error: scontrol: {HELD}; {NOTHING}"
    assert slurm.calls("scancel") == [["101", "102", "103"]] and untouched()


def test_what_cannot_be_cancelled_is_named_and_its_scripts_stay(slurm):
    slurm.answer("scontrol", "[ $1 = ping ] || exit 1")
    slurm.answer("scancel", "echo 'scancel: error: Unable to contact slurm controller (connect failure)' >&2; exit 1")
    said = fails(*WORDS, "-o", "sweep")
    assert "scontrol: exit status 1; the submitted" in said
    assert said.endswith(": scancel 101 102 103") and (Path("sweep") / "jobs" / "1" / "2n.sbatch").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_in_between_cancels_what_was_taken(slurm, number):
    before = signal.getsignal(number)
    slurm.answer("sbatch", f"{THIRD}kill -{number.name[3:]} $PPID\n{NUMBERED}")
    assert "interrupted" in fails(*WORDS, "-o", "sweep", status=130)
    assert slurm.calls("scancel") == [["101", "102", "103"]]  # the third was under way, and is known
    assert untouched() and signal.getsignal(number) == before


def test_a_disk_that_fills_up_when_all_is_submitted_cancels_it(slurm, monkeypatch):
    fsync = os.fsync

    def full(descriptor: int) -> None:
        if not submitted(slurm):
            return fsync(descriptor)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert f"sweep: {NO_SPACE}; {NOTHING}" in fails(*WORDS, "-o", "sweep")
    assert slurm.calls("scancel") == [["101", "102", "103"]] and untouched()


def test_going_on_removes_nothing_of_the_sweep(slurm):
    sweep = Path("sweep")
    done = {"choices": {"start": Start(ranks_per_node=2)}, "launches": 1, "ranks": (2, 4)}
    build_run(sweep, outcome=lambda launch, cell: None if cell.algorithm == "ring" else {}, **done)
    before = {path: path.read_bytes() for path in sweep.rglob("*") if path.is_file()}
    slurm.answer("sbatch", f'case "$* " in *--test-only*) exit 0;; esac\n{THIRD}{{ {ACCOUNT}; }}\n{NUMBERED}')
    fails("--resume", "-o", "sweep")
    assert {path: path.read_bytes() for path in sweep.rglob("*") if path.is_file()} == before
    assert not list(sweep.glob("jobs/*"))


def test_a_folder_that_appears_meanwhile_is_somebody_elses(slurm, monkeypatch):
    make = submission.create_run

    def too_late(run, plan, command):
        run.path.mkdir()
        (run.path / "theirs").touch()
        make(run, plan, command)

    monkeypatch.setattr(submission, "create_run", too_late)
    assert "sweep: already exists" in fails(*WORDS, "-o", "sweep")
    assert [path.name for path in Path("sweep").iterdir()] == ["theirs"]


def test_submissions_of_one_sweep_get_numbers_of_their_own(slurm):
    sweep = Path("sweep")
    build_run(sweep, choices={"start": Start(ranks_per_node=2)}, outcome=lambda launch, cell: None)
    (sweep / "jobs" / "3").mkdir(parents=True)
    for _ in range(2):
        assert CliRunner().invoke(main, ["submit", "--resume", "-o", "sweep"]).exit_code == 0
    assert sorted(path.name for path in (sweep / "jobs").iterdir()) == ["3", "4", "5"]

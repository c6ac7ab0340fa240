"""What Slurm says of jobs, and what it said of those that it has forgotten."""

import pytest

from allreduce_bench.runs.rows import RunError
from allreduce_bench.slurm import commands
from allreduce_bench.slurm.commands import SlurmJob
from allreduce_bench.slurm.job_states import FORGOTTEN, JobStates, ask_states, keep_states, kept_states

ENDED = SlurmJob("12", "TIMEOUT", limit_s=60.0)


def test_how_jobs_ended_is_kept_and_no_state_that_may_change(tmp_path):
    keep_states(JobStates({"13": SlurmJob("13", "RUNNING")}), tmp_path)
    assert kept_states(tmp_path) == {} and not list(tmp_path.iterdir())
    keep_states(JobStates({"12": ENDED, "13": SlurmJob("13", "PENDING")}), tmp_path)
    assert kept_states(tmp_path) == {"12": ENDED}


@pytest.mark.parametrize(
    ("damage", "advice"),
    [
        ("[]", "expected a JSON object"),
        ("{", "expected a JSON object"),
        ('{"12": 3}', "remove it"),
        ('{"103": {"id": "1", "x": 2}}', "remove it"),
        ('{"103": {"id": "103", "state": 5}}', "remove it"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, damage, advice):
    keep_states(JobStates({"12": ENDED}), tmp_path)
    (tmp_path / "jobs" / "ended.json").write_text(damage)
    with pytest.raises(RunError, match=rf"ended.json: damaged: [^\n]*; {advice}[^\n]*$"):
        kept_states(tmp_path)


def test_each_array_is_asked_for_once_and_what_is_forgotten_is_over(tmp_path, monkeypatch):
    keep_states(JobStates({"12": ENDED}), tmp_path)
    asked: list[str] = []

    def jobs(numbers) -> dict[str, SlurmJob]:
        asked.extend(numbers)
        return {"100_1": SlurmJob("100_1", "RUNNING")}

    monkeypatch.setattr(commands, "find_jobs", jobs)
    states = ask_states(["100_1", "100_2", "12", "9"], tmp_path)
    assert asked == ["9", "12", "100"] and states.silence == ""
    assert states.jobs["12"] == ENDED and states.jobs["100_1"].running
    assert {states.jobs[number].state for number in ("100_2", "9")} == {FORGOTTEN}


def test_without_slurm_there_is_what_it_told_earlier(tmp_path, monkeypatch):
    def jobs(numbers) -> dict[str, SlurmJob]:
        raise commands.SlurmError("no answer")

    monkeypatch.setattr(commands, "find_jobs", jobs)
    keep_states(JobStates({"12": ENDED}), tmp_path)
    assert ask_states(["12", "13"], tmp_path) == JobStates({"12": ENDED}, "no answer")
    assert ask_states([], tmp_path) == JobStates({"12": ENDED})

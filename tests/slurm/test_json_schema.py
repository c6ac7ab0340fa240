"""What jobs and submissions leave is described in full; a changed type is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from slurm_programs import SlurmPrograms
from strict_schemas import FORMATS, changed, undescribed, undescribed_of_folder

from allreduce_bench.cli import main
from allreduce_bench.runs.json_schema.check import document_violations
from allreduce_bench.slurm.commands import Allocation, SlurmJob
from allreduce_bench.slurm.job_files import JobRecord
from allreduce_bench.slurm.job_states import JobStates, keep_states

WORDS = ("--nodes", "1,2", "--ranks-per-node", "2", "--sizes", "8", "-a", "native,ring", "--launches", "2")


@pytest.fixture
def sweep(tmp_path, monkeypatch) -> Path:
    """A sweep whose jobs have left all that they leave."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    SlurmPrograms(tmp_path / "bin", monkeypatch)
    result = CliRunner().invoke(main, ["submit", *WORDS, "--array", "-o", "sweep"])
    assert result.exit_code == 0, result.output
    here = Allocation("15", "12", "4", 1, ("n1",), 1)
    JobRecord(tmp_path / "sweep", here, "8r")
    JobRecord(tmp_path / "sweep", here, "8r").add(switches={"n1": "s0/s1"}, ended="now", end="done")
    ended = SlurmJob("12_4", "COMPLETED", elapsed_s=12.0, exit_code="0:0")
    keep_states(JobStates({"12_4": ended}), tmp_path / "sweep")
    return tmp_path / "sweep"


def test_what_jobs_leave_is_described(sweep):
    assert {path.name for path in (sweep / "jobs").rglob("*.json")} == {
        "submission.json",
        "ended.json",
        "job-12_4.1.json",
        "job-12_4.1.2.json",
    }
    assert undescribed_of_folder(sweep) == []


@pytest.mark.parametrize(
    ("name", "file", "path", "to"),
    [
        ("job", "job-12_4.1.json", ("restart",), "1"),
        ("job", "job-12_4.1.2.json", ("switches", "n1"), None),
        ("submission", "1/submission.json", ("jobs", 0, "limit_s"), "10 min"),
        ("submission", "1/submission.json", ("again", "array"), 1),
        ("ended", "ended.json", ("12_4", "state"), 0),
    ],
)
def test_a_changed_type_is_refused(sweep, name, file, path, to):
    content = json.loads((sweep / "jobs" / file).read_text())
    assert undescribed(name, json.dumps(content)) == []
    (violation,) = document_violations(FORMATS[name], changed(content, *path, to=to).encode(), "file")
    assert violation.place.endswith(str(path[-1]))

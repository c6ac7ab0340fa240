"""What a start of a job leaves in its run."""

from made_sweeps import read_job_records

from allreduce_bench.slurm.allocation import Allocation
from allreduce_bench.slurm.job_files import JobRecord

FIELDS = [
    "job",
    "task",
    "restart",
    "only",
    "nodes",
    "switches",
    "started",
    "ended",
    "end",
    "why",
    "requeued",
    "step_energies_j",
]


def test_a_record_is_whole_at_once_and_a_second_one_of_the_same_start_is_another_file(tmp_path):
    here = Allocation("15", "12", "4", 1, ("n1",), 1)
    one, other = JobRecord(tmp_path, here, "8r"), JobRecord(tmp_path, here, "4r")
    assert list(read_job_records(tmp_path)) == ["job-12_4.1.2.json", "job-12_4.1.json"]
    one.end("warned", "why", requeued=True)
    first = read_job_records(tmp_path)["job-12_4.1.json"]
    assert list(first) == FIELDS and first["ended"] >= first["started"]
    known = {"job": "12", "task": "4", "restart": 1, "only": "8r", "nodes": ["n1"], "end": "warned", "requeued": True}
    assert known.items() <= first.items()
    other.add(switches={"n1": "s0"})
    assert read_job_records(tmp_path)["job-12_4.1.2.json"] | {"only": "8r"} == {
        **first, "ended": None, "end": None, "why": None, "requeued": False, "switches": {"n1": "s0"},
        "started": other.facts.started,
    }  # fmt: skip


def test_a_record_that_cannot_be_written_costs_nothing_else(tmp_path):
    (tmp_path / "jobs").write_text("a file")
    unwritten = JobRecord(tmp_path, Allocation("12", "12", None, 0, (), None), "")
    unwritten.end("done", None)
    assert (tmp_path / "jobs").read_text() == "a file"

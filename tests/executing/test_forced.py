"""The library's own algorithms as peers: the setting is taken, and refused where it would not act."""

import subprocess

import pandas as pd
import pytest
from has_message import has_message
from interpreters import interpreters
from measured_runs import bench, done, mpirun, one_line_error

from allreduce_bench.cli.request import algorithm_fields
from allreduce_bench.evaluation.cell_times import REFERENCE
from allreduce_bench.message import BadValue, say
from allreduce_bench.runs.cell import FORCED
from allreduce_bench.runs.library_algorithms import NAMES, least_count, settings_of, variables_at_start
from allreduce_bench.runs.plan import Plan

FEW = ["--sizes", "4,4K", "--launches", 1, "--iters", 3, "--no-reference-times", "--identify=never"]


@pytest.mark.parametrize("python", interpreters())
def test_the_library_runs_its_own_and_no_other(python, tmp_path):
    ended = bench(python, "run", "-n", 3, "-a", "native:ring,native:rabenseifner", *FEW, "-o", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    assert {(launch, name) for launch, name, _ in done(tmp_path / "run")} == {
        ("3r-1", "native"),
        *(("3r-1-forced", f"native:{name}") for name in ("default", "ring", "rabenseifner")),
    }
    table = pd.read_csv(tmp_path / "run" / "summary.csv").set_index("algorithm")
    large, small = (table[table["nbytes"] == nbytes] for nbytes in (4096, 4))
    assert set(large["state"]) == {"done"} and large.loc["native:ring", "executor"] == FORCED
    assert large.loc["native:default", "doubt"] == REFERENCE and "native:default" in ended.stdout
    state, reason = small.loc["native:rabenseifner", ["state", "reason"]]
    codes = "executing.forced_too_few", "executing.forced_call_refused"
    assert state == "skipped" and any(has_message(reason, code) for code in codes)


@pytest.mark.parametrize("python", interpreters())
def test_an_algorithm_of_another_library_is_refused_at_once(python, tmp_path):
    asked = "native:recexch,native:basic_linear"  # MPICH's, Open MPI's
    words = one_line_error(bench(python, "run", "-n", 2, "-a", asked, *FEW, "-o", tmp_path / "run"))
    assert has_message(words.removeprefix("error: "), "runs.forced_of_another")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("python", interpreters()[:1])
def test_ranks_that_were_started_measure_all_in_their_one_start(python, tmp_path):
    command = mpirun(python, 2, "run", "-a", "native:ring", *FEW, "-o", tmp_path / "run")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0 and say("cli.forced_in_one_start") in ended.stderr, ended.stderr
    assert {(launch, name) for launch, name, _ in done(tmp_path / "run")} == {
        ("2r-1", "native"),
        ("2r-1", "native:ring"),
    }


def code_of(*asked):
    with pytest.raises(BadValue) as refused:
        settings_of(*asked)
    return refused.value.code


def test_where_a_setting_would_not_act_the_reason_is_said(monkeypatch):
    monkeypatch.delenv("OMPI_MCA_coll", raising=False)
    assert code_of("native:ring", "Intel MPI 2021.18", 1) == "runs.forced_at_start"
    assert code_of("native:reduce_bcast", "MPICH 5.0.2", 1) == "runs.forced_of_another"
    assert code_of("native:ring", "Cray MPI", 1) == "runs.forced_no_library"
    assert code_of("native:recexch", "Open MPI 5.0.11", 1) == "runs.forced_of_another"
    assert code_of("native:ring", "Open MPI 5.0.11", 2) == "runs.forced_below_han"
    monkeypatch.setenv("OMPI_MCA_coll", "^han")
    assert settings_of("native:ring", "Open MPI 5.0.11", 2)["coll_tuned_allreduce_algorithm"] == "ring"


def test_intel_mpi_takes_its_algorithm_from_the_start_of_a_launch_on(monkeypatch):
    assert variables_at_start("native:ring", "Intel MPI 2021.18") == {"I_MPI_ADJUST_ALLREDUCE": "8"}
    assert variables_at_start("native:topology_aware_reduce_bcast", "Intel MPI 2021.18").popitem()[1] == "4"
    assert not variables_at_start("native:ring", "MPICH 5.0.2")
    monkeypatch.setenv("I_MPI_ADJUST_ALLREDUCE", "8")
    assert settings_of("native:ring", "Intel MPI 2021.18", 1) == {}
    assert code_of("native:rabenseifner", "Intel MPI 2021.18", 1) == "runs.forced_at_start"


def test_counts_below_which_open_mpi_takes_another_one():
    names = "ring", "rabenseifner", "basic_linear"
    assert [least_count(f"native:{name}", "Open MPI 5.0.11", 6, 4) for name in names] == [6, 4, 0]
    assert least_count("native:ring", "MPICH 5.0.2", 6, 4) == 0


@pytest.mark.parametrize(
    ("word", "library", "meant"),
    [
        ("native:native", "Open MPI 5.0.11", "native"),
        ("native:rnig", "", "native:ring"),
        ("native:shumilin_rng", "Intel MPI 2021.18", "native:shumilin_ring"),
        ("native:topology_aware_reduce", "Open MPI 5.0.11", None),
        ("native:tre", "Open MPI 5.0.11", None),
        ("native:tre", "", None),
        ("native:tre", "MPICH 5.0.2", "native:tree"),
        ("native:reduce-bcast", "Open MPI 5.0.11", "native:reduce+bcast"),
    ],
)
def test_what_is_proposed_for_an_unknown_name_the_library_has(word, library, meant):
    with pytest.raises(BadValue) as refused:
        algorithm_fields((word,), (lambda: library) if library else None)
    known = refused.value.values["known"]
    assert known == f"did you mean {meant}?" if meant else "did you mean" not in known and (library[:5] in known)


def test_they_are_named_on_the_command_line_beside_native():
    assert algorithm_fields(("native:ring", "ring"))["algorithms"] == ("native", "native:ring", "ring")
    assert not {*NAMES} & {*algorithm_fields()["algorithms"]}
    with pytest.raises(BadValue) as unknown:
        algorithm_fields(("native:foo",))
    assert unknown.value.code == "runs.forced_unknown"
    with pytest.raises(BadValue) as unnamed:
        algorithm_fields(("native:",))
    assert unnamed.value.code == "runs.forced_unnamed"
    with pytest.raises(BadValue) as alone:
        algorithm_fields(("native:default", "ring"))
    assert alone.value.code == "runs.forced_default_alone"
    assert algorithm_fields(("native:default", "native:ring"))["algorithms"] == ("native", "native:ring")


def test_native_is_called_from_python_beside_them():
    plan = Plan(("native", "native:ring", "ring"), (8,), (2,), 1, seed=1, executors=("compiled",))
    assert plan.executors_of("native") == ("compiled", "native") and plan.executors_of("native:ring") == (FORCED,)

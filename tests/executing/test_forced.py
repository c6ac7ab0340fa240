"""The library's own algorithms as peers: the setting is taken, and refused where it would not act."""

import pandas as pd
import pytest
from interpreters import interpreters
from measured_runs import bench, done, one_line_error

from allreduce_bench.cli.plan_of_options import algorithm_fields
from allreduce_bench.evaluation.doubts import REFERENCE
from allreduce_bench.runs.library_algorithms import NAMES, NotForced, least_count, settings_of, variables_at_start

FEW = ["--sizes", "4,4K", "--launches", 1, "--iters", 3, "--no-reference-times", "--identify=never"]


@pytest.mark.slow
@pytest.mark.parametrize("python", interpreters())
def test_the_library_runs_its_own_and_no_other(python, tmp_path):
    ended = bench(python, "run", "-n", 3, "-a", "native:ring,native:rabenseifner", *FEW, "-o", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    assert {(launch, name) for launch, name, _ in done(tmp_path / "run")} == {
        ("3r-1", "native"),
        *(("3r-1-forced", f"native:{name}") for name in ("default", "ring", "rabenseifner")),
    }
    table = pd.read_csv(tmp_path / "run" / "summary.csv").set_index("competitor")
    large, small = (table[table["size_bytes"] == size_bytes] for size_bytes in (4096, 4))
    assert set(large["state"]) == {"done"}
    assert large.loc["native:default", "doubt"] == REFERENCE and "native:default" in ended.stdout
    state, reason = small.loc["native:rabenseifner", ["state", "reason"]]
    assert state == "skipped"
    assert "would take another" in reason or "fewer elements" in reason


@pytest.mark.parametrize("python", interpreters())
def test_an_algorithm_of_another_library_is_refused_at_once(python, tmp_path):
    asked = "native:recexch,native:basic_linear"  # MPICH's, Open MPI's
    words = one_line_error(bench(python, "run", "-n", 2, "-a", asked, *FEW, "-o", tmp_path / "run"))
    assert "not of" in words.removeprefix("error: ")
    assert not (tmp_path / "run").exists()


def refusal_of(*asked):
    with pytest.raises(NotForced) as refused:
        settings_of(*asked)
    return str(refused.value)


def test_where_a_setting_would_not_act_the_reason_is_said(monkeypatch):
    monkeypatch.delenv("OMPI_MCA_coll", raising=False)
    assert "let run" in refusal_of("native:ring", "Intel MPI 2021.18", 1)
    assert "not of" in refusal_of("native:reduce_bcast", "MPICH 5.0.2", 1)
    assert "use an algorithm" in refusal_of("native:ring", "Cray MPI", 1)
    assert "not of" in refusal_of("native:recexch", "Open MPI 5.0.11", 1)
    assert "over several" in refusal_of("native:ring", "Open MPI 5.0.11", 2)
    monkeypatch.setenv("OMPI_MCA_coll", "^han")
    assert settings_of("native:ring", "Open MPI 5.0.11", 2)["coll_tuned_allreduce_algorithm"] == "ring"


def test_intel_mpi_takes_its_algorithm_from_the_start_of_a_launch_on(monkeypatch):
    assert variables_at_start("native:ring", "Intel MPI 2021.18") == {"I_MPI_ADJUST_ALLREDUCE": "8"}
    assert variables_at_start("native:topology_aware_reduce_bcast", "Intel MPI 2021.18").popitem()[1] == "4"
    assert not variables_at_start("native:ring", "MPICH 5.0.2")
    monkeypatch.setenv("I_MPI_ADJUST_ALLREDUCE", "8")
    assert settings_of("native:ring", "Intel MPI 2021.18", 1) == {}
    assert "let run" in refusal_of("native:rabenseifner", "Intel MPI 2021.18", 1)


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
    with pytest.raises(ValueError) as refused:
        algorithm_fields((word,), (), (lambda: library) if library else None)
    said = str(refused.value)
    assert f"did you mean {meant}?" in said if meant else "did you mean" not in said and library[:5] in said


def test_they_are_named_on_the_command_line_beside_native():
    assert algorithm_fields(("native:ring", "ring"))["competitors"] == ("native", "native:ring", "ring")
    assert not {*NAMES} & {*algorithm_fields()["competitors"]}
    with pytest.raises(ValueError) as unknown:
        algorithm_fields(("native:foo",))
    assert "unknown algorithm" in str(unknown.value)
    with pytest.raises(ValueError) as unnamed:
        algorithm_fields(("native:",))
    assert "names no algorithm" in str(unnamed.value)
    with pytest.raises(ValueError) as alone:
        algorithm_fields(("native:default", "ring"))
    assert "itself beside" in str(alone.value)
    assert algorithm_fields(("native:default", "native:ring"))["competitors"] == ("native", "native:ring")

"""`which`: what the libraries ran, in launches of the real MPIs."""

import json
import os
import subprocess

import pytest
from interpreters import in_turn, interpreters
from measured_runs import here, script
from rank_programs import launch

from allreduce_bench.identifying.look import MONITORING
from allreduce_bench.which.output import SCHEMA

every_mpi = pytest.mark.parametrize("python", interpreters())
FORCED = {  # the ring, by variables of each library; of the other one they have no effect
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "OMPI_MCA_coll_tuned_allreduce_algorithm": "4",
    "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
    "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring",
}


def which(python, *words, **variables):
    """Status, stdout and stderr of the command."""
    command = [str(python), "-m", "allreduce_bench", "which", *words]
    environ = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, timeout=240)
    return done.returncode, done.stdout, done.stderr


@every_mpi
@pytest.mark.parametrize("ranks", [4, 5])
def test_ranks_see_the_order_of_own_algorithms(python, on_ranks, ranks):
    in_turn(ranks, python)
    same = on_ranks(ranks, "orders_seen.same_orders")[0]
    assert all(same.values()) and len(same) == 3


@every_mpi
def test_a_forced_ring_is_named_with_what_was_set(python):
    words = ("-n", "4", "--sizes", "64K", "--expect", "64K:recursive_doubling", "--format", "json")
    status, stdout, stderr = which(python, *words, **FORCED, OMPI_MCA_pml="ob1")  # messages are then not counted
    assert status == 1, stderr
    found = json.loads(stdout)
    assert found["schema"] == SCHEMA
    keys = ["schema", "library", "ranks", "nodes", "not_counted", "sizes", "switches", "settings", "expected"]
    assert list(found) == keys and list(found["expected"][0]) == ["size_bytes", "name", "state"]
    assert list(found["sizes"][0]) == ["size_bytes", "names", "order", "by_order", "by_messages"]
    assert list(found["settings"][0]) == ["name", "value", "meaning", "source", "read", "effect"]
    (size,) = found["sizes"]
    assert "ring" in size["names"] and set(size["names"]) <= {"ring", "segmented_ring"}
    assert [one["state"] for one in found["expected"]] == ["no"]
    own = [one for one in found["settings"] if one["name"].endswith(("_ALGORITHM", "allreduce_algorithm"))]
    assert {one["read"] for one in own} == {True, None} or any(one["read"] for one in own)


@pytest.mark.slow
@every_mpi
def test_settings_that_are_swallowed_are_said(python, tmp_path):
    """A malformed file of rules, a variable of another version, and a fallback where the count is too small."""
    rules = tmp_path / "rules"
    rules.write_text("1\n2\nbroken\n")
    swallowed = {
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(rules),
        "OMPI_MCA_coll_xhc_allreduce_algorithm": "1",
        **FORCED,
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "reduce_scatter_allgather",
        "MPIR_CVAR_COLLECTIVE_FALLBACK": "silent",
    }
    name = "reduce_scatter_allgather" if "mpich" in str(python) else "ring"
    status, stdout, stderr = which(python, "-n", "4", "--sizes", "8", "--expect", f"8:{name}", **swallowed)
    assert status == 1, stderr
    assert f"{name} did not run at 8 B" in stdout
    if name == "ring":
        assert "ignored: malformed rules file" in stdout
        assert "no variable coll_xhc_allreduce_algorithm" in stdout


@every_mpi
def test_a_launch_that_fails_is_no_other_algorithm(python):
    """MPICH ends at a value that it does not know; status 1 would say that another algorithm ran."""
    if "mpich" not in str(python):
        pytest.skip("Open MPI and Intel MPI start with unknown values")
    bogus = {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "bogus"}
    status, stdout, stderr = which(python, "-n", "2", "--sizes", "8", "--expect", "8:ring", **bogus)
    assert (status, stdout) == (2, "")
    assert "bogus is no known value of MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM; known: auto, " in stderr


@pytest.mark.slow
@every_mpi
def test_what_runs_by_default_is_named_or_open(python):
    status, stdout, stderr = which(python, "-n", "4", "--sizes", "8,64K", "--expect", "8:recursive_doubling")
    assert status == 0, stderr
    assert "recursive_doubling" in stdout


def test_bad_input_is_refused_in_one_line():
    for words in (
        ["-n", "4", "--expect", "64K:rong"],
        ["-n", "4", "--expect", "64K"],
        ["-n", "4", "--sizes", "7"],
        ["--sizes", "8"],
    ):
        result = here("which", *words)
        stderr = result.stderr
        assert (result.returncode, result.stdout) == (2, "")
        assert len([line for line in stderr.splitlines() if line.startswith(("error", "Error"))]) == 1
        assert "Traceback" not in stderr


def launched(python, ranks, *words, **variables):
    """Status, stdout and stderr of the command, of which a launcher starts a rank each."""
    command = [*launch(python, ranks), str(python), "-m", "allreduce_bench", "which", *words]
    environ = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, timeout=240)
    return done.returncode, done.stdout, done.stderr


@every_mpi
def test_one_rank_of_a_launcher_is_refused(python):
    in_turn(0, python)
    status, stdout, stderr = launched(python, 1, "--sizes", "8")
    assert (status, stdout) == (2, "") and "expected 2 ranks or more, found 1" in stderr


@every_mpi
def test_ranks_of_a_launcher_say_how_bytes_become_visible(python):
    """Open MPI's two variables are named once, and are no settings of the user's."""
    if "mpich" in str(python) or "impi" in str(python):
        pytest.skip("only Open MPI counts messages")
    status, stdout, stderr = launched(python, 2, "--sizes", "64K", OMPI_MCA_coll_tuned_use_dynamic_rules="1")
    assert status == 0, stderr
    assert "environment or command line" in stdout  # a launcher's `--mca` comes as a variable, too
    assert stdout.count("OMPI_MCA_pml_monitoring_enable=1") == 1
    status, stdout, stderr = launched(python, 2, "--sizes", "64K", **MONITORING)
    assert status == 0, stderr
    assert "order + bytes" in stdout and "pml" not in stdout


@every_mpi
def test_one_rank_of_a_launcher_prints_a_log(python, tmp_path):
    in_turn(1, python)
    log = tmp_path / "log"
    log.write_text("n0:70:70 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo 1 proto 2 time 8.25\n")
    status, stdout, _ = launched(python, 2, "--nccl-log", str(log), "--expect", "4K:tree")
    assert status == 1 and stdout.count("NCCL") == 1


@every_mpi
def test_a_launcher_whose_ranks_are_alone_is_noticed(python, tmp_path):
    launcher = script(tmp_path / "alone", '#!/bin/sh\nshift\nexec "$@"\n')
    status, _, stderr = which(python, "-n", "2", "--sizes", "8", "--launcher", f"{launcher} {{ranks}}")
    assert status == 2 and "MPI sees 1; " in stderr

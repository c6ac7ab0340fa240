"""The lines of `doctor --slurm` about launchers, inside a job."""

import sys

import pytest
from slurm_programs import SlurmPrograms

from allreduce_bench.launching import check_mpi
from allreduce_bench.launching.find import Launcher
from allreduce_bench.machine.checks import Check
from allreduce_bench.machine.findings import singletons

NO_PMIX = "srun: error: can not load PMIx library"  # as srun says it

KINDS = "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\nspecific pmix plugin versions available: pmix_v4\n"
HELLO = (
    "import json; [print('allreduce-bench hello: ' + json.dumps({'seen': SEEN, 'hosts': HOSTS, 'transport': 'tcp'}))"
    " for _ in range(2 // SEEN)]"
)
GOOD = HELLO.replace("SEEN", "2").replace("HOSTS", "['n1', 'n2']")
ALONE = HELLO.replace("SEEN", "1").replace("HOSTS", "['n1']")
TOGETHER = HELLO.replace("SEEN", "2").replace("HOSTS", "['n1', 'n1']")
FAILS = "import sys; sys.stderr.write('srun: error: can not load PMIx library\\n'); sys.exit(1)"


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> SlurmPrograms:
    """An srun that knows PMI2 and PMIx, on a login node."""
    programs = SlurmPrograms(tmp_path / "bin", monkeypatch)
    (programs.folder / "kinds.txt").write_text(KINDS)
    programs.answer("srun", "cat kinds.txt")
    return programs


@pytest.fixture
def launchers(slurm, monkeypatch):
    """What is checked in a job of two nodes where these programs run in place of mpirun, srun with PMI2 and PMIx."""
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")

    def checked(mpirun: str, pmi2: str = GOOD, pmix: str = FAILS, auto: str = "mpich") -> list[Check]:
        def found(start=None):
            kind, words = (start.launcher, start.launcher_args) if start else (auto, "--mpi=pmi2")
            return Launcher(kind, "MPICH 4.2.0", kind, (words,) if kind == "srun" else ())

        def command(launcher, ranks, start, program):
            assert (ranks, start.ranks_per_node) == (2, 1)
            programs = {"mpich": mpirun, "--mpi=pmi2": pmi2, "--mpi=pmix": pmix}
            return [sys.executable, "-c", programs[start.launcher_args or start.launcher]]

        monkeypatch.setattr(check_mpi, "find_launcher", found)
        monkeypatch.setattr(check_mpi, "mpirun_command", command)
        return list(check_mpi.launcher_checks())

    return checked


def levels(found: list[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.level) for check in found]


def test_each_launcher_is_tried_and_one_that_works_is_chosen(launchers):
    found = launchers(GOOD)
    assert levels(found) == [
        ("nodes", "ok"),
        ("mpirun", "ok"),
        ("srun pmi2", "ok"),
        ("srun pmix", "caution"),
        ("launcher", "ok"),
    ]
    assert found[0].text == "job 17: n[1-2]"
    assert "n1, n2 communicate over tcp" in found[1].text
    assert "from start" in found[1].text
    assert found[3].text.startswith("started, ") and found[3].text.endswith(f" exit status 1: {NO_PMIX}")
    assert "--launcher srun --launcher-args --mpi=pmix would fail" in found[3].effect
    assert "selects mpirun" in found[4].text


def test_a_choice_of_auto_that_does_not_work_is_severe(launchers):
    found = launchers(ALONE)
    assert dict(levels(found)) | {"nodes": "ok"} == {
        "nodes": "ok",
        "mpirun": "severe",
        "srun pmi2": "ok",
        "srun pmix": "caution",
        "launcher": "severe",
    }
    assert found[1].text == singletons(2, 1)["text"]
    assert "selects mpirun" in found[4].text and "srun pmi2 works" in found[4].text
    assert found[4].advice == "use --launcher srun --launcher-args --mpi=pmi2"


def test_where_auto_takes_srun_it_is_known_by_its_kind(launchers):
    found = launchers(ALONE, auto="srun")
    assert dict(levels(found))["mpirun"] == "caution"
    assert found[4][:3] == ("ok", "launcher", "auto selects srun pmi2, which works")


def test_two_ranks_on_one_node_are_no_success(launchers):
    check = launchers(TOGETHER)[1]
    assert (check.level, check.text) == ("severe", "2 ranks were requested on two nodes, but both are on n1")


def test_where_none_works_nothing_is_advised_but_to_look(launchers):
    assert launchers(ALONE, FAILS)[4][:3] == ("severe", "launcher", "no launcher works here")

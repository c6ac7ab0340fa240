"""What is set about all-reduce, where, and why it has no effect."""

import pytest

from allreduce_bench.identifying.known import names
from allreduce_bench.runs.library_algorithms import VALUES
from allreduce_bench.which.settings import (
    COMMAND_LINE,
    ENVIRONMENT,
    OfAnotherLibrary,
    Reading,
    UnknownValue,
    judged,
    names_to_read,
    settings,
    without,
)

OPEN_MPI, MPICH, INTEL = "Open MPI 5.0.11", "MPICH 5.0.2", "Intel MPI 2021.18.1"
DYNAMIC = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
FORCED = "coll_tuned_allreduce_algorithm"
RING = {"OMPI_MCA_" + FORCED: "4"}


def problems(found):
    return {setting.name: setting.problem for setting in found if setting.problem}


def test_a_variable_of_open_mpi():
    found = settings(DYNAMIC | RING | {"HOME": "./absent"}, [], OPEN_MPI)
    forced = next(setting for setting in found if setting.name == FORCED)
    assert forced[:5] == (FORCED, "4", "ring", ENVIRONMENT, "Open MPI")
    assert problems(found) == {}
    assert names_to_read(found, OPEN_MPI) == [FORCED, "coll_tuned_use_dynamic_rules"]


@pytest.mark.parametrize("dynamic", [{}, {"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"}])
def test_without_dynamic_rules_a_forced_algorithm_is_not_read(dynamic):
    found = problems(settings(RING | dynamic, [], OPEN_MPI))
    assert [*found] == [FORCED] and "read only" in str(found[FORCED])


@pytest.mark.parametrize(
    ("variable", "library", "known", "unknown"),
    [
        ("OMPI_MCA_" + FORCED, OPEN_MPI, ("4", "ring"), ("77", "bogus", "-1")),
        ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", MPICH, ("auto", "ring"), ("bogus", "4")),
        ("I_MPI_ADJUST_ALLREDUCE", INTEL, ("8", "14", "8:0-64;9:65-1024"), ("99", "8:0-64;99:65-1024")),
    ],
)
def test_a_value_that_is_none(variable, library, known, unknown):
    def is_unknown(value):
        found = problems(settings(DYNAMIC | {variable: value}, [], library))
        return any(isinstance(problem, UnknownValue) for problem in found.values())

    assert not any(map(is_unknown, known)) and all(map(is_unknown, unknown))


def test_variables_of_another_library():
    found = settings(RING | {"I_MPI_ADJUST_ALLREDUCE": "8"}, [], MPICH)
    assert set(map(type, problems(found).values())) == {OfAnotherLibrary}
    assert not names_to_read(found, MPICH)


def test_only_variables_about_all_reduce_are_looked_at():
    others = {
        "OMPI_MCA_coll_tuned_allgather_algorithm": "1",
        "OMPI_MCA_btl_tcp_if_include": "eth0",
        "MPIR_CVAR_IALLREDUCE_TREE_KVAL": "2",
        "MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM": "noncommutative",
        "I_MPI_ADJUST_BCAST": "1",
        "PASSWORD": "coll",
    }
    assert settings(others, [], OPEN_MPI) == settings(others, [], MPICH) == settings(others, [], INTEL) == []


@pytest.mark.parametrize(
    ("command", "value", "left"),
    [
        (["mpirun", "--mca", FORCED, "4", "-n", "4", "program"], "4", ["mpirun", "-n", "4", "program"]),
        (["mpirun", "-x", f"OMPI_MCA_{FORCED}=ring", "-n", "4"], "ring", ["mpirun", "-n", "4"]),
        (["srun", f"--export=ALL,OMPI_MCA_{FORCED}=4,A=b", "program"], "4", ["srun", "--export=ALL,A=b", "program"]),
        (["srun", "env", f"OMPI_MCA_{FORCED}=4", "program"], "4", ["srun", "env", "program"]),
        (["mpiexec", "-genv", f"OMPI_MCA_{FORCED}", "4"], "4", ["mpiexec"]),
    ],
)
def test_a_variable_on_the_command_line(command, value, left):
    forced, overridden = settings(RING | DYNAMIC, command, OPEN_MPI)[::2]
    assert (forced.name, forced.value, forced.source) == (FORCED, value, COMMAND_LINE)
    assert overridden.source == ENVIRONMENT and "set to" in str(overridden.problem)
    assert without(RING | DYNAMIC, command, forced) == (DYNAMIC, left)


def test_a_variable_that_is_only_passed_on_is_no_longer():
    command = ["mpirun", "-x", "PATH", "-x", f"OMPI_MCA_{FORCED}", "-n", "4"]
    (forced,) = settings(RING, command, OPEN_MPI)
    assert without(RING, command, forced) == ({}, ["mpirun", "-x", "PATH", "-n", "4"])


def test_mpich_takes_each_variable_by_three_prefixes():
    environ = {"MPICH_ALLREDUCE_INTRA_ALGORITHM": "tree", "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring"}
    first, second = settings(environ, [], MPICH)
    assert (first.name, first.value) == ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "ring")
    assert second.value == "tree" and "set to" in str(second.problem)
    assert without(environ, [], first) == ({}, [])


def test_presets_of_intel_mpi():
    (found,) = settings({"I_MPI_ADJUST_ALLREDUCE": "2:0-1024;8:1025-99999"}, [], INTEL)
    assert found.meaning == "rabenseifner, ring"


def test_files_of_parameters(tmp_path):
    home, root = tmp_path / "home", tmp_path / "root"
    for folder, value in ((home / ".openmpi", "3"), (root / "etc", "6")):
        folder.mkdir(parents=True)
        name = "mca-params.conf" if folder.name == ".openmpi" else "openmpi-mca-params.conf"
        (folder / name).write_text(f"# a comment\n{FORCED} = {value}\nbtl = tcp\n")
    found = settings(DYNAMIC | {"HOME": str(home)}, [], OPEN_MPI, root)
    forced, overridden = (setting for setting in found if setting.name == FORCED)
    assert (forced.value, forced.source) == ("3", str(home / ".openmpi" / "mca-params.conf"))
    assert overridden.value == "6" and "set to" in str(overridden.problem)
    tuned = tmp_path / "tuned"
    tuned.write_text(f"--mca {FORCED} 5\n")
    command = ["mpirun", "--mca", FORCED, "2", "-x", f"OMPI_MCA_{FORCED}=6", "--tune", str(tuned)]
    order = [setting.value for setting in settings(RING | {"HOME": str(home)}, command, OPEN_MPI, root)]
    assert order == ["6", "2", "4", "5", "3", "6"]
    first = settings({"HOME": str(home)}, ["mpirun", "--tune", str(tuned), "-n", "2"], OPEN_MPI, root)[0]
    assert (first.value, first.source) == ("5", str(tuned))
    (root / "etc" / "openmpi-mca-params-override.conf").write_text(f"{FORCED}=1\n")
    assert settings({}, ["mpirun", "--mca", FORCED, "2"], OPEN_MPI, root)[0].value == "1"
    with pytest.raises(ValueError) as error:
        without(DYNAMIC, [], forced)
    assert "launch without" in str(error.value)


def test_a_malformed_rules_file_is_said(tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("1\n2\n1\n0\n1\n8 4 0 0\n")
    environ = DYNAMIC | {"OMPI_MCA_coll_tuned_dynamic_rules_filename": str(rules)}
    problem = problems(settings(environ, [], OPEN_MPI))["coll_tuned_dynamic_rules_filename"]
    assert "bytes first" in str(problem)
    rules.write_text("1\n2\n1\n0\n1\n0 4 0 0\n")
    assert settings(environ, [], OPEN_MPI)[0].meaning == "1 rule"
    json = {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(rules)}
    (problem,) = problems(settings(json, [], MPICH)).values()
    assert "no JSON" in str(problem)


@pytest.mark.parametrize(
    ("value", "reading", "read", "said"),
    [
        ("4", Reading(True, 4, "ring"), True, None),
        ("ring", Reading(True, 4, "ring"), True, None),
        ("0x4", Reading(True, 4, "ring"), True, None),
        ("64k", Reading(True, 65536), True, None),
        ("yes", Reading(True, True, "true"), True, None),
        ("9", Reading(True, 0, "ignore"), False, "no known"),
        ("5", Reading(True, 0, "ignore"), False, "library has"),
        ("9", Reading(True, 9, "new"), True, None),
        ("9", Reading(False), False, "no variable"),
        ("ring", Reading(True), None, None),
    ],
)
def test_what_the_library_says(value, reading, read, said):
    forced = settings({"OMPI_MCA_" + FORCED: value} | DYNAMIC, [], OPEN_MPI)[0]
    found = judged(forced, reading, OPEN_MPI)
    assert found.read == read and (said in str(found.problem) if said else found.problem is None)


def test_a_variable_is_looked_for_before_it_is_judged():
    (found,) = settings({"OMPI_MCA_coll_tuned_alreduce_algorithm": "4"}, [], OPEN_MPI)
    assert str(judged(found, Reading(False), OPEN_MPI).problem).startswith("no variable")


def test_cray_has_variables_that_mpi_t_does_not_list():
    library = "MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)"
    (found,) = settings({"MPICH_ALLREDUCE_NO_SMP": "1"}, [], library)
    assert judged(found, Reading(False), library).read is None


def test_the_names_of_intel_mpi_are_those_that_run_takes():
    own = set(VALUES["Intel MPI"])
    assert own <= set(names("Intel MPI"))
    (found,) = settings({"I_MPI_ADJUST_ALLREDUCE": "4"}, [], INTEL)
    assert found.meaning == "topology_aware_reduce_bcast" and found.meaning in own

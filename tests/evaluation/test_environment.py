"""What launches ran on: facts by key, and their texts."""

import pytest

from allreduce_bench.evaluation.environment import (
    FIELDS,
    differences,
    environment,
    format_values,
)

TEXT = {field.key: field.text for field in FIELDS}


def launch(ranks: int = 4, **facts) -> dict:
    return {"ranks": ranks, "hosts": ["n1", "n1", "n2", "n2"], **facts}


def text(key: str, *launches: dict) -> str:
    values = environment(launches)
    return format_values(values[key], TEXT[key]) if key in values else ""


def test_each_value_has_the_rank_counts_of_its_launches():
    attempts = [launch(2, transport="sm"), launch(4, transport="tcp"), launch(8, transport="sm"), launch(8)]
    assert environment(attempts)["transport"] == {"sm": {2, 8}, "tcp": {4}}
    assert text("transport", *attempts) == "sm at 2, 8 ranks; tcp at 4 ranks"
    assert text("transport", launch(2, transport="sm"), launch(4, transport="sm")) == "sm"
    assert "transport" not in environment([launch(transport=None)])


@pytest.mark.parametrize(
    "cores, said",
    [
        (["0", "1", "0", "1"], "0 | 1"),
        (["0-1", "0-1", "0-1", "0-1"], "all 0-1"),
        (["0", "1", "0-1", "0-1"], "n1: 0 | 1; n2: all 0-1"),
        (["0", "1", "0", None], ""),
        (["0", "1"], ""),
    ],
)
def test_a_binding_is_the_cores_of_every_rank(cores, said):
    assert text("binding", launch(binding=cores)) == said


def test_bindings_of_other_hosts_are_equal():
    one, other = launch(binding=["0", "1", "0", "1"]), launch(binding=["0", "1", "0", "1"], hosts=[*"aabb"])
    assert environment([one])["binding"] == environment([other])["binding"]


@pytest.mark.parametrize(
    "command, said",
    [
        ("mpirun -n 4 python -m x --launch 4r-1 run", "mpirun -n 4 python -m x"),
        (["mpirun", "-n", "4", "a --launch b", "--launch", "4r-1"], "mpirun -n 4 'a --launch b'"),
        ("mpirun -n 4 'unclosed", "mpirun -n 4 'unclosed"),
        ("", ""),
    ],
)
def test_a_command_ends_where_launches_of_the_same_ranks_differ(command, said):
    assert text("command", launch(command=command)) == said


def test_hosts_ranks_and_variables():
    facts = launch(switches={"n1": "s0/s1", "n2": "s0/s1"}, variables={"UCX_TLS": "tcp"})
    assert text("mapping", facts) == "n1: 0-1, n2: 2-3"
    assert text("mapping", launch(hosts=["n1", "n1"])) == ""
    assert text("switches", facts) == "s0/s1: n1, n2"
    assert text("variables", facts) == "UCX_TLS=tcp"
    assert text("hosts", facts) == "n1, n2"


def launch_of(name: str, library="Open MPI 5.0.11", variables=None, **facts) -> dict:
    return {"launch": name, "ranks": 4, "mpi": {"library": library}, "variables": variables or {}, **facts}


def test_what_divides_two_groups_of_launches_is_a_difference():
    launches = [
        launch_of("1", variables={"OMPI_MCA_btl": "tcp", "SLURM_JOB_ID": "1"}, hosts=["n1"]),
        launch_of("2", "MPICH 5.0.1", hosts=["n1", "n2"]),
        launch_of("3", "Intel MPI 2021", {"SLURM_JOB_ID": "3"}, hosts=["n1"]),
    ]
    attempts = {fact["launch"]: fact for fact in launches}
    assert differences(attempts, ["1"], ["2", "3"]) == ["MPI library", "variable OMPI_MCA_btl"]
    assert differences(attempts, ["2"], ["1", "3"]) == ["MPI library", "hosts"]
    assert differences(attempts, ["1", "9"], ["9"]) == []


def test_what_one_launch_does_not_say_is_no_difference_and_logs_come_last():
    attempts = {
        "1": launch_of("1", source={"files": ["a/fast.out"]}),
        "2": launch_of("2", None, source={"files": ["a/slow.out"]}),
    }
    assert differences(attempts, ["1"], ["2"]) == ["log"]
    same = {name: launch_of(name, source={"files": ["all.out"]}) for name in ("1", "2")}
    assert differences(same, ["1"], ["2"]) == []

"""Files of rules, as Open MPI and MPICH read them; what the libraries do was seen with the same texts."""

import json

import pytest

from allreduce_bench.which.rules import FOR_ALL, Rule, RulesError, check_mpich_rules, open_mpi_rules

CLASSIC = """1 # collectives
2 # allreduce
2 # communicator sizes
0 # ranks
1 # rules
0 3 0 0
4
2
0 3 0 0 # recursive doubling
65536 4 0 1024 # ring
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str):
        path = tmp_path / "rules"
        path.write_text(text)
        return path

    return write


def test_the_rules_about_all_reduce(written):
    assert open_mpi_rules(written(CLASSIC), 5) == [Rule(0, 0, 3), Rule(4, 0, 3), Rule(4, 65536, 4, 1024)]


def test_numbers_are_those_of_c(written):
    assert open_mpi_rules(written("1 2 1 010 1 0 0x4 0 0"), 5) == [Rule(8, 0, 4)]


def test_the_second_version_has_numbers_of_requests_at_will(written):
    text = "rule-file-version-2\n1\n2\n1\n0\n2\n0 3 0 0 7\n4 4 0 0\n"
    assert open_mpi_rules(written(text), 5) == [Rule(0, 0, 3), Rule(0, 4, 4)]
    of_first = open_mpi_rules(written(text.replace("rule-file-version-2\n", "")), 5)
    assert of_first == [Rule(0, 0, 3), Rule(0, 7, 4)]  # takes it for the next size


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("", "which.rules_ended", {"what": "the number of collectives"}),
        (CLASSIC.replace("65536 4 0 1024", "65536 4 0"), "which.rules_ended", {"line": 10, "what": "a segment size"}),
        (CLASSIC.replace("0 3 0 0 #", "8 3 0 0 #"), "which.rules_not_from_zero", {"line": 9, "nbytes": 8}),
        (CLASSIC.replace("65536 4", "65536 -4"), "which.rules_number", {"line": 10, "value": -4}),
        (CLASSIC.replace("65536 4", "65536 9"), "which.rules_algorithm", {"line": 10, "found": 9}),
        (CLASSIC.replace("2 # allreduce", "22"), "which.rules_number", {"line": 2, "value": 22}),
        (CLASSIC.replace("2 # allreduce", "3"), "which.rules_none", {}),
        ('{"rule_file_version": 3}', "which.rules_json_too_new", {}),
    ],
)
def test_files_that_open_mpi_ignores(written, text, code, values):
    with pytest.raises(RulesError) as error:
        open_mpi_rules(written(text), 5)
    assert error.value.code == code
    assert values.items() <= error.value.values.items()


def test_a_name_is_skipped_and_shifts_what_follows(written):
    with pytest.raises(RulesError) as error:
        open_mpi_rules(written(CLASSIC.replace("65536 4", "65536 ring")), 5)
    assert (error.value.code, error.value.values["what"]) == ("which.rules_ended", "a segment size")
    assert "'ring' in line 10" in error.value.values["skipped"]


def test_no_file(tmp_path):
    with pytest.raises(RulesError) as error:
        open_mpi_rules(tmp_path / "none", 5)
    assert error.value.code == "which.rules_unreadable"


def test_json_of_open_mpi_6(written):
    rules = [{"msg_size_min": 64, "msg_size_max": "inf", "alg": "ring"}, {"alg": 3}, {"msg_size_min": 1}]
    document = {"rule_file_version": 3, "collectives": {"allreduce": [{"comm_size_min": 4, "rules": rules}]}}
    assert open_mpi_rules(written(json.dumps(document)), 6) == [Rule(4, 64, "ring"), Rule(4, 0, 3)]
    for broken in ({}, {"collectives": []}, {"collectives": {"allreduce": {}}}, {"collectives": {"allreduce": [{}]}}):
        with pytest.raises(RulesError) as error:
            open_mpi_rules(written(json.dumps(broken)), 6)
        assert error.value.code == "which.rules_json"
    rules[1]["msg_size_min"] = 1.5
    with pytest.raises(RulesError, match="rule 1, msg_size_min"):
        open_mpi_rules(written(json.dumps(document)), 6)


RING = {"algorithm=MPIR_Allreduce_intra_ring": {"a parameter": {}}}


def test_a_tree_of_mpich(written):
    sizes = {"avg_msg_size<=1024": RING, "avg_msg_size=any": RING}
    tree = {"comm_type=intra": {"comm_size<=4": sizes, "comm_size = any": {"is_commutative=yes": RING}}}
    document = {"collective=bcast": {"algorithm=MPIR_Bcast_intra_tree": {}}, "collective=allreduce": tree}
    check_mpich_rules(written(json.dumps(document)), False)
    with pytest.raises(RulesError) as error:
        check_mpich_rules(written(json.dumps(document)), True)
    assert error.value.values["lacking"] == "allgather, barrier, gather, reduce"
    document |= {f"collective={name}": {} for name in FOR_ALL}
    check_mpich_rules(written(json.dumps(document)), True)


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ([1, 2], ""),
        ({"collective=allreduce": {"comm_typ=intra": RING}}, "comm_typ=intra"),
        ({"collective=allreduce": {"algorithm=MPIR_Allreduce_intra_foo": {}}}, "algorithm=MPIR_Allreduce_intra_foo"),
        ({"collective=allreduce": {"comm_size<=2": RING}}, "comm_size<=2"),
        ({"collective=allreduce": {"comm_size=any": 3}}, "comm_size=any"),
        ({"allreduce": RING}, "allreduce"),
        ({"collective=allreduze": RING}, "collective=allreduze"),
    ],
)
def test_trees_at_which_mpich_ends(written, document, key):
    with pytest.raises(RulesError) as error:
        check_mpich_rules(written(json.dumps(document, indent=1)), False)
    assert (error.value.code, error.value.values["key"]) == ("which.rules_key", key)


def test_no_json_for_mpich(written):
    with pytest.raises(RulesError) as error:
        check_mpich_rules(written('{\n"collective=allreduce":'), False)
    assert (error.value.code, error.value.values["line"]) == ("which.rules_no_json", 2)
    with pytest.raises(RulesError) as error:
        check_mpich_rules(written('{"collective=bcast": {}}'), False)
    assert error.value.code == "which.rules_none"

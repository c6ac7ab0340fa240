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
    ("text", "said"),
    [
        ("", "file ends.*the number of collectives"),
        (CLASSIC.replace("65536 4 0 1024", "65536 4 0"), "line 10.*file ends.*a segment size"),
        (CLASSIC.replace("0 3 0 0 #", "8 3 0 0 #"), "line 9.*bytes first.*8"),
        (CLASSIC.replace("65536 4", "65536 -4"), "malformed rules.*line 10.*-4"),
        (CLASSIC.replace("65536 4", "65536 9"), "all-reduce fails.*line 10.*9"),
        (CLASSIC.replace("2 # allreduce", "22"), "malformed rules.*line 2.*22"),
        (CLASSIC.replace("2 # allreduce", "3"), "rules about"),
        ('{"rule_file_version": 3}', "classic format"),
    ],
)
def test_files_that_open_mpi_ignores(written, text, said):
    with pytest.raises(RulesError, match=said):
        open_mpi_rules(written(text), 5)


def test_a_name_is_skipped_and_shifts_what_follows(written):
    with pytest.raises(RulesError) as error:
        open_mpi_rules(written(CLASSIC.replace("65536 4", "65536 ring")), 5)
    assert "file ends" in str(error.value) and "a segment size" in str(error.value)
    assert "'ring' in line 10" in str(error.value)


def test_no_file(tmp_path):
    with pytest.raises(RulesError) as error:
        open_mpi_rules(tmp_path / "none", 5)
    assert "rules file" in str(error.value)


def test_json_of_open_mpi_6(written):
    rules = [{"msg_size_min": 64, "msg_size_max": "inf", "alg": "ring"}, {"alg": 3}, {"msg_size_min": 1}]
    document = {"rule_file_version": 3, "collectives": {"allreduce": [{"comm_size_min": 4, "rules": rules}]}}
    assert open_mpi_rules(written(json.dumps(document)), 6) == [Rule(4, 64, "ring"), Rule(4, 0, 3)]
    for broken in ({}, {"collectives": []}, {"collectives": {"allreduce": {}}}, {"collectives": {"allreduce": [{}]}}):
        with pytest.raises(RulesError) as error:
            open_mpi_rules(written(json.dumps(broken)), 6)
        assert "malformed rules" in str(error.value)
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
    assert "no rules for allgather, barrier, gather, reduce, and" in str(error.value)
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
    assert str(error.value).endswith(f", found {key!r}")


def test_no_json_for_mpich(written):
    with pytest.raises(RulesError) as error:
        check_mpich_rules(written('{\n"collective=allreduce":'), False)
    assert "line 2: no JSON" in str(error.value)
    with pytest.raises(RulesError) as error:
        check_mpich_rules(written('{"collective=bcast": {}}'), False)
    assert "rules about" in str(error.value)

"""Files of a tuning: what they tell the library at every number of ranks and size, and what they say of themselves."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_tunings import NUMBERS, TUNING, rule

from allreduce_bench.runs.library_algorithms import INTRA
from allreduce_bench.which import tuning_files
from allreduce_bench.which.rules import check_mpich_rules, open_mpi_rules
from allreduce_bench.which.tuning import TuneError, algorithm_at
from allreduce_bench.which.tuning_files import (
    mpich_selections,
    read_tuning,
    refuse_changed,
    refuse_others_file,
    variables_of,
    write_tuning,
)

PLACES = [(ranks, size) for ranks in range(1, 10) for size in (0, 8, 511, 512, 8192, 8193, 1 << 20, 1 << 24)]


OF_MPICH = replace(TUNING, library="MPICH 5.0.2")


@pytest.fixture(autouse=True)
def library_at_hand(monkeypatch):
    """Open MPI's algorithms, without asking its ompi_info."""
    monkeypatch.setattr(tuning_files, "_ask_numbers", lambda prefix: NUMBERS)


def written(path, tuning):
    write_tuning(path, tuning, Path())
    return path


def is_changed(path, tuning):
    """Whether the library would read something else than `tune` writes."""
    try:
        refuse_changed(path, tuning, Path())
    except TuneError:
        return True
    return False


def open_mpi_choice(path, ranks, size_bytes):
    """The number that Open MPI takes: of the nearest smaller communicator and message, of the first below all."""
    rules = open_mpi_rules(path, 5)
    sizes = sorted({one.ranks for one in rules})
    of_ranks = max((one for one in sizes if one <= ranks), default=sizes[0])
    return [one for one in rules if one.ranks == of_ranks and one.size_bytes <= size_bytes][-1].algorithm


@pytest.mark.parametrize("ranks, size_bytes", PLACES)
def test_open_mpi_takes_the_rule_there_and_its_default_elsewhere(tmp_path, ranks, size_bytes):
    path = written(tmp_path / "rules", TUNING)
    name = algorithm_at(TUNING, ranks, size_bytes)
    assert open_mpi_choice(path, ranks, size_bytes) == (NUMBERS[name] if name else 0)


def test_a_tuning_is_read_from_its_file(tmp_path):
    path = written(tmp_path / "rules", TUNING)
    assert read_tuning(path) == TUNING and not is_changed(path, TUNING)


def test_a_segmented_ring_gets_the_segment_it_was_measured_with(tmp_path):
    path = written(tmp_path / "rules", replace(TUNING, rules=(rule(4, 8, 64, "segmented_ring"),)))
    assert [one.segment_nbytes for one in open_mpi_rules(path, 5) if one.algorithm == 5] == [1 << 20]


def test_an_algorithm_that_the_library_at_hand_lacks_is_refused(tmp_path):
    with pytest.raises(TuneError, match="has no rabenseifner"):
        written(tmp_path / "rules", replace(TUNING, rules=(rule(4, 8, 64, "rabenseifner"),)))


def test_text_of_runs_stays_in_its_comment(tmp_path):
    hostile = replace(TUNING, runs=("run\n1 2 1 0 1 0 4 0 0",), hosts=("a\nb",), conditions="x\ny")
    path = written(tmp_path / "rules", hostile)
    comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
    assert read_tuning(path) == hostile and not is_changed(path, hostile)
    assert any("run\\n1 2" in line for line in comments)


@pytest.mark.parametrize(
    "old, new",
    [
        ("512 3 0 0", "512 4x"),
        ("512 3 0 0", "600 3 0 0"),
        ("4  # ranks", "5  # ranks"),
        ("3  # message", "2  # message"),
    ],
)
def test_a_changed_file_is_told(tmp_path, old, new):
    path = written(tmp_path / "rules", TUNING)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    assert is_changed(path, read_tuning(path))


@pytest.mark.parametrize("name", ["/dev/null", "-", "two\nlines"])
def test_what_jobs_cannot_load_is_no_output(name):
    with pytest.raises((TuneError, OSError), match=r"jobs can load|never replaced"):
        written(Path(name), TUNING)


@pytest.mark.parametrize("text", ["", "# a file\n", "# allreduce-bench tune: {}\n", "# allreduce-bench tune: {\n"])
def test_the_file_of_another_is_never_replaced(tmp_path, text):
    path = tmp_path / "rules"
    path.write_text(text)
    with pytest.raises(TuneError):
        read_tuning(path)
    with pytest.raises(TuneError, match="never replaced"):
        refuse_others_file(path, TUNING)


def test_the_folder_of_another_is_never_replaced(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TuneError, match="never replaced"):
        refuse_others_file(tmp_path, OF_MPICH)


@pytest.mark.parametrize(
    "library, told, variable, value",
    [
        ("Open MPI 5.0.11", "coll_tuned_allreduce_algorithm=ring", "OMPI_MCA_coll_tuned_allreduce_algorithm", "0"),
        ("MPICH 5.0.2", f"{INTRA}=ring", INTRA, "auto"),
    ],
)
def test_a_variable_that_would_win_over_the_file_chooses_none(library, told, variable, value):
    plain, ended = (replace(TUNING, library=library, told=words) for words in ("", told))
    assert variable not in variables_of("/rules", plain)
    assert variables_of("/rules", ended)[variable] == value


# MPICH

DEFAULT = {"avg_msg_size<=8": {"algorithm=MPIR_Allreduce_intra_smp": {}}, "avg_msg_size=any": {"algorithm=MPIR_x": {}}}
GAMMA = {"composition=MPIDI_Allreduce_intra_composition_gamma": {}}


def mpich_choice(tree, ranks, size_bytes, **also):
    """The leaf that MPICH takes: of each object the first key that holds."""
    facts = {"comm_size": ranks, "avg_msg_size": size_bytes, "is_commutative": "yes", "is_op_built_in": "yes", **also}
    while True:
        for key, value in tree.items():
            if key.startswith(("algorithm=", "composition=")):
                return key.partition("=")[2]
            if _holds(key, facts):
                tree = value
                break
        else:
            raise AssertionError(f"no choice in {list(tree)}")


def _holds(key, facts):
    if "<=" in key:
        name, limit = key.split("<=")
        return facts[name] <= int(limit)
    if "<" in key:
        name, limit = key.split("<")
        return limit == "pow2" and facts.get("few", False) or limit != "pow2" and facts[name] < int(limit)
    name, value = key.split("=")
    return value == "any" or facts.get(name) == value


@pytest.mark.parametrize("ranks, size_bytes", PLACES)
def test_mpich_takes_the_rule_there_and_its_default_elsewhere(ranks, size_bytes):
    rules, compositions = selections()
    name = algorithm_at(OF_MPICH, ranks, size_bytes)
    told = mpich_choice(rules["comm_type=intra"], ranks, size_bytes)
    passed = mpich_choice(compositions["comm_type=intra"], ranks, size_bytes)
    assert told == (f"MPIR_Allreduce_intra_{name}" if name else mpich_choice(DEFAULT, ranks, size_bytes))
    assert passed.endswith("beta" if name else "gamma")


@pytest.mark.parametrize(
    "also", [{"is_commutative": "no"}, {"is_op_built_in": "no"}, {"few": True}, {"comm_hierarchy": "node_roots"}]
)
def test_mpich_keeps_its_default_for_what_was_not_measured(also):
    rules, _ = selections()
    assert mpich_choice(rules["comm_type=intra"], 4, 1024, **also) == mpich_choice(DEFAULT, 4, 1024)


def selections():
    found = mpich_selections(
        OF_MPICH,
        {"collective=allreduce": {"comm_type=intra": DEFAULT}, "collective=bcast": {}},
        {"collective=allreduce": {"comm_type=intra": GAMMA}},
    )
    assert "collective=bcast" in found[0]
    return [one["collective=allreduce"] for one in found]


def test_the_selections_are_what_mpich_reads(tmp_path: Path):
    rules, _ = mpich_selections(
        OF_MPICH,
        {"collective=allreduce": {"comm_type=intra": DEFAULT["avg_msg_size<=8"]}},
        {"collective=allreduce": {"comm_type=intra": GAMMA}},
    )
    path = tmp_path / "mpir.json"
    path.write_text(json.dumps(rules))
    check_mpich_rules(path, is_alone=False)

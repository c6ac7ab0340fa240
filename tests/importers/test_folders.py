"""Which systems the folders of logs tell apart."""

import re
import warnings

import pytest
from made_logs import log

from allreduce_bench.importers import Asked, LogNote, LogWarning, points, read
from allreduce_bench.importers.folders import LogFacts, systems_of


def told(*paths):
    """Return the systems of logs whose paths hold the number of ranks: `n8/` or `8.out`."""
    facts = {}
    for path in paths:
        match = re.search(r"(?:^|/)n?(\d+)[/.]", path)
        assert match
        facts[path] = LogFacts(frozenset([int(match[1])]), frozenset())
    return systems_of(facts)


def launches(folder, *numbers, ending="osu"):
    return [f"{folder}/n{number}/{ending}/{launch}.out" for number in numbers for launch in "ab"]


def test_folders_above_the_number_of_ranks_name_the_system():
    found = told(*launches("tests/lumi/cpu", 8, 16), *launches("tests/lumi/gpu", 8, 16), *launches("tests/eks", 4))
    assert set(found.values()) == {"lumi/cpu", "lumi/gpu", "eks"}
    assert found["tests/lumi/gpu/n16/osu/a.out"] == "lumi/gpu"


@pytest.mark.parametrize(
    "paths",
    [
        launches("tests/lumi", 8, 16, 32),
        launches("lumi", 8, 16) + launches("lumi", 32, ending="osu-again/kept"),  # never meet
        launches("run-a", 8, 16) + launches("run-b", 8, 16),
        launches("2024-03-01/first", 8, 16) + launches("2024-03-02/second", 8, 16),
        ["n8/nid0012/a.out", "n8/gpu17/b.out", "n16/login/c.out"],  # a log each
        ["nid/8.out", "gpu/8.out", "gpu/16.out", "login/32.out"],
        launches("small", 8) + launches("large", 16),  # words for numbers of ranks
        [f"{number}.out" for number in (8, 16)],
    ],
)
def test_launches_of_one_system_stay_together(paths):
    assert told(*paths) == {}


def test_folders_that_meet_at_a_number_of_ranks_are_two_systems():
    found = told(*launches("lumi", 8, 16, ending="host"), *launches("lumi", 8, 16, ending="gpu"))
    assert set(found.values()) == {"host", "gpu"}


def test_folders_named_after_algorithms_are_one_system():
    paths = [path for name in ("ring", "two-tree") for path in launches(f"lumi/{name}", 8, 16)]
    facts = {
        path: LogFacts(frozenset([8 if "/n8/" in path else 16]), frozenset(), frozenset(["two_tree", "ring"]))
        for path in paths
    }
    assert systems_of(facts) == {}
    assert set(told(*paths).values()) == {"ring", "two-tree"}


ROWS = "".join(
    f"{system}/cpu/size{nodes}/{launch}.out,{nodes},{2 * nodes},{size_bytes},{nodes + launch}\n"
    for system in ("eks", "gke")
    for nodes in (4, 8)
    for launch in (1, 2)
    for size_bytes in ((8, 16, 32) if system == "eks" else (8, 16))
)
TABLE = "path,nodes,ranks,bytes,avg_latency_us\n" + ROWS


def test_a_csv_with_paths_has_the_systems_of_their_folders_and_says_so(tmp_path):
    with pytest.warns(LogNote, match="2 systems.*eks, gke; select"):
        found = points(log(tmp_path, TABLE))
    assert set(found["run"]) == {"eks, 2 ranks per node", "gke, 2 ranks per node"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = read(log(tmp_path, TABLE), Asked(columns={"launch": "path"}))
    assert {row.system for row in together} == {None}
    with pytest.warns(LogNote):
        assert len(read(log(tmp_path, TABLE), Asked(where={"system": "eks"}))) == 12


def test_a_column_of_systems_is_believed(tmp_path):
    text = TABLE.replace("path,nodes", "system,path,nodes").replace("\neks/", "\nx,eks/").replace("\ngke/", "\nx,gke/")
    assert {row.system for row in read(log(tmp_path, text))} == {"x"}


@pytest.mark.filterwarnings("ignore::allreduce_bench.importers.LogNote")
def test_a_log_that_lies_in_two_folders_is_one_launch(tmp_path):
    copies = ROWS.replace("eks/cpu/", "eks/cpu/kept/copied/").splitlines(keepends=True)[:12]
    with pytest.warns(LogWarning, match="4 logs.*same name"):
        rows = read(log(tmp_path, TABLE + "".join(copies)))
    assert sum(row.system == "eks" for row in rows) == 12 and not any("copied" in row.launch for row in rows)

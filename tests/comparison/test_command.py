"""`compare`: what is matched, refused and judged, what is printed, and how it ends."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from made_runs import build_run, launch_facts
from rechecked import change_json

from allreduce_bench.cli import main
from allreduce_bench.comparison import conditions
from allreduce_bench.runs.folder import RunFolder

ABSENT = "not planned"  # by a side
NO_MEMORY = "no memory"  # why a cell was skipped

KIB = 1024
ALL = [(name, size) for name in ("native", "ring") for size in (8, 64 * KIB)]
SMALL = {"algorithms": ("native", "ring"), "sizes": (8, 64 * KIB), "ranks": (2,), "launches": 5}


ROUGH = (1.2, 0.8)  # factors of launches by turns: in 2 of 5 the cell is faster


def run_of(path: Path, seed: int, slower: dict | None = None, rough: Sequence = (), **choices) -> RunFolder:
    """A run whose launches differ by half a per cent; `slower`: factors of (algorithm, size_bytes), `rough`: cells."""
    noise = random.Random(seed)

    def factor(launch, cell) -> float:
        key = cell.algorithm, cell.size_bytes
        level = ROUGH[(launch.number + 1) % 2] if key in rough else 1
        return noise.gauss(1, 0.005) * (slower or {}).get(key, 1) * level

    return build_run(path, **{**SMALL, **choices}, factor=factor, seed=seed)


def compare(*words: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, words)])


def judged(*words: object) -> dict:
    """What the JSON says."""
    return json.loads(compare(*words, "--format", "json").stdout)


def verdicts(*words: object) -> dict[str, str]:
    return {cell["name"]: cell["verdict"] for cell in judged(*words)["cells"]}


def refusal(*words: object) -> str:
    result = compare(*words)
    assert result.exit_code == 2 and not result.stdout, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


@pytest.fixture(autouse=True, scope="module")
def runs_read_once() -> Iterator[None]:
    """A run is read again only where a file of it has changed: tests compare the same ones in many ways."""
    read = cache(lambda path, place, files, read=conditions._read_run: read(path, place))

    def read_run(path: Path, place: Path) -> conditions.ComparedRun:
        found = ((file, file.stat()) for file in place.rglob("*"))
        return read(path, place, frozenset((file, stat.st_mtime_ns, stat.st_size) for file, stat in found))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditions, "_read_run", read_run)
        yield


@pytest.fixture
def base(tmp_path) -> Path:
    return run_of(tmp_path / "base", 1).path


def test_each_cell_gets_its_verdict_and_what_is_slower_fails(base, tmp_path):
    slower = {("ring", 8): 1.3, ("native", 64 * KIB): 0.7}
    new = run_of(tmp_path / "new", 2, slower=slower, rough=[("native", 8)]).path
    assert verdicts(base, new) == {
        "native 8 B, 2 ranks": "undecided",
        "ring 8 B, 2 ranks": "slower",
        "native 64 KiB, 2 ranks": "faster",
        "ring 64 KiB, 2 ranks": "same",
    }
    result = compare(base, new)
    assert result.exit_code == 1 and result.stderr == "error: slower: ring 8 B, 2 ranks\n"
    assert result.stdout.splitlines()[-2] == "4 cells: 1 slower, 1 faster, 1 same, 1 undecided"
    assert "1 cell is undecided" in result.stdout.splitlines()[-1]
    (cell,) = [cell for cell in judged(base, new)["cells"] if cell["verdict"] == "slower"]
    assert (cell["reason"], cell["slower_pairs"], cell["pairs"]) == ("slower in 25 of 25 pairs", 25, 25)
    assert cell["ratio"] == pytest.approx(1.3, rel=0.03)
    assert cell["ratio"] == pytest.approx(cell["new_s"] / cell["baseline_s"])
    assert (cell["baseline_launches"], cell["unit"], cell["units"]) == (5, "launch", [5, 5])


def test_the_same_thing_passes_in_both_directions(base, tmp_path):
    new = run_of(tmp_path / "new", 2).path
    for sides in ((base, new), (new, base)):
        result = compare(*sides)
        assert result.exit_code == 0 and result.stderr == ""
        assert result.stdout.splitlines()[0].endswith("no condition or fact that is known")
        assert result.stdout.splitlines()[-1] == "4 cells: 0 slower, 0 faster, 4 same, 0 undecided"


def test_the_threshold_is_the_users(base, tmp_path):
    new = run_of(tmp_path / "new", 2, slower={("ring", 8): 1.3}).path
    assert compare(base, new, "--threshold", "0.5").exit_code == 0
    assert compare(base, new, "--threshold", "20%").exit_code == 1


def test_a_cell_alone_is_judged_as_among_others(base, tmp_path):
    new = run_of(tmp_path / "new", 2, slower={("ring", 8): 1.07}).path
    together, alone = judged(base, new)["cells"], judged(base, new, "-a", "ring", "--sizes", "8")["cells"]
    assert alone == [cell for cell in together if cell["name"] == "ring 8 B, 2 ranks"]
    assert "has no cell that matches -a and --sizes; it has: native, ring; 8 B, 64 KiB" in refusal(
        base, new, "-a", "tree"
    )


def test_undecided_is_not_green_by_accident(base, tmp_path):
    rough = run_of(tmp_path / "rough", 2, rough=ALL).path
    blind = compare(base, rough)
    assert blind.exit_code == 1
    assert blind.stderr.startswith("error: ") and blind.stderr.count("\n") == 1
    assert "undecided pass" in blind.stderr
    assert "4 cells are undecided" in blind.stderr
    passed = compare(base, rough, "--undecided", "pass")
    assert passed.exit_code == 0 and not passed.stderr and "4 undecided" in passed.stdout.splitlines()[-1]
    failed = compare(base, rough, "--undecided", "fail")
    assert failed.exit_code == 1 and failed.stderr.startswith("error: undecided: native 8 B, 2 ranks; ring 8 B")
    assert compare(base, rough, "--undecided", "ignore").exit_code == 2


def test_many_runs_on_both_sides_of_two_dashes(base, tmp_path):
    """The days differ by up to 10 %: one more is no regression, 150 % is one."""
    nights = []
    for i, factor in enumerate((1.0, 1.1, 0.95, 1.05, 0.9, 1.02)):
        day = {(name, size): factor for name in ("native", "ring") for size in (8, 64 * KIB)}
        nights.append(run_of(tmp_path / f"night{i}", 10 + i, slower=day).path)
    today = run_of(tmp_path / "today", 20, slower={("ring", 8): 2.5, ("ring", 64 * KIB): 1.07}).path
    found = judged(*nights, "--", today)
    assert {cell["name"]: cell["verdict"] for cell in found["cells"] if cell["verdict"] != "undecided"} == {
        "ring 8 B, 2 ranks": "slower"
    }
    assert found["cells"][0]["units"] == [30, 5]
    assert compare(*nights, "--", today, "--format", "markdown").exit_code == 1  # options behind -- are options
    assert f"baseline: 6 runs, {nights[0]} to {nights[5]}\n" in compare(*nights, "--", today).stdout
    assert len(judged(*nights[:2], "--", *nights[2:])["cells"]) == 4
    assert verdicts(nights[0], "--", nights[1]) == verdicts(nights[0], nights[1])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("a",), "between baseline"),
        (("a", "b", "c"), "found 3.*between baseline"),
        (("a", "--"), re.escape("no run after '--'")),
        (("--", "a"), re.escape("no run before '--'")),
        (("a", "--", "b", "--", "c"), re.escape("use '--' only once")),
        (
            ("a", "b", "--despite", "libary"),
            re.escape("--despite: unknown condition 'libary'; did you mean library? known: library, machine"),
        ),
        (
            ("a", "nowhere"),
            re.escape("a: no such file or folder; expected a run, a log of another tool, or a folder of such logs"),
        ),
    ],
)
def test_bad_usage_is_one_line(words, says):
    assert re.search(says, refusal(*words))


@pytest.mark.parametrize("sides", [("base/../base", "base"), ("base", "--", "base", "new")])
def test_a_run_is_not_compared_with_itself(base, tmp_path, sides):
    run_of(tmp_path / "new", 2)
    words = [side if side == "--" else tmp_path / side for side in sides]
    assert "run cannot" in refusal(*words)


def test_nor_with_its_copy(base, tmp_path):
    copy = run_of(tmp_path / "copy", 1).path
    told = refusal(base, copy)
    assert f"{copy} holds" in told and f"{base} (a copy?)" in told


def facts(**changes) -> dict:
    """Facts of launches of 2 ranks; those of `mpi` and `machines` are changed within."""
    usual = {**launch_facts(2), "transport": "sm", "binding": ["0", "1"]}
    machine = {**usual["machines"][0], **changes.pop("machine", {})}
    return {**usual, "mpi": {**usual["mpi"], **changes.pop("mpi", {})}, "machines": [machine], **changes}


def test_one_difference_is_named_and_a_second_needs_its_word(tmp_path):
    mpich, says = facts(mpi={"library": "MPICH 5.0.2"}), "MPI library Open MPI 5.0.11 -> MPICH 5.0.2"
    base = run_of(tmp_path / "base", 1, facts=facts()).path
    new = run_of(tmp_path / "new", 2, facts=mpich).path
    result = compare(base, new)
    assert result.exit_code == 0 and result.stdout.splitlines()[0] == f"the sides differ in library: {says}"
    assert judged(base, new)["differences"] == [{"name": "library", "text": says}]
    bits = run_of(tmp_path / "bits", 3, facts=mpich, choices={"check": "bits"}).path
    told = refusal(base, bits)
    assert told.endswith(f"differ in check: exact -> bits; library: {says}; add --despite check,library")
    assert compare(base, bits, "--despite", "library").exit_code == 0
    assert refusal(base, bits, "--despite", "time") == told


def test_a_condition_that_differs_leaves_cells_in_common(tmp_path):
    base = run_of(tmp_path / "base", 1, cache="warm").path
    new = run_of(tmp_path / "new", 2, cache="cold").path
    result = compare(base, new)
    assert result.stdout.startswith("the sides differ in cache: warm -> cold\n")
    assert len(judged(base, new)["cells"]) == 4 and "cold" not in judged(base, new)["cells"][0]["name"]


def test_runs_whose_launches_alternated_are_judged_by_rounds(tmp_path):
    build_run(tmp_path / "a", **SMALL, factor=lambda launch, cell: 3.0**launch.number)
    build_run(tmp_path / "b", **SMALL, factor=lambda launch, cell: 3.0**launch.number * 1.2)
    for name, other in ("ab", "ba"):
        change_json(tmp_path / name / "run.json", alternated=[f"../{other}"])
    sides = tmp_path / "a", tmp_path / "b"
    found = judged(*sides)
    assert {(cell["unit"], cell["verdict"]) for cell in found["cells"]} == {("round", "slower")}
    assert {cell["reason"] for cell in found["cells"]} == {"slower in 5 of 5 rounds"}
    assert "in nearly all rounds" in compare(*sides).stdout and compare(*sides).exit_code == 1
    change_json(sides[0] / "run.json", alternated=[])
    assert {cell["verdict"] for cell in judged(*sides)["cells"]} == {"undecided"}


def test_what_is_the_same_at_other_rank_counts_has_not_changed(base, tmp_path):
    new = run_of(tmp_path / "new", 2, ranks=(2, 4)).path
    assert not any(note.startswith("changed: ") for note in judged(base, new)["notes"])


def test_another_dtype_is_a_condition(base, tmp_path):
    new = run_of(tmp_path / "new", 2, choices={"dtype": "float64"}).path
    assert judged(base, new)["differences"] == [{"name": "dtype", "text": "float32 -> float64"}]
    assert [cell["size_bytes"] for cell in judged(base, new)["cells"]] == [8, 8, 64 * KIB, 64 * KIB]


@pytest.mark.parametrize("state", ["wrong", "hung"])
def test_what_failed_on_the_new_side_alone_fails_the_gate(base, tmp_path, state):
    def outcome(launch, cell):
        failed = (cell.algorithm, cell.size_bytes, launch.number) == ("ring", 8, 3)
        return {"state": state, "reason": "see there", "wrong": 1} if failed else {}

    bad = run_of(tmp_path / "bad", 2, outcome=outcome).path
    result = compare(base, bad)
    assert result.exit_code == 1 and result.stderr.splitlines()[-1] == "error: failed: ring 8 B, 2 ranks"
    assert "4 cells: 1 failed, 0 slower, 0 faster, 3 same" in result.stdout
    assert state in next(cell["reason"] for cell in judged(base, bad)["cells"] if cell["verdict"] == "failed")
    assert compare(bad, base).exit_code == 0
    worse = run_of(tmp_path / "worse", 3, outcome=outcome).path
    assert compare(bad, worse).exit_code == 0  # it failed before


def test_an_unfinished_run_is_compared_as_far_as_it_goes(base, tmp_path):
    new = run_of(tmp_path / "new", 2, outcome=lambda launch, cell: {} if launch.number < 5 else None).path
    result = compare(base, new)
    assert result.exit_code == 0
    assert f"{new} is unfinished" in result.stdout and "missing in 2r-5" in result.stdout
    assert {cell["new_launches"] for cell in judged(base, new)["cells"]} == {4}
    nothing = run_of(tmp_path / "nothing", 2, outcome=lambda launch, cell: None).path
    assert "half-written" in refusal(base, nothing)


# ---- formats

AWKWARD = "<a|b>&\"'`x`*\x07_"


@pytest.fixture
def awkward(base, tmp_path) -> tuple[Path, Path]:
    """One of each verdict, and a reason that wants escaping in every format."""

    def outcome(launch, cell):
        return (
            {"state": "wrong", "reason": AWKWARD, "wrong": 1}
            if (cell.algorithm, cell.size_bytes) == ("ring", 8)
            else {}
        )

    slower, rough = {("native", 64 * KIB): 1.5}, [("native", 8)]
    return base, run_of(tmp_path / "new", 2, slower, rough, outcome=outcome, sizes=(8, 16, 64 * KIB)).path


def test_junit_is_read_back(awkward, tmp_path):
    result = compare(*awkward, "--format", "junit")
    assert result.exit_code == 1
    suites = ElementTree.fromstring(result.stdout.encode())
    (suite,) = suites
    cases = suite.findall("testcase")
    kinds = {case.get("name"): [child.tag for child in case] for case in cases}
    assert kinds == {
        "ring 8 B, 2 ranks": ["failure"],
        "native 8 B, 2 ranks": ["skipped"],
        "native 64 KiB, 2 ranks": ["failure"],
        "ring 64 KiB, 2 ranks": ["system-out"],
        "native 16 B, 2 ranks": ["skipped"],
        "ring 16 B, 2 ranks": ["skipped"],
    }
    counts = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": 6, "failures": 2, "errors": 0, "skipped": 3}
    assert {name: int(suites.get(name)) for name in counts} == counts
    (reason,) = [case.find("failure").get("message") for case in cases if case.get("name") == "ring 8 B, 2 ranks"]
    assert AWKWARD.replace("\x07", "\ufffd") in reason
    assert all(float(case.get("time")) >= 0 and case.get("classname").startswith("allreduce") for case in cases)
    assert [child.tag for child in suite][0] == "properties" and [child.tag for child in suite][-1] == "system-out"


def cells_of(line: str) -> list[str]:
    """The fields of a row as GitHub reads them: bars with a backslash are text, and so is what follows one."""
    fields = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", field.strip()) for field in fields]


def test_markdown_is_read_back(awkward):
    lines = compare(*awkward, "--format", "markdown").stdout.splitlines()
    assert re.match(r"\*\*4 cells: 1 failed, 1 slower, 0 faster, 1 same, 1 undecided\*\*$", lines[0])
    rows = [cells_of(line) for line in lines if line.startswith("|")]
    assert {len(row) for row in rows} == {6}
    assert re.fullmatch(r"(:?-+:?)+", "".join(rows[1]))
    found = {row[0]: row[4] for row in rows[2:]}
    assert found == verdicts(*awkward)
    (reason,) = [row[5] for row in rows if row[4] == "failed"]
    assert AWKWARD.replace("\x07", "?") in reason and "\x07" not in compare(*awkward).stdout
    (line,) = [line for line in lines if line.startswith("- only new ")]
    assert "native 16 B" in line and "ring 16 B" in line


def test_output_takes_the_format_and_stdout_the_table(awkward, tmp_path):
    result = compare(*awkward, "--format", "junit", "-o", tmp_path / "report.xml")
    assert result.exit_code == 1 and "4 cells: 1 failed" in result.stdout
    assert ElementTree.parse(tmp_path / "report.xml").getroot().tag == "testsuites"
    nowhere = tmp_path / "report.xml" / "report.xml"
    assert refusal(*awkward, "-o", nowhere).startswith(f"{nowhere.parent}: ")


def test_a_cell_that_was_timed_otherwise_is_judged_only_where_that_is_wanted(base, tmp_path):
    def fell_back(launch, cell, number) -> dict:
        other = cell.algorithm == "ring" and cell.size_bytes == 8
        return {"start": "round_time"} if other else {}

    new = run_of(tmp_path / "new", 2, call=fell_back).path
    (cell,) = [cell for cell in judged(base, new)["cells"] if cell["name"] == "ring 8 B, 2 ranks"]
    assert cell["verdict"] == "undecided"
    assert "calls begun by barrier and round_time are not compared below 64 KiB" in cell["reason"]
    assert {cell["verdict"] for cell in judged(base, new, "--despite", "time")["cells"]} == {"same"}


OSU = "# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n8     1.50\n65536     20.50\n"


def test_a_log_beside_a_run_has_ratios_and_a_number_of_ranks_is_given_to_logs_without_one(base, tmp_path):
    (tmp_path / "silent.log").write_text(OSU)
    (tmp_path / "stated.log").write_text(f"mpirun -np 2 ./osu_allreduce\n{OSU.replace('1.50', '1.80')}")
    found = compare(tmp_path / "silent.log", tmp_path / "stated.log", "-n", 2)
    assert found.stdout.count("does not state its ranks") == 1
    assert "silent.log does not state its ranks: taken to be 2 ranks, by -n" in found.stdout
    assert re.search(r"1\.200? +\(slower\)", found.stdout)
    cells = judged(base, tmp_path / "stated.log")["cells"]
    assert [bool(cell["observed"] and cell["ratio"]) for cell in cells] == [True, True]
    found = compare(base, tmp_path / "stated.log")
    assert "other definitions of a time, max_local and osu_avg: the ratio alone" in found.stdout
    assert found.exit_code == 1 and "the ratio alone, no verdict" in found.stderr

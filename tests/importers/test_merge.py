"""Several runs as one: every launch once, under a name of its own, and the sources untouched."""

import hashlib
import json
from html import unescape
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from made_runs import build_run, identified, launch_facts
from read_calls import calls_of
from rechecked import change_json

from allreduce_bench.cli import main
from allreduce_bench.evaluation import frames
from allreduce_bench.evaluation.agreement import broken_promise
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.importers.merge import merge
from allreduce_bench.models.points import points
from allreduce_bench.report import page
from allreduce_bench.report.page import write_report
from allreduce_bench.runs.folder import RunFolder, merged_sources, merged_sources_sentence
from allreduce_bench.runs.identified import identified_of, keep_identified
from allreduce_bench.runs.plan import Launch
from allreduce_bench.runs.recorder import Recorder

FULL = "No space left on device"  # says the system

SMALL = {"sizes": (8, 1024), "algorithms": ("native", "ring")}


def build(path: Path, ranks=(2, 4), launches=2, **more) -> RunFolder:
    return build_run(path, ranks=ranks, launches=launches, **{**SMALL, **more})


def collect(*words) -> Result:
    result = CliRunner().invoke(main, ["collect", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def fingerprint(path: Path) -> dict[str, str]:
    files = [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def refused(tmp_path, *folders) -> str:
    before = [fingerprint(folder.path) for folder in folders]
    result = collect(*(folder.path for folder in folders), "-o", tmp_path / "new")
    assert result.exit_code == 2 and result.stderr.count("\n") == 1 and not result.stdout, result.output
    assert [fingerprint(folder.path) for folder in folders] == before
    assert not [path for path in tmp_path.iterdir() if "new" in path.name]
    return result.stderr


def test_runs_of_different_ranks_stand_side_by_side(tmp_path):
    a, b = build(tmp_path / "a", ranks=(2,), launches=2), build(tmp_path / "b", ranks=(4, 8), launches=3)
    new = merge([a, b], tmp_path / "new", ["collect"])
    plan = new.plan()
    assert (plan.ranks, plan.launches, plan.sizes) == ((2, 4, 8), 3, (8, 1024))
    assert [launch.name for launch in new.pending(plan)] == ["2r-3"]
    of_each = [row for folder in (a, b) for row in summarise(folder)]
    times = {(row["ranks"], row["competitor"], row["size_bytes"]): row["time_s"] for row in of_each}
    assert {(row["ranks"], row["competitor"], row["size_bytes"]): row["time_s"] for row in summarise(new)} == times
    assert (new.path / "summary.csv").is_file() and not list(tmp_path.glob(".new*"))


def test_launches_whose_name_is_taken_get_the_next_free_number_everywhere(tmp_path):
    a, b, c = (build(tmp_path / name, ranks=(4,), seed=seed, launches=2) for seed, name in enumerate("abc"))
    before = [fingerprint(folder.path) for folder in (a, b, c)]
    new = merge([a, b, c], tmp_path / "new", [])
    assert new.plan().launches == 6 and not new.pending(new.plan())
    assert sorted({mark["launch"] for mark in new.marks()}) == [f"4r-{number}" for number in range(1, 7)]
    assert sorted(fact["launch"] for fact in new.attempts()) == [f"4r-{number}" for number in range(1, 7)]
    for path in new.launches.glob("*.json"):
        assert json.loads(path.read_text())["launch"] == path.name.split(".")[0]
    assert not new.damages()
    renamed = {row["launch"]: row["time_s"] for row in calls_of(new)}
    assert renamed["4r-3"] == {row["launch"]: row["time_s"] for row in calls_of(b)}["4r-1"]
    assert len(list(calls_of(new))) == sum(len(list(calls_of(folder))) for folder in (a, b, c))
    (row, *_) = summarise(new)
    medians = [list(summarise(folder)[0]["launch_medians"].values()) for folder in (a, b, c)]
    assert list(row["launch_medians"].values()) == sum(medians, []) and row["interval"] == "launches"
    assert [fingerprint(folder.path) for folder in (a, b, c)] == before


def test_launches_keep_their_number_where_it_is_free_and_all_their_attempts(tmp_path):
    a = build(tmp_path / "a", ranks=(4,), outcome=lambda launch, cell: None if launch.number == 1 else {})
    for path in a.launches.glob("4r-1.*"):
        path.unlink()
    b = build(tmp_path / "b", ranks=(4,))
    Recorder(b, "4r-2", launch_facts(4))  # that did no cell
    new = merge([a, b], tmp_path / "new", [])
    told = [one["launches"] for one in merged_sources(new)]
    assert told == [{"4r-2": "4r-2"}, {"4r-1": "4r-1", "4r-2": "4r-3"}]
    assert {path.name for path in new.launches.glob("4r-3.2.*")} == {
        f"4r-3.2.{kind}" for kind in ("json", "calls.csv", "cells.csv")
    }
    assert json.loads((new.launches / "4r-3.1.json").read_text())["merged_from"] == {
        "run": "b",
        "launch": "4r-2",
        "attempt": 1,
    }


def test_stamps_come_along(tmp_path):
    folders = []
    for value, name in enumerate("ab"):
        folder = build(tmp_path / name, ranks=(4,), launches=1, outcome=lambda launch, cell: None)
        recorder = Recorder(
            folder, "4r-1", {"ranks": 4, "oversubscribed": False, "mpi": {}, "findings": [], "nodes": 1}
        )
        (cell, *_) = folder.plan().cells(Launch(4, 1))
        kept = recorder.stamps(np.full((2, 3, 4), float(value)))
        common = {**cell.__dict__, "ranks": 4, "size_bytes": 8, "state": "done", "stamps": kept, "wrong": 0, "nodes": 1}
        calls = [{**common, "call": n, "warmup": False, "valid": True, "time_s": 1.0} for n in range(3)]
        recorder.cell(common, calls)
        folders.append(folder)
    new = merge(folders, tmp_path / "new", [])
    frame = frames.stamps([new])
    assert frame.groupby("launch")["entry_s"].unique().map(list).to_dict() == {"4r-1": [0.0], "4r-2": [1.0]}


def test_what_the_library_ran_comes_along_unless_runs_differ(tmp_path):
    a, b = build(tmp_path / "a", ranks=(2, 4, 8)), build(tmp_path / "b", ranks=(4, 8, 16))
    both = ("recursive_doubling", "rabenseifner")
    keep_identified(a, identified(2, {("native", 8): ["ring"]}))
    keep_identified(a, identified(4, {("native", 8): both, ("native", 1024): ["ring"], ("native:ring", 8): ["ring"]}))
    of_b = {("native", 8): both[:1], ("native", 1024): ["tree"], ("native:ring", 8): ["tree"], ("native:tree", 8): []}
    keep_identified(b, identified(4, of_b, asked="no", not_counted="why"))
    keep_identified(a, identified(8, {("native", 8): ["ring"]}))
    keep_identified(b, identified(8, {("native", 8): ["ring"]}, library="MPICH 5.0.2"))
    found = identified_of(merge([a, b], tmp_path / "new", []), (2, 4, 8, 16))
    assert sorted(found) == [2, 4] and found[2].at("native", 8).names == ("ring",)
    joined = {(ran.algorithm, ran.size_bytes): (ran.names, ran.asked) for ran in found[4].ran}
    none = {("native", 1024): ((), None), ("native:ring", 8): ((), "no"), ("native:tree", 8): ((), "no")}
    assert joined == {("native", 8): (both, None), **none} and found[4].not_counted == "why"
    assert "differ: ring; tree" in found[4].at("native", 1024).order


def test_it_says_of_what_it_was_made(tmp_path, monkeypatch):
    for name in ("time_pictures", "model_pictures"):
        monkeypatch.setattr(page, name, lambda *_: [])
    a, b = build(tmp_path / "a", choices={"seed": 7}), build(tmp_path / "b", choices={"seed": 8})
    new = merge([a, b], tmp_path / "new", ["allreduce-bench", "collect", "a", "b"])
    one, other = merged_sources(new)
    assert (one["name"], one["seed"], other["name"], other["seed"], new.plan().seed) == ("a", 7, "b", 8, 7)
    assert one["sha256"] != other["sha256"] and len(one["sha256"]) == 64
    words = merged_sources_sentence(merged_sources(new))
    assert words.startswith(f"a (sha256 {one['sha256'][:16]}, seed 7); b (sha256 ") and "4r-2 as 4r-4" in words
    assert words in unescape(write_report([new], tmp_path / "report.html").read_text())
    assert len(points([new])) == len(points([a])) + len(points([b]))
    change_json(a.launches / "2r-1.1.json", transport="another")
    again = merge([a, b], tmp_path / "again", [])
    assert merged_sources(again)[0]["sha256"] != one["sha256"]


def test_the_command_names_the_new_run(tmp_path):
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    result = collect(a.path, b.path, "-o", tmp_path / "x" / "new")
    assert result.exit_code == 0 and result.stdout == f"{tmp_path}/x/new\n"
    assert f"allreduce-bench report {tmp_path}/x/new" in result.stderr
    assert "collect merges" in collect(a.path, b.path).stderr


@pytest.mark.parametrize(
    ("ours", "theirs", "why"),
    [
        ({"sizes": (8,)}, {"sizes": (8, 1024)}, "has sizes 8,1024, but {a} has 8;"),
        ({"algorithms": ("native",)}, {}, "has competitors native,ring, but {a} has native;"),
        (
            {"choices": {"check": "bits", "seed": 3}},
            {"choices": {"check": "bits", "seed": 4}},
            "has seed 4, but {a} has 3;",
        ),
        (
            {"facts": {"mpi": {"library": "MPICH 4.3", "thread_level": "single"}}},
            {},
            "has MPI library Open MPI 5.0.11 at 4 ranks, but {a} has MPICH 4.3;",
        ),
        ({}, {"facts": {"nodes": 2}}, "has number of nodes 2 at 4 ranks, but {a} has 1;"),
    ],
)
def test_runs_that_differ_are_refused_with_both_values(tmp_path, ours, theirs, why):
    a, b = build(tmp_path / "a", ranks=(4,), **ours), build(tmp_path / "b", ranks=(4,), **theirs)
    assert why.format(a=a.path) in refused(tmp_path, a, b)


def test_another_library_at_other_ranks_is_none_of_their_business(tmp_path):
    mpich = {"mpi": {"library": "MPICH 4.3", "thread_level": "single"}}
    a, b = build(tmp_path / "a", ranks=(2,), facts=mpich), build(tmp_path / "b", ranks=(4,))
    assert merge([a, b], tmp_path / "new", []).plan().ranks == (2, 4)


def test_other_schemas_imported_runs_and_damage_are_refused_and_nothing_is_left(tmp_path):
    a, b = build(tmp_path / "a"), build(tmp_path / "b")
    assert "named twice" in refused(tmp_path, a, RunFolder(tmp_path / "b" / ".." / "a"))
    path = b.launches / "4r-2.1.calls.csv"
    text = path.read_text()
    path.write_text(text.replace("ring,8,", "ring,8,,", 1))
    assert "4r-2.1.cells.csv: damaged: " in refused(tmp_path, a, b) and "/b/" in refused(tmp_path, a, b)
    path.write_text(text)
    content = json.loads(b.run_json.read_text())
    change_json(b.run_json, layout=2)
    assert "a run of layout 2; expected layout 1" in refused(tmp_path, a, b)
    change_json(b.run_json, **content)
    (tmp_path / "new" / "notes").mkdir(parents=True)
    assert "already exists" in collect(a.path, b.path, "-o", tmp_path / "new").stderr


def test_an_imported_run_is_refused(tmp_path):
    log = tmp_path / "osu.csv"
    log.write_text("ranks,size_bytes,time_us\n2,8,1.5\n2,16,1.7\n")
    columns = [f"--column={name}={name}" for name in ("ranks", "size_bytes", "time_us")]
    result = CliRunner().invoke(main, ["import", str(log), "-o", str(tmp_path / "imported"), *columns])
    assert result.exit_code == 0, result.output
    imported = RunFolder(tmp_path / "imported")
    assert "imported from" in refused(tmp_path, imported, build(tmp_path / "b"))


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    a, b = build(tmp_path / "a"), build(tmp_path / "b")

    def full(*_):
        raise OSError(28, FULL, "x.csv")

    monkeypatch.setattr(import_module("allreduce_bench.evaluation.summary"), "record_summary", full)
    assert FULL.lower() in refused(tmp_path, a, b)


def test_bits_of_other_floats_are_not_held_against_each_other(tmp_path):
    facts = {"promised_same_bits": 1, "promised_rank_order": 1, "promised_depth": 0}

    def built(name: str, seed: int) -> RunFolder:
        outcome = facts | {"bits": str(seed)}
        return build(tmp_path / name, ranks=(2,), choices={"seed": seed}, outcome=lambda *_: outcome)

    rows = summarise(merge([built("a", 7), built("b", 8)], tmp_path / "new", []))
    assert {(row["bits"], row["same_bits_launches"], broken_promise(row)) for row in rows} == {("7", 1, None)}

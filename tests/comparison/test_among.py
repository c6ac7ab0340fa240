"""`among`: where a run stands among like systems, what is left out, and how it ends."""

import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from has_message import has_message
from made_runs import build_run
from places import DATA
from strict_schemas import undescribed

from allreduce_bench.cli import main
from allreduce_bench.comparison import among as asked
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.cell import FORCED_DEFAULT
from allreduce_bench.runs.schema import NOT_RELIABLE
from allreduce_bench.units import busbw

LOGS = DATA / "logs"
BAD, GOOD = LOGS / "nccl_cscs_alps_8xGH200_no_hook_bad.txt", LOGS / "nccl_cscs_alps_8xGH200_ofi_hook_good.txt"
HEADERLESS = LOGS / "nccl_msccl_leaderboard_headerless.txt"  # 8 ranks; its nodes are not known
OSU, FULL_OSU = LOGS / "osu_v7.4_2ranks_case1.txt", LOGS / "osu_v7.4_2ranks_case2.txt"
IMB = LOGS / "imb_2021.11_real_4ranks_npmin2.txt"
OLD = "nccl_allreduce_old_error_col.log"  # 8 ranks on a node
MIB = 1 << 20


def among(*words: object) -> Result:
    return CliRunner().invoke(main, ["among", *map(str, words)])


def printed(*words: object) -> dict:
    result = among(*words, "--format", "json")
    assert undescribed("among", result.stdout) == []
    return json.loads(result.stdout)


def refusal(*words: object) -> str:
    result = among(*words)
    assert result.exit_code == 2 and not result.stdout, result.output
    (line,) = result.stderr.splitlines()
    return line.removeprefix("error: ")


def osu_log(path: Path, us: float) -> Path:
    path.write_text(f"# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n1048576     {us}\n")
    return path


def test_a_log_stands_where_its_bus_bandwidth_is_among_the_others():
    (place,) = printed(BAD, GOOD, HEADERLESS, "--sizes", "8M")["places"]
    good, other = 8 * MIB / 344.5e-6 * 14 / 8, 8 * MIB / 156.9e-6 * 14 / 8
    assert (place["place"], place["of"], place["ranks"], place["nodes"]) == (3, 3, 8, 2)
    assert [reference["source"] for reference in place["references"]] == [str(HEADERLESS), str(GOOD)]
    assert place["references"][1]["busbw_bytes_per_s"] == pytest.approx(good) and place["references"][1]["line"] == 37
    assert place["references"][0]["busbw_bytes_per_s"] == pytest.approx(other, rel=1e-3)
    assert place["median_busbw_bytes_per_s"] == pytest.approx((good + other) / 2, rel=1e-3)
    assert place["of_median"] == pytest.approx(8 * MIB / 2438e-6 * 14 / 8 / ((good + other) / 2), rel=1e-3)
    assert printed(GOOD, BAD, "--sizes", "8M")["places"][0]["place"] == 1


def test_the_table_names_the_source_and_what_all_rows_share():
    shown = among(BAD, GOOD, "--sizes", "8M,16M").stdout
    head, _, _, columns, first, *_ = shown.splitlines()
    assert head == f"{BAD}: nccl-tests, 8 ranks, 2 nodes, native, timed as nccl_tests"
    assert columns.split() == ["size", "time", "us", "GB/s", "place", "median", "share", "best"]
    assert first.split()[:2] == ["8", "MiB"] and first.endswith(f"{GOOD}, line 37 (nccl-tests)")
    assert "2 of 2" in first and "14 %" in first
    assert "8 ranks, 1 node, native" in among(HEADERLESS, HEADERLESS.with_name(OLD), "--nodes", "1").stdout
    assert "8 ranks, number of nodes unknown, native" in among(HEADERLESS, BAD).stdout


def test_files_of_a_folder_are_systems_and_what_is_not_like_is_counted():
    found = printed(BAD, LOGS)
    assert len(found["references"]) == 7 and found["unlike"] == {"ranks": 4, "nodes": 1}
    assert str(BAD) not in [system["source"] for system in found["references"]]
    assert any("README.md" in reason for reason in found["unread"]) and found["alone"] == 0
    place = next(place for place in found["places"] if place["nbytes"] == 8 * MIB)
    assert (place["place"], place["of"]) == (3, 3)
    assert has_message(among(BAD, LOGS).stdout, "comparison.among_unlike", count=1, what="other numbers of nodes")


def test_copies_are_counted_apart_from_files_that_cannot_be_read(tmp_path):
    for name, log in {"a.log": GOOD, "b.log": GOOD, "c.log": HEADERLESS, "d.md": LOGS / "README.md"}.items():
        (tmp_path / name).write_bytes(log.read_bytes())
    found = printed(BAD, tmp_path)
    assert [len(found[which]) for which in ("references", "unread", "copies")] == [2, 1, 1]
    shown = among(BAD, tmp_path).stdout
    for code in ("comparison.among_copies", "comparison.among_unread"):
        assert has_message(shown, code, count=1)


def test_runs_below_a_folder_of_logs_are_left_out_and_named(tmp_path):
    run = build_run(tmp_path / "of" / "mine" / "run", ranks=(8,), sizes=(MIB,), launches=1).path
    assert f"need no import: {run}" in refusal(BAD, tmp_path)
    (tmp_path / "good.log").write_bytes(GOOD.read_bytes())
    found = printed(BAD, tmp_path)
    assert len(found["references"]) == 1 and has_message(found["unread"][0], "importers.runs_below", runs=run)


def test_an_algorithm_of_the_run_that_has_no_ranked_time_is_not_called_absent(tmp_path):
    run = build_run(tmp_path / "run", ranks=(2,), sizes=(MIB,), outcome=lambda launch, cell: {"state": "skipped"})
    assert has_message(refusal(run.path, GOOD, "-a", "ring"), "comparison.among_no_times", path=run.path)


def test_only_times_of_one_definition_are_set_beside_each_other():
    found = printed(IMB, OSU, FULL_OSU, "-n", "2")
    by_source = {
        reference["source"]: place["time_definition"] for place in found["places"] for reference in place["references"]
    }
    assert by_source == {str(OSU): "osu_avg", str(FULL_OSU): "osu_avg"}  # which IMB has, too
    words = refusal(OSU, BAD, "-n", "8")
    assert has_message(words, "comparison.among_unlike", count=1, what="times of another definition")


def test_a_run_has_its_times_by_the_definitions_of_others(tmp_path):
    run = build_run(tmp_path / "run", ranks=(2,), sizes=(MIB,), launches=3)
    slow, fast = osu_log(tmp_path / "slow.txt", 1e6), osu_log(tmp_path / "fast.txt", 1e-3)
    (place,) = printed(run.path, slow, fast, "-n", "2")["places"]
    assert (place["time_definition"], place["place"], place["of"]) == ("osu_avg", 2, 3)
    assert place["busbw_bytes_per_s"] == pytest.approx(busbw(MIB, place["time_s"], 2))
    (named,) = printed(run.path, slow, "-n", "2", "-a", "ring")["places"]
    assert named["algorithm"] == "ring" and named["time_s"] >= place["time_s"]
    other = build_run(tmp_path / "other", ranks=(2,), sizes=(MIB,), launches=3, factor=lambda launch, cell: 2.0)
    (beside,) = printed(run.path, other.path)["places"]
    assert beside["of_median"] == pytest.approx(2.0, rel=0.2) and beside["references"][0]["tool"] == "allreduce-bench"


def test_a_demand_that_is_not_met_ends_with_status_1():
    missed = among(BAD, GOOD, "--sizes", "8M", "--min-of-median", "90%")
    assert missed.exit_code == 1 and "2 of 2" in missed.stdout
    words = "14 % at 8 MiB, 8 ranks"
    assert has_message(missed.stderr, "comparison.among_missed", count=1, of=1, least=90.0, words=words)
    met = among(GOOD, BAD, "--min-of-median", "90%")
    assert met.exit_code == 0 and has_message(met.stdout, "comparison.among_met", least=90.0)
    assert among(GOOD, BAD).exit_code == among(BAD, GOOD).exit_code == 0


def test_what_cannot_be_placed_is_refused_in_one_line(tmp_path):
    assert has_message(refusal(OSU, FULL_OSU), "comparison.among_ranks_missing", path=OSU)
    assert has_message(refusal(BAD, GOOD, GOOD), "comparison.among_named_twice", path=GOOD)
    assert has_message(refusal(BAD, BAD), "comparison.among_named_twice", path=BAD)
    assert has_message(refusal(BAD, GOOD, "--sizes", "8M,3"), "comparison.among_no_size", path=BAD, size="3 B")
    assert has_message(refusal(BAD, GOOD, "-a", "x"), "comparison.among_no_algorithm", name="x", names="native")
    named = {"path": BAD, "name": FORCED_DEFAULT}
    assert has_message(refusal(BAD, GOOD, "-a", FORCED_DEFAULT), "comparison.among_never_ranked", **named)
    assert "no such file" in refusal(BAD, tmp_path / "absent")
    assert "unknown log format" in refusal(BAD, LOGS / "README.md")
    stated = {"place": GOOD, "name": "nodes", "value": 1, "in_log": "2"}
    assert has_message(refusal(HEADERLESS, GOOD, "--nodes", "1"), "importers.log_states_leave_out", **stated)
    stated = {"place": BAD, "name": "ranks", "value": 4, "in_log": "8"}
    assert has_message(refusal(BAD, LOGS, "-n", "4"), "importers.log_states_leave_out", **stated)
    copy = tmp_path / "copy.log"
    copy.write_bytes(GOOD.read_bytes())
    assert "same bytes" in refusal(BAD, GOOD, copy)
    assert "more than 0" in refusal(BAD, GOOD, "--min-of-median", "0%")


def test_each_log_of_an_archive_is_a_system_and_copies_are_left_out(tmp_path):
    packed = tmp_path / "refs" / "arc.tar.gz"
    packed.parent.mkdir()
    with tarfile.open(packed, "w:gz") as archive:
        for name, log in {"a/bad.log": BAD, "a/good.log": GOOD, "again.log": GOOD, "h.log": HEADERLESS}.items():
            archive.add(log, name)
    for given in (packed, packed.parent):
        found = printed(BAD, given, "--sizes", "8M")
        sources = [reference["source"] for reference in found["places"][0]["references"]]
        assert sources == [f"{packed}: h.log", f"{packed}: a/good.log"]
        assert [system["source"] for system in found["references"]] == sources[::-1]


def test_a_run_whose_times_are_not_reliable_is_named(tmp_path, monkeypatch):
    run = build_run(tmp_path / "run", ranks=(2,), sizes=(MIB,), launches=3).path
    log = osu_log(tmp_path / "osu.txt", 100)
    assert "not reliable" not in among(run, log, "-n", "2").stdout
    monkeypatch.setattr(asked, "summarise", lambda folder: [row | {"grade": NOT_RELIABLE} for row in summarise(folder)])
    for words in ((run, log), (log, run)):
        shown = among(*words, "-n", "2")
        assert shown.exit_code == 0, shown.output
        assert has_message(shown.stdout, "comparison.times_not_reliable_see", run=run, in_ranks="2 ranks")

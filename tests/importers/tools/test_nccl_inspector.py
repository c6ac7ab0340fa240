"""NCCL Inspector as a run."""

import json

import pytest
from click.testing import CliRunner
from made_inspector import Job, calls_of, write_job
from made_logs import OSU, log

from allreduce_bench.cli import main
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.importers import Asked, LogError, parts_of_logs, read, recognise
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.stragglers.run_arrivals import arrivals_of_run
from allreduce_bench.stragglers.verdict import straggler_report

JOB = Job(ranks=8, steps=40)


def run(*words, status=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result.output


def test_the_time_of_a_call_is_that_of_the_rank_that_is_in_it_longest(tmp_path):
    paths = write_job(tmp_path, JOB)
    (row,) = read(tmp_path)
    times_us = [max(call["coll_exec_time_us"] for call in step) for step in zip(*calls_of(JOB))]
    assert [time_s * 1e6 for time_s in row.times_s] == pytest.approx(times_us)
    assert (row.ranks, row.nodes, row.size_bytes, row.competitor, row.version) == (
        8,
        2,
        1 << 20,
        "native:ring_simple",
        "v4.2",
    )
    assert row.time_definition == "nccl_inspector" and row.iterations == 1 and len(row.files) == 8
    assert recognise(paths[0].read_text()) == "nccl-inspector"


def test_files_are_parts_of_one_log_and_others_are_not(tmp_path):
    paths = write_job(tmp_path / "job", JOB)
    other = log(tmp_path, OSU)
    assert parts_of_logs([other, *paths]) == [[other], paths] and parts_of_logs([other]) == [[other]]
    (row,) = read(paths[0], more=paths[1:])
    assert row.ranks == 8 and row.stamps.shape == (4, 40, 8)


def test_what_is_of_other_tools_is_refused(tmp_path):
    with pytest.raises(
        LogError,
        match="--communicator chooses one of NCCL Inspector, but this.*log of osu",
    ):
        read(log(tmp_path, OSU), Asked(communicator="0x1"))


def test_versions_may_be_mixed_and_sizes_are_rows(tmp_path):
    paths = write_job(tmp_path, JOB)
    old = write_job(tmp_path / "old", JOB._replace(version="v4.0"))
    paths[3].write_text(old[3].read_text())
    text = paths[0].read_text()
    for path in paths:
        lines = path.read_text().splitlines(keepends=True)
        path.write_text(
            "".join(lines).replace('"coll_sn":7,"coll_msg_size_bytes":1048576', '"coll_sn":7,"coll_msg_size_bytes":64')
        )
    assert text != paths[0].read_text()
    rows = read(paths[0], more=paths[1:])
    assert {(row.size_bytes, row.competitor, len(row.times_s)) for row in rows} == {
        (1048576, "native", 39),
        (64, "native", 1),
    }
    assert rows[0].version == "v4.0, v4.2"


def test_a_run_of_it_says_who_arrives_late(tmp_path):
    paths = write_job(tmp_path / "job", JOB)
    said = run("import", *paths, "-o", tmp_path / "run")
    assert "1 row, 8 ranks on 2 nodes, 1 MiB, NCCL Inspector v4.2" in said
    (row,) = summarise(RunFolder(tmp_path / "run"))
    assert row["repetitions"] == 40 and len(RunFolder(tmp_path / "run").imported()["files"]) == 8
    ((_, arrivals),) = arrivals_of_run(RunFolder(tmp_path / "run"))
    assert arrivals.nodes == ("gpu00", "gpu01") and 0 < arrivals.clock_error_s < 5e-6
    content = json.loads(run("stragglers", tmp_path / "run", "--format", "json"))
    assert content["sources"][0]["suspects"][0]["ranks"] == [5]


def test_a_run_without_a_rank_still_says_it(tmp_path):
    paths = write_job(tmp_path / "job", JOB)
    said = run("import", *paths[:-1], "-o", tmp_path / "run")
    assert "no file" in said and "7" in said
    ((_, arrivals),) = arrivals_of_run(RunFolder(tmp_path / "run"))
    assert straggler_report(arrivals._replace(step_s=arrivals.step_s)).suspects[0].ranks == (5,)


def test_calls_of_no_time_are_left_out(tmp_path):
    for path in write_job(tmp_path, Job(ranks=2, steps=3, slow=None)):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for record in lines[1:]:
            record["coll_perf"]["coll_exec_time_us"] = 0
        path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    (row,) = read(tmp_path)
    assert row.state == "left out" and row.stamps is None

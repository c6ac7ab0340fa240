"""`stragglers`: what it prints of each source, what it writes, and how it ends."""

import json

import pytest
from click.testing import CliRunner
from made_arrivals import arrivals, write_steps
from made_inspector import Job, write_job
from made_runs import build_run
from made_traces import write_traces

from allreduce_bench.cli import main
from allreduce_bench.importers import keep, read
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.stragglers.monitor.watchdog import Stall


def run(*words, status=0):
    result = CliRunner().invoke(main, ["stragglers", *map(str, words)])
    assert result.exit_code == status, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_the_lines_of_a_monitor(tmp_path):
    path = write_steps(tmp_path / "steps.jsonl", arrivals())
    said = run(path).stdout
    assert said.startswith(f"{path}\nsuspect") and "rank 5 on node n1 arrives last in 100 % of steps" in said


def test_a_stall_that_the_monitor_noticed_is_no_warning(tmp_path):
    path = write_steps(tmp_path / "steps.jsonl", arrivals(steps=40))
    stall = json.dumps({"kind": "stall", "job": "a", **Stall(40, 61.0, behind=(5,))._asdict()})
    path.write_text(path.read_text() + stall + "\n")
    said = run(path).stderr
    assert said.startswith("note: ") and "rank 5 on node n1 is not ready" in said and "warning" not in said
    path.write_text(path.read_text().splitlines()[0] + "\n" + stall + "\n")  # no step has ended
    said = run(path, status=2).stderr
    assert "line 2: no step has ended for 61 s" in said and said.rstrip().endswith("rank 5 on node n1 is not ready")


def test_status_1_only_where_it_is_wanted(tmp_path):
    slow = write_steps(tmp_path / "slow.jsonl", arrivals(by=0.3))
    run(slow)
    run(slow, "--fail", status=1)
    run(write_steps(tmp_path / "good.jsonl", arrivals(slow=None)), "--fail")


def test_files_of_nccl_inspector_and_the_trace_of_them(tmp_path):
    write_job(tmp_path / "job", Job(steps=40))
    said = run(tmp_path / "job", "--trace", tmp_path / "t.csv")
    assert "communicator 0xe62dedaa97644a (DP Group 0), 8 ranks, 40 calls" in said.stdout
    assert "next: allreduce-bench run -n 8 --arrival" in said.stderr
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 1 + 39 * 8


def test_a_run_names_the_rank_that_the_others_wait_for(tmp_path):
    write_job(tmp_path / "job", Job(steps=40))
    keep(read(tmp_path / "job"), RunFolder(tmp_path / "run"), [], {})
    assert "rank 5 on node gpu01 arrives last in" in run(tmp_path / "run").stdout


def test_traces_of_torch(tmp_path):
    write_traces(tmp_path / "job")
    said = run(tmp_path / "job").stdout
    assert "trace_0.json: 4 ranks, 30 all_reduce\nsuspect" in said and "rank 2 arrives last in 100 % of steps" in said
    (source,) = json.loads(run(tmp_path / "job", "--format", "json").stdout)["sources"]
    assert source["kind"] == "kineto" and source["ranks"] == 4


def test_text_of_a_trace_cannot_steer_a_terminal(tmp_path):
    def edit(rank, document):
        document["host_name"] = f"n\x1b[31m\n<b>{rank % 2}"
        document["traceEvents"][0]["name"] = "\x1b"

    said = run(*write_traces(tmp_path, edit)).output
    assert "\x1b" not in said and "n?[31m?<b>" in said


@pytest.mark.parametrize("words", [(), ("--format", "json")])
def test_a_plain_run_says_how_to_measure_it(tmp_path, words):
    build_run(tmp_path / "run")
    said = run(tmp_path / "run", *words, status=2).stderr
    assert "who arrives" in said and "--compute" in said and said.count("\n") == 1


def test_bad_input_is_one_sentence(tmp_path):
    write_job(tmp_path / "job", Job(steps=20))
    write_job(tmp_path / "job" / "other", Job(steps=20, id="0xab"))
    for words, said in {
        (tmp_path / "job",): "choose one with --communicator 0x",
        (tmp_path / "nothing",): "no such file",
    }.items():
        result = run(*words, status=2)
        assert said in result.stderr and result.stderr.strip().count("\n") == 0
    two = [write_steps(tmp_path / f"{n}.jsonl", arrivals(steps=20)) for n in "ab"]
    assert "--trace writes" in run(*two, "--trace", tmp_path / "t.csv", status=2).stderr

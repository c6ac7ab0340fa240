"""`health` from the command line: bad usage, foreign tables, and four hosts of which one has a slow link."""

import csv
import json
import os
import re
import subprocess

import pytest
from click.testing import CliRunner
from interpreters import in_turn, interpreters
from places import DATA, ROOT
from virtual_hosts import INTERFACE, virtual_hosts

from allreduce_bench.cli import main
from allreduce_bench.health.check import nodes_to_check
from allreduce_bench.health.pair_folder import CheckSettings, PairFolder
from allreduce_bench.runs.hosts import expand

H100 = DATA / "pairs_h100"


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "nodes given"),
        (["--hosts", "n1"], "expected two nodes.*found n1"),
        (["--hosts", "n1,n2", "--timeout", "100ms"], r"0\.1 s would end"),
        (["--hosts", "n1,n2", "--failed", "x"], re.escape("--failed: only with --from")),
        (["--hosts", "n1,n2", "--from", "x.csv"], "--hosts: --from"),
        (["--from", "x.csv"], re.escape("x.csv: no such file or directory")),
    ],
)
def test_bad_usage_is_one_sentence_and_starts_nothing(words, said, tmp_path, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    result = CliRunner().invoke(main, ["health", *words])
    assert result.exit_code == 2 and re.search(said, result.output) and result.output.count("\n") == 1, result.output
    assert not list(tmp_path.iterdir())


def test_the_nodes_of_a_job_are_taken_from_slurm(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1]")
    result = CliRunner().invoke(main, ["health", "-o", str(tmp_path / "health")])
    assert result.exit_code == 2 and "each once; found n1" in result.output


def test_a_foreign_table_is_judged_without_an_mpi():
    words = [
        "health",
        "--from",
        str(H100 / "cluster_17_nodes.csv"),
        "--failed",
        str(H100 / "cluster_17_nodes_failures.txt"),
    ]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1, result.output
    assert all(words in result.stdout for words in ("cnode2-003: 8 of its 16 pairs failed", "18 failed", "2.1 (p ="))
    said = " ".join(result.stdout.split())
    assert "1 bad node: cnode2-003. 30 slow links, 10 failed links" in said
    assert "alltoall_perf, G=8: 2 groups" in said and "between groups" in said
    assert "failed: in alltoall_perf, G=4 (1 of 6 tests), line 140" in result.stdout
    assert "20 more slow links" in result.stdout
    excluded = CliRunner().invoke(main, [*words[:3], "--print-exclude"])
    assert excluded.stdout == "cnode2-003\n" and "node cnode2-003: slow in" in excluded.stderr


def test_good_pairs_end_with_status_0_and_exclude_nobody(tmp_path):
    words = ["health", "--from", str(H100 / "cluster_10_nodes.csv"), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0 and "no node" in result.stdout and "no link" in result.stdout
    assert CliRunner().invoke(main, [*words, "--print-exclude"]).stdout == ""
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"health.png"}
    PairFolder(tmp_path / "other").begin(CheckSettings(("n1", "n2")))
    refused = CliRunner().invoke(main, [*words[:-1], str(tmp_path / "other")])
    assert refused.exit_code == 2 and f"{tmp_path / 'other'}: holds something else" in refused.output
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["health.json"]


def test_without_hosts_the_nodes_are_those_that_the_folder_asked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    PairFolder(tmp_path).begin(CheckSettings(("n2", "n1", "n3")))
    assert nodes_to_check(None, tmp_path) == ["n2", "n1", "n3"]
    assert nodes_to_check(("n4", "n5"), tmp_path) == ["n4", "n5"]
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-4]")
    assert nodes_to_check(None, tmp_path) == ["n2", "n1", "n3"]
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[6-7]")
    assert nodes_to_check(None, tmp_path) == ["n6", "n7"]


def test_a_kept_check_is_judged_again_and_another_folder_is_refused(tmp_path):
    result = CliRunner().invoke(main, ["health", "--from", str(tmp_path)])
    assert result.exit_code == 2 and f"{tmp_path}: holds no check" in result.output
    PairFolder(tmp_path / "kept").begin(CheckSettings(("n1", "n2", "n3", "n4")))
    result = CliRunner().invoke(main, ["health", "--from", str(tmp_path / "kept")])
    assert result.exit_code == 1 and "no pair was measured" in result.output


def rows_of(folder) -> list[dict]:
    with (folder / "pairs.csv").open() as file:
        return list(csv.DictReader(file))


def test_an_interrupted_check_says_how_to_continue(tmp_path, monkeypatch):
    def interrupt(check):
        raise KeyboardInterrupt

    monkeypatch.setattr("allreduce_bench.health.check._prepare_check", lambda *asked: (None, {}))
    monkeypatch.setattr("allreduce_bench.health.check._announce", interrupt)
    result = CliRunner().invoke(main, ["health", "--hosts", "n1,n2", "-o", str(tmp_path / "a b")])
    advice = f"to continue, repeat the command with -o '{tmp_path}/a b'"
    assert result.exit_code == 130 and "measured rounds" in result.output and f"kept; {advice}" in result.output


@pytest.mark.slow
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_the_host_with_the_slow_link_is_named_and_what_was_measured_is_not_measured_again(python, tmp_path):
    in_turn(1, python)
    environ, folder = {**os.environ, "PYTHONPATH": str(ROOT)}, tmp_path / "health"
    with virtual_hosts(4, rate="1gbit") as hosts:
        slow = ["tc", "qdisc", "replace", "dev", INTERFACE, "root", "tbf", "rate", "150mbit", "burst", "64kb"]
        hosts.run(2, [*slow, "latency", "400ms"], check=True)
        words = ["--remote-shell", hosts.agent, "--threshold", "60%", "-o", folder]
        health = [python, "-m", "allreduce_bench", "health", *words, "--hosts", "h1,h2,h3,h4"]
        first = hosts.run(0, health, env=environ, stdin=subprocess.DEVNULL)
        kept = rows_of(folder)
        if python != interpreters()[-1]:  # one MPI goes on with it
            check_first(first, kept, folder)
            return
        cut = [line for line in (folder / "pairs.csv").read_text().splitlines(True) if not line.startswith("3,")]
        (folder / "pairs.csv").write_text("".join(cut) + "4,h1,h")
        again = hosts.run(0, [*health, "--print-exclude"], env=environ, stdin=subprocess.DEVNULL)
    check_first(first, kept, folder)
    assert "h3" in expand(again.stdout.strip()) and "round 3 of 3" in again.stderr and "round 1" not in again.stderr
    assert rows_of(folder)[: len(cut) - 1] == kept[: len(cut) - 1] and len(rows_of(folder)) == len(kept)


def check_first(first, kept: list[dict], folder) -> None:
    """What the first check says and keeps."""
    assert first.returncode == 1, first.stderr
    assert "node h3: slow in bandwidth" in first.stdout and "cannot be told apart reliably" in first.stdout
    assert "4 nodes: 3 rounds of up to 2 pairs at the same time" in first.stderr
    pairs = [frozenset((row["source"], row["dest"])) for row in kept]
    assert len(set(pairs)) == 6 and all(pairs.count(pair) == 10 + 2 * 5 for pair in pairs)
    ways = {(row["source"], row["dest"]) for row in kept if row["size_bytes"] == str(4 << 20)}
    assert len(ways) == 12 and {row["round"] for row in kept} == {"1", "2", "3"}
    assert json.loads((folder / "health.json").read_text())["nodes"] == ["h1", "h2", "h3", "h4"]
    assert (folder / "health.png").exists()

"""Work that would take hours or fill disks is refused before it begins, in one line that says what lifts the limit."""

import pytest
from click.testing import CliRunner
from has_message import has_message, message_pattern
from made_runs import build_run

from allreduce_bench.cli import main, work_limit
from allreduce_bench.cli.work_limit import refuse_long_run, refuse_many_proofs
from allreduce_bench.runs.plan import Plan

PRICES = "--alpha 5us --bandwidth 100Gbit"
MANY = ",".join(str(8 * number) for number in range(1, 20_001))
SOME = ",".join(str(8 * number) for number in range(1, 1001))
FIVE = "ring,tree,two_tree,rabenseifner,naive"
RUN = "run -n 2 -a ring -o OUT"
REFUSED = {
    f"{RUN} --launches 100000000000": "run: about 100,000,000,000 launches, the limit is 10,000 launches",
    f"{RUN} --iters 100000000000": "calls in all cells, the limit is 1,000,000,000 calls; reduce --iters",
    f"{RUN} --warmups 100000000000": "calls in all cells",
    f"{RUN} --back-to-back 100000000000": "calls in all cells",
    f"{RUN} --sizes {MANY}": "run: about 20,000 sizes, the limit is 1,000 sizes; reduce --sizes",
    f"{RUN} --sizes {SOME} --launches 500": "run: about 1,500,000 cells in all launches, the limit is 1,000,000 cells",
    "run -n 1-15000 -a ring -o OUT": "run: about 75,000 launches, the limit is 10,000",
    "submit --nodes 1 --ranks-per-node 2 --launches 100000000000 -o OUT --dry-run": "about 100,000,000,000 launches",
    "demo -n 2-14000 -o OUT --here": "launches, the limit is 10,000",
    "explain ring -n 400": "explain ring -n 400: about 211 MB of text, the limit is 10 MB; use fewer ranks",
    "explain tree -n 64 --count 10000000 --segment 1": "steps to draw, the limit is 30,000,000 steps",
    "verify ring -n 4000": "verify -n 4000: about 96,000,000 steps to verify, the limit is 30,000,000 steps",
    "verify -n 1-4096": "steps to verify",
    "verify tree -n 64 --count 10000000 --segment 1": "about 2,560,000,000 steps to verify",
    f"predict -n 4 -a {FIVE} --sizes {MANY} {PRICES}": "counts times 20000 sizes of 5 algorithms: about 300,000 times",
    f"predict -n 2-100000 -a ring,tree {PRICES}": "predict, 99999 rank counts times 10 sizes of 2 algorithms",
}


@pytest.mark.parametrize("words", REFUSED)
def test_it_is_refused_in_one_line(tmp_path, words):
    result = CliRunner().invoke(main, words.replace("OUT", str(tmp_path / "out")).split())
    assert result.exit_code == 2 and result.stdout == "" and result.stderr.count("\n") == 1, result.output[:300]
    assert REFUSED[words] in result.stderr and result.stderr.endswith(", or add --no-limit\n")
    assert list(tmp_path.iterdir()) == []


def test_ranks_are_named_but_a_million_times():
    numbers = ",".join(["1-1000000"] * 50)
    result = CliRunner().invoke(main, ["verify", "-n", numbers])
    assert result.exit_code == 2 and "names more than 1000000 numbers" in result.stderr


def test_many_processes_on_one_node_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(work_limit, "MOST_RANKS_HERE", 3)
    monkeypatch.setattr(work_limit, "RANKS_OF_A_CORE", 0)
    with pytest.raises(
        work_limit.OneLineError,
        match=message_pattern("cli.about_add_no_limit", what="run -n 4", amount="4", unit="processes on this node"),
    ):
        work_limit.refuse_many_ranks(4, no_limit=False)
    work_limit.refuse_many_ranks(4, no_limit=True)
    work_limit.refuse_many_ranks(3, no_limit=False)


@pytest.mark.parametrize("command", ["fit", "import -o OUT"])
def test_long_logs_are_refused_and_read_where_there_is_no_limit(tmp_path, monkeypatch, command):
    monkeypatch.setattr(work_limit, "MOST_LOG_NBYTES", 2e6)
    log = tmp_path / "log.csv"
    rows = (f"ring,{ranks},{ranks},{8 << size},{ranks + size}\n" for ranks in (2, 4, 8) for size in range(9))
    log.write_text("algorithm,ranks,nodes,nbytes,time_us\n" + "".join(rows) + "\n" * 3_000_000)
    words = [*command.replace("OUT", str(tmp_path / "out")).split(), str(log)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and has_message(
        result.stderr,
        "cli.about_add_no_limit",
        amount="3",
        unit="MB of logs",
        bound="the limit is 2 MB",
        advice="shorten them",
    )
    monkeypatch.setattr(work_limit, "MOST_LOG_NBYTES", 4e6)
    log.write_text(log.read_text().rstrip())
    assert CliRunner().invoke(main, words).exit_code == 0


def test_many_runs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(work_limit, "MOST_RUNS", 2)
    runs = [build_run(tmp_path / name, ranks=(2,), launches=2, seed=seed).path for seed, name in enumerate("abc")]
    words = ["compare", *map(str, runs[:2]), "--", str(runs[2])]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and has_message(
        result.stderr,
        "cli.about_add_no_limit",
        what="compare",
        amount="3",
        unit="runs",
        bound="the limit is 2 runs",
        advice="name fewer",
    )
    assert "the limit" not in CliRunner().invoke(main, [*words[:1], "--no-limit", *words[1:]]).output


def test_the_limit_is_lifted(monkeypatch):
    refuse_long_run(Plan(("ring",), (8,), (2,), launches=10**9), no_limit=True)
    monkeypatch.setattr(work_limit, "MOST_TEXT_NBYTES", 100)
    refused, done = (CliRunner().invoke(main, ["explain", "ring", "-n", "4", *more]) for more in ([], ["--no-limit"]))
    assert refused.exit_code == 2 and done.exit_code == 0 and "round 6" in done.stdout


def test_what_the_readme_shows_and_what_people_do_is_not_refused():
    from allreduce_bench.algorithms import builtin

    refuse_many_proofs(builtin(), range(1, 65), (), (), None, no_limit=False)
    refuse_many_proofs({"ring": builtin()["ring"]}, [1000], (), (), None, no_limit=False)
    week = Plan(tuple(builtin()), tuple(8 << power for power in range(28)), (2, 4, 8, 16), launches=100, iters=1000)
    refuse_long_run(week, no_limit=False)


@pytest.mark.parametrize("ranks, tolerance", [(16, 2.0), (64, 2.0)])
def test_the_text_of_a_ring_is_about_as_long_as_estimated(ranks, tolerance, monkeypatch):
    nbytes = len(CliRunner().invoke(main, ["explain", "ring", "-n", str(ranks)]).stdout)
    monkeypatch.setattr(work_limit, "MOST_TEXT_NBYTES", nbytes / tolerance)
    assert CliRunner().invoke(main, ["explain", "ring", "-n", str(ranks)]).exit_code == 2
    monkeypatch.setattr(work_limit, "MOST_TEXT_NBYTES", nbytes * tolerance)
    assert CliRunner().invoke(main, ["explain", "ring", "-n", str(ranks)]).exit_code == 0


@pytest.mark.parametrize("command", ["fit", "import -o OUT", "stragglers"])
def test_folders_of_very_many_files_are_refused_before_they_are_read(tmp_path, monkeypatch, command):
    monkeypatch.setattr(work_limit, "MOST_FILES", 3)
    for number in range(4):
        (tmp_path / f"{number}.txt").touch()
    words = command.replace("OUT", str(tmp_path / "out")).split()
    result = CliRunner().invoke(main, [*words, str(tmp_path)])
    assert result.exit_code == 2 and result.stderr.count("\n") == 1
    assert has_message(result.stderr, "cli.holds_more_files_name", most_files=3)
    assert "more than" not in CliRunner().invoke(main, [*words, "--no-limit", str(tmp_path)]).stderr

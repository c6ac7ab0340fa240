"""Restarts after the loss of a rank: what is left, and when a program is started again."""

import re
import subprocess

import pytest
from interpreters import FULL, in_turn, interpreters
from measured_runs import with_package
from places import ANALYSIS

from allreduce_bench.launching.own_program import Ending, Place
from allreduce_bench.launching.restarts import run_with_restarts, what_is_left
from allreduce_bench.runs.start import Start

LOST = Ending(137, "rank 2 on n1 was killed", (Place(2, "n1"),))


@pytest.mark.parametrize(
    ("ranks", "hosts", "lost", "left"),
    [
        (4, (), [Place(2, "laptop")], (3, ())),
        (4, ("n1",), [Place(2, "n1")], (3, ("n1",))),
        (8, ("n1", "n2", "n3", "n4"), [Place(5, "n3")], (6, ("n1", "n2", "n4"))),
        (8, ("n1:4", "n2:1", "n3:3"), [Place(0, "n1.cluster.local")], (4, ("n2:1", "n3:3"))),
        (4, ("n1", "n2"), [Place(0, "n1"), Place(1, "n1")], (2, ("n2",))),
        (4, ("n1", "n2"), [Place(0, "other")], (3, ("n1", "n2"))),
        (4, ("10.0.0.1", "10.0.0.2"), [Place(3, "10.0.0.2")], (2, ("10.0.0.1",))),
        (2, (), [Place(0, ""), Place(1, "")], (0, ())),
        (2, ("n1", "n2"), [Place(0, "n1"), Place(1, "n2")], (0, ())),
    ],
)
def test_a_lost_rank_or_its_host_is_left_out(ranks, hosts, lost, left, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    found = what_is_left(ranks, Start(hosts=hosts), lost)
    assert (found.ranks, found.start.hosts) == left


@pytest.mark.parametrize(
    ("answer", "hosts"),
    [
        (None, ("n1", "n3", "n4")),  # no squeue
        ("n[1-4]", ("n1", "n3", "n4")),
        ("n[1-3]", ("n1", "n2", "n3")),  # the node of the rank that was missed first is well
        ("what?", ("n1", "n3", "n4")),
        ("", ("n1", "n3", "n4")),
    ],
)
def test_in_an_allocation_its_nodes_are_the_hosts(monkeypatch, tmp_path, answer, hosts):
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-4]")
    monkeypatch.setenv("PATH", str(tmp_path))
    if answer is not None:
        squeue = tmp_path / "squeue"
        squeue.write_text(f"#!/bin/sh\necho '{answer}'\n")
        squeue.chmod(0o755)
    found = what_is_left(4, Start(), [Place(1, "n2")])
    assert (found.ranks, found.start.hosts) == (3, hosts)


def test_the_loss_of_a_node_starts_it_again_however_its_ranks_ended(monkeypatch, tmp_path):
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-4]")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "squeue").write_text("#!/bin/sh\necho 'n[1-3]'\n")
    (tmp_path / "squeue").chmod(0o755)
    by_itself = Ending(14, "rank 3 on n4 ended with status 14")
    assert run([by_itself, by_itself], 2, monkeypatch)[0] == [4, 3]


def run(endings, restarts, monkeypatch):
    """The ranks of every start, and how the last one ended."""
    monkeypatch.setenv("ALLREDUCE_BENCH_RESTART", "")
    started, told, left = [], [], iter(endings)

    def start(ranks, start):
        started.append(ranks)
        return next(left)

    return started, run_with_restarts(start, 4, Start(), restarts, told.append), told


@pytest.mark.parametrize(
    ("endings", "restarts", "started"),
    [
        ([Ending(0, "")], 2, [4]),
        ([Ending(3, "rank 1 ended with status 3")], 2, [4]),
        ([LOST, Ending(0, "")], 2, [4, 3]),
        ([LOST, LOST, Ending(0, "")], 2, [4, 3, 2]),
        ([LOST, LOST], 1, [4, 3]),
        ([LOST], 0, [4]),
        ([LOST._replace(lost=tuple(Place(rank, "n1") for rank in range(4)))], 2, [4]),
    ],
)
def test_only_a_loss_starts_it_again(endings, restarts, started, monkeypatch):
    found, ending, told = run(endings, restarts, monkeypatch)
    assert found == started and ending.status == endings[-1].status
    assert len(told) == 2 * (len(started) - 1) + (len(endings[0].lost) == 4)


CASES = {  # words of the program -> samples after the loss
    ("--lose", "0@23"): 64,
    ("--lose", "2@37", "--batch", "scaled"): 48,
}


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("words", CASES if FULL else [*CASES][:1], ids=" ".join)
def test_training_goes_on_with_the_ranks_that_are_left(python, words, tmp_path):
    in_turn([*CASES].index(words), python)
    command = [str(python), "-m", "allreduce_bench", "exec", "-n", "4", "--restarts", "1"]
    command += ["--checkpoint", str(tmp_path / "ckpt"), "--mean-time-to-failure", "24h", "--", str(python)]
    done = subprocess.run(
        [*command, "train_numpy.py", *words],
        cwd=ANALYSIS,
        env=with_package(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lost = int(words[1].partition("@")[2])
    step, samples = re.search(r"step (\d+): goes on with 3 ranks.* (\d+) samples", done.stdout).groups()
    assert (int(step), int(samples)) == (lost - lost % 10, CASES[words])
    assert re.search(rf"^steps lost: {lost % 10};", done.stderr, re.MULTILINE), done.stderr
    assert re.search(r"every [\d.]+ \S+ \(Daly", done.stderr), done.stderr
    assert not [*(tmp_path / "ckpt").glob(".*")]

"""`Allreduce(…, on_failure=…)`: no survivor keeps a result that others do not have, over Open MPI's ULFM."""

import json
import os
import re
import sys
import threading

import pytest
from interpreters import FULL, interpreters
from places import RANK_PROGRAMS

from allreduce_bench.launching.find import find_launcher, mpirun_command
from allreduce_bench.launching.tied_process import end_process, start_tied
from allreduce_bench.machine import OPEN_MPI
from allreduce_bench.runs.start import Start


@pytest.fixture
def ulfm():
    """The function that runs a program under mpirun with ULFM until so many ranks have told: what was said."""
    launcher = find_launcher()
    if not launcher.library.startswith(OPEN_MPI):
        pytest.skip("only Open MPI has ULFM")

    def run(ranks: int, left: int, *words: str, program: str = "lost_ranks.py", last_words: str = "results") -> str:
        command_of_rank = [sys.executable, str(RANK_PROGRAMS / program), *words]
        command = mpirun_command(launcher, ranks, Start(launcher_args="--with-ft ulfm"), command_of_rank)
        process = start_tied(command, os.environ)
        end = threading.Timer(240, process.terminate)  # closes its stdout
        end.start()
        said = ""
        for line in process.stdout:
            said += line
            if said.count(last_words) == left:  # MPI_Finalize does not always end where several were lost at once
                break
        end.cancel()
        end_process(process)
        return said

    return run


CASES = [
    (4, ("shrink", "recursive_doubling", "20000", "3@5")),
    (4, ("raise", "ring", "1000", "0@6", "2@9")),
    (3, ("shrink", "auto", "50000", "1@4", "2@4")),
    (4, ("raise", "native", "10", "1@3", "3@3")),
]


@pytest.mark.skipif(not interpreters(), reason="no MPI")
@pytest.mark.parametrize(("ranks", "words"), CASES if FULL else CASES[:2], ids=lambda value: str(value)[:30])
def test_those_left_have_the_same_right_results(ulfm, ranks, words):
    lost = {int(word.split("@")[0]) for word in words[3:]}
    left = [rank for rank in range(ranks) if rank not in lost]
    said = ulfm(ranks, len(left), *words)
    told = re.findall(r"^rank (\d+): left (\[.*?\]), (\d+) results$", said, re.MULTILINE)
    assert sorted(int(rank) for rank, _, _ in told) == left, said
    assert {(left_of, results) for _, left_of, results in told} == {(str(left), told[0][2])}, said


@pytest.mark.skipif(not interpreters(), reason="no MPI")
@pytest.mark.parametrize("on_failure", ["raise", "shrink"] if FULL else ["raise"])
def test_the_monitor_of_steps_goes_on_with_those_left(ulfm, on_failure, tmp_path):
    log = tmp_path / "steps.jsonl"
    said = ulfm(4, 2, on_failure, str(log), program="lost_and_monitored.py", last_words=" steps\n")
    assert sorted(re.findall(r"^rank (\d): 60 steps$", said, re.MULTILINE)) == ["1", "3"], said
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["ranks"] for line in lines if line["kind"] == "start"] == [4, 3, 2]
    numbers = [line["first_step"] for line in lines if line["kind"] == "steps"]
    again = {25, 42} if on_failure == "raise" else {26, 43}  # the step that was hit, or the next
    assert numbers == sorted(numbers) and again <= {*numbers}, numbers
    assert lines[-1]["kind"] == "end" and lines[-1]["complete"] and lines[-1]["steps"] == 60


def test_it_is_refused_where_no_rank_can_be_outlived(mpi, monkeypatch):
    from allreduce_bench.executing.recovery import why_unavailable
    from allreduce_bench.programs.allreduce import Allreduce

    monkeypatch.delenv("OMPI_MCA_mpi_ft_enable", raising=False)
    for words, said in [
        ({"on_failure": "shrink"}, re.escape(f"unavailable: {why_unavailable({})}")),
        ({"on_failure": "ignore"}, "on_failure='ignore'"),
        (
            {"on_failure": "raise", "executor": "compiled"},
            "executor compiled.*'auto' or 'sendrecv'",
        ),
    ]:
        with pytest.raises(ValueError, match=said):
            Allreduce(b"", bytearray(), comm=mpi.COMM_SELF, **words)

"""Ranks that stop, die, loop or skip, over a real MPI: the right one is named, nothing is lost, nobody stays."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from measured_runs import bench, done, mpirun, nobody_is_left, processes

TIMEOUT = ["--timeout", "2s"]
MINE = """import os, sys, time
from allreduce_bench.algorithms import Cost, algorithm, find
from allreduce_bench.schedule import Step
ME = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or -1)
if {unproved} and "allreduce_bench.measuring.schedules" in sys.modules:
    sys.modules["allreduce_bench.measuring.schedules"].PROVED_UP_TO = 0  # as with many ranks
@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def mine(rank, size, topology, count, segment):
    for number, step in enumerate(find(["ring"])["ring"].generate(rank, size, topology, count, segment)):
        if rank == 2 and number == 1 and {only}:
            {act}
        yield step
"""

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def strike(command: list[str], folder: Path, victim: int, number: int) -> tuple[int, str]:
    """Run `command`, send signal `number` to rank `victim` when cells are done; status and stderr."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 60
    while len(done(folder)) < 2:
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.02)
    os.kill(processes(folder)[victim], number)
    _, said = process.communicate(timeout=60)
    nobody_is_left(folder)
    return process.returncode, said


def words(ranks: int, folder: Path) -> list[str]:
    algorithms = ["-a", "native,ring,tree,two_tree", "--sizes", "8,64K,1M", "--launches", "1", "--no-reference-times"]
    algorithms += ["--min-time", "0.1s", "--cell-time", "0.1s"]  # busy cores make calls long, not a run
    return ["run", "-n", str(ranks), *algorithms, *TIMEOUT, "-o", str(folder)]


CASES = [(3, 2, "STOP"), (3, 0, "KILL")]
ALL_CASES = [(ranks, victim, name) for ranks in (3, 5) for victim in range(ranks) for name in ("STOP", "KILL")]


@pytest.mark.parametrize(("ranks", "victim", "name"), ALL_CASES if FULL else CASES)
def test_a_rank_that_stops_or_dies_is_named_and_resuming_completes(python, tmp_path, ranks, victim, name):
    in_turn(victim, python)
    folder = tmp_path / "run"
    way = ["--sync", "barrier" if victim % 2 else "round_time"] * (name == "STOP")
    command = [str(python), "-m", "allreduce_bench", *words(ranks, folder), *way]
    status, said = strike(command, folder, victim, signal.Signals[f"SIG{name}"])
    what = r"does not respond \(stopped, or its node failed\)" if name == "STOP" else "died"
    sentence = said.splitlines()[-1]
    assert status == 1
    assert re.match(
        rf"error: launch {ranks}r-1: \w+( \w+)? \d+ \w+, {ranks} ranks: .*rank {victim} on \S+ {what}", sentence
    ), said
    assert "finished cells" in sentence and "Traceback" not in said
    kept = done(folder)
    assert 2 <= len(kept) < 12
    resumed = bench(python, "run", "--resume", "-o", folder)
    assert resumed.returncode == 0, resumed.stderr
    assert len(done(folder)) == len(set(done(folder))) == 12 and set(kept) <= set(done(folder))


@pytest.mark.skipif(not FULL, reason="ranks that stop are tried with both ways anyway; ALLREDUCE_BENCH_FULL=1 has it")
@pytest.mark.parametrize("way", ["round_time", "barrier"])
def test_whoever_keeps_the_others_from_a_common_start_is_named(python, tmp_path, way):
    in_turn(len(way), python)
    folder = tmp_path / "run"
    command = [str(python), "-m", "allreduce_bench", *words(3, folder), "--sync", way]
    status, said = strike(command, folder, 1, signal.SIGSTOP)
    assert status == 1 and "rank 1 on " in said.splitlines()[-1] and "does not respond" in said.splitlines()[-1], said


@pytest.mark.parametrize("victim", [0, 1, 2] if FULL else [1])
def test_under_mpirun_the_ranks_watch_themselves(python, tmp_path, victim):
    in_turn(victim, python)
    folder = tmp_path / "run"
    inner = [word for word in words(3, folder) if word not in ("-n", "3")]
    inner = [*inner[: inner.index("--launches")], *inner[inner.index("--launches") + 2 :]]
    status, said = strike(mpirun(python, 3, *inner), folder, victim, signal.SIGSTOP)
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert status != 0 and len(errors) == 1, said
    assert f"rank {victim} " in errors[0] and "does not respond" in errors[0]


BROKEN = {  # act, on whom, unproved -> what is said
    "skips": ("continue", "True", False, r"mine is no all-reduce .*: round \d+: .*rank 2\b"),
    "skips-impurely": ("continue", "ME == 2", False, r"refused: mine 60 B: rank 2 made other steps than were verified"),
    "skips-unproved": (
        "continue",
        "ME == 2",
        True,
        r"mine 60 B, \d ranks: no progress for 2 s .* rank 2 on \S+ left the",
    ),
    "sleeps": (
        "time.sleep(600)",
        "ME == 2",
        False,
        r"no progress for 2 s .* rank 2 on \S+ is behind \(making its sched",
    ),
    "loops": (
        "while True: pass",
        "ME == 2",
        False,
        r"no progress for 2 s .* rank 2 on \S+ is behind \(making its sched",
    ),
    "raises": ("raise OSError('a reason')", "ME == 2", False, r"refused: mine 60 B: mine: .*rank 2 of \d, 15 elements"),
}


@pytest.mark.parametrize("ranks", [3, 5])
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_algorithm_is_named_with_its_rank(python, tmp_path, kind, ranks):
    both = kind == "skips-unproved"  # each MPI buffers in its own way what is left over
    if not FULL and ranks == 5:
        pytest.skip("in the full matrix only")
    in_turn(ranks // 4 if both else list(BROKEN).index(kind), python)
    act, only, unproved, says = BROKEN[kind]
    launches = 2 if both and ranks == 3 else 1
    mine, folder = tmp_path / "mine.py", tmp_path / "run"
    mine.write_text(MINE.format(act=act, only=only, unproved=unproved))
    arguments = [
        "-n",
        ranks,
        "--sizes",
        "60",
        "-a",
        f"{mine},ring",
        "--launches",
        launches,
        "--seed",
        3,
        "--no-reference-times",
        *TIMEOUT,
        "-o",
        folder,
    ]
    result = bench(python, "run", *arguments)
    assert result.returncode == 1
    assert re.search(says, result.stdout + result.stderr), result.stdout + result.stderr
    nobody_is_left(folder)
    if "no progress for" in says:
        assert "hung" in result.stdout
        resumed = bench(python, "run", "--resume", "--skip-hung", *TIMEOUT, "-o", folder)
        assert resumed.returncode == 0, resumed.stderr
        assert [algorithm for _, algorithm, _ in done(folder)] == ["ring"] * launches


def test_a_launcher_that_dies_ends_in_a_sentence_and_takes_stopped_ranks_along(python, tmp_path):
    in_turn(0, python)
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [str(python), "-m", "allreduce_bench", *words(3, folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(done(folder)) < 2:
        time.sleep(0.02)
    os.kill(processes(folder)[1], signal.SIGSTOP)
    os.kill(int(subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()[0]), 9)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and "finished cells" in said.splitlines()[-1], said
    if sys.platform == "linux":
        nobody_is_left(folder)


def test_a_timeout_of_nothing_is_refused(tmp_path):
    result = bench(interpreters()[0], "run", "--timeout", "0", "-o", tmp_path / "run")
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "0 s would end" in result.stderr and not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_hang_inside_within_is_no_want_of_time(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    hasty = [word for word in words(3, folder) if word not in TIMEOUT] + ["--within", "6s"]
    status, said = strike([str(python), "-m", "allreduce_bench", *hasty], folder, 2, signal.SIGSTOP)
    assert status == 1 and "finished cells" in said.splitlines()[-1], said


def test_a_starter_that_is_asked_to_end_says_what_is_kept(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    command = [str(python), "-m", "allreduce_bench", *words(3, folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(done(folder)) < 2:
        time.sleep(0.02)
    process.terminate()
    table, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "cells done" in table
    assert "error: interrupted; finished" in said.splitlines()[-1] and "kept; to continue" in said.splitlines()[-1]
    nobody_is_left(folder)


@pytest.mark.parametrize("outer", [True, False])
def test_a_rank_that_never_starts_ends_in_a_sentence(python, tmp_path, outer):
    in_turn(outer, python)
    late = tmp_path / "late"
    late.write_text('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && exec sleep 300\nexec "$@"\n')
    late.chmod(0o755)
    options = ["--sizes", "8", "-a", "ring", "--timeout", "1s", "-o", str(tmp_path / "run")]
    command = mpirun(python, 3, "run", *options)
    place = command.index(str(python))
    if outer:
        result = subprocess.run(
            [*command[:place], str(late), *command[place:]], capture_output=True, text=True, timeout=60
        )
        says = "error: start: MPI_Init did not finish in 5 s (5 times --timeout)"
    else:
        template = " ".join([*command[:place], str(late)]).replace("-n 3", "-n {ranks}")
        result = bench(python, "run", "-n", 3, "--launches", 1, "--launcher", template, *options)
        says = "start of 3 ranks: no progress for 5 s (5 times --timeout); rank 1 never connected"
    assert result.returncode != 0 and says in result.stderr, result.stderr


def test_a_launcher_that_calls_the_death_of_a_rank_a_success_is_not_believed(python, tmp_path):
    """Open MPI's does so when it loses a node."""
    in_turn(0, python)
    folder, careless = tmp_path / "run", tmp_path / "careless"
    ask = "from allreduce_bench.launching.find import find_launcher; print(find_launcher().program)"
    program = subprocess.run([str(python), "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    free = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    careless.write_text(f'#!/bin/bash\n{free} "{program}" "$@"\nexit 0\n')
    careless.chmod(0o755)
    patient = [word for word in words(2, folder) if word not in TIMEOUT]
    command = [str(python), "-m", "allreduce_bench", *patient, "--launcher", f"{careless} -n {{ranks}}"]
    status, said = strike(command, folder, 1, signal.SIGKILL)
    assert status == 1 and "launcher reported" in said.splitlines()[-1], said

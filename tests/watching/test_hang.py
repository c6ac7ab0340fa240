"""Ranks that stop, die, loop or skip, over a real MPI: the right one is named, nothing is lost, nobody stays."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from measured_runs import PATIENCE_S, bench, done, impatient, nobody_is_left, processes, wait_for_cells
from rank_programs import launch

TIMEOUT = ["--timeout", "2s"]
MINE = """import os, sys, time
from allreduce_bench.algorithms import Cost, algorithm, find
from allreduce_bench.schedule import Step
ME = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or -1)
if {unproved} and "allreduce_bench.measuring.schedules" in sys.modules:
    sys.modules["allreduce_bench.measuring.schedules"].PROVED_UP_TO = 0  # as with many ranks
@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def {name}(rank, size, topology, count, segment):
    for number, step in enumerate(find(["ring"])["ring"].generate(rank, size, topology, count, segment)):
        if rank == 2 and number == 1 and {only}:
            {act}
        yield step
"""

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def start(command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def strike(command: list[str], folder: Path, victim: int, number: int) -> tuple[int, str]:
    """Run `command`, send signal `number` to rank `victim` when cells are done; status and stderr."""
    process = start(command)
    victims = wait_for_ranks(process, folder, victim + 1)
    wait_for_cells(process, folder, 2)
    os.kill(victims[victim], number)
    _, said = process.communicate(timeout=240)
    nobody_is_left(folder)
    return process.returncode, said


def wait_for_ranks(process: subprocess.Popen, folder: Path, ranks: int, former: Iterable[int] = ()) -> dict[int, int]:
    """Rank -> process, once the first so many ranks are there, of another launch than the former one."""
    deadline = time.time() + PATIENCE_S
    while not {*range(ranks)} <= (found := processes(folder)).keys() or {*former} & {*found.values()}:
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.02)
    return found


def words(ranks: int, folder: Path, launches: int = 1) -> list[str]:
    algorithms = ["-a", "native,ring,tree,two_tree", "--sizes", "8,64K", "--no-reference-times", "--identify=never"]
    algorithms += ["--min-time", "0.2s", "--cell-time", "0.2s"]  # busy cores make calls long, not a run
    return ["run", "-n", str(ranks), *algorithms, "--launches", str(launches), *TIMEOUT, "-o", str(folder)]


@pytest.mark.parametrize(
    ("ranks", "victim"), [(3, 2), (3, 0), (3, 1), *((5, victim) for victim in range(5))][: None if FULL else 1]
)
def test_a_rank_that_stops_and_one_that_dies_are_named_and_resuming_completes(python, tmp_path, ranks, victim):
    in_turn(victim, python)
    folder = tmp_path / "run"
    sync = "barrier" if victim % 2 else "round_time"
    process = start(impatient(python, *words(ranks, folder, 2), "--sync", sync))
    killed = (victim + 1) % ranks
    victims: dict[int, int] = {}
    for turn, rank, number in ((1, victim, signal.SIGSTOP), (2, killed, signal.SIGKILL)):
        victims = wait_for_ranks(process, folder, ranks, victims.values())
        wait_for_cells(process, folder, 2, f"{ranks}r-{turn}")
        os.kill(victims[rank], number)
    _, said = process.communicate(timeout=240)
    nobody_is_left(folder)
    assert process.returncode == 1 and "Traceback" not in said, said
    (first,) = [line for line in said.splitlines() if line.startswith("failed: ")]
    cell = r"\w+( \w+)? \d+ \w+"
    what = r"does not respond \(stopped, or its node failed\)"
    assert re.match(rf"failed: launch {ranks}r-1: {cell}, {ranks} ranks: .*rank {victim} on \S+ {what}", first), said
    last = said.splitlines()[-1]
    assert re.search(rf"launch {ranks}r-2: {cell}, {ranks} ranks: .*rank {killed} on \S+ died", last), said
    assert last.startswith("error: ") and "finished cells" in last
    kept = done(folder)
    assert 4 <= len(kept) < 16
    resumed = bench(python, "run", "--resume", "-o", folder)
    assert resumed.returncode == 0, resumed.stderr
    assert len(done(folder)) == len(set(done(folder))) == 16 and set(kept) <= set(done(folder))


@pytest.mark.parametrize("victim", [0, 1, 2] if FULL else [1])
def test_under_mpirun_the_ranks_watch_themselves(python, tmp_path, victim):
    in_turn(victim, python)
    folder = tmp_path / "run"
    command, _, ranks, *others = words(3, folder)
    given = others.index("--launches")
    command = [*launch(python, int(ranks)), *impatient(python, command, *others[:given], *others[given + 2 :])]
    status, said = strike(command, folder, victim, signal.SIGSTOP)
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert status != 0 and len(errors) == 1, said
    assert f"rank {victim} " in errors[0] and "does not respond" in errors[0]


BROKEN = {  # act, unproved -> what is said
    "skips-unproved": ("continue", True, r"mine 60 B, \d ranks: no progress for 2 s .* rank 2 on \S+ left the"),
    "loops": ("while True: pass", False, r"no progress for 2 s .* rank 2 on \S+ is behind \(making its sched"),
    "sleeps": ("time.sleep(600)", False, r"no progress for 2 s .* rank 2 on \S+ is behind \(making its sched"),
}


@pytest.mark.parametrize(("ranks"), [3, 5] if FULL else [3])
@pytest.mark.parametrize("kind", BROKEN if FULL else [*BROKEN][:2])
def test_a_broken_algorithm_that_hangs_is_named_with_its_rank(python, tmp_path, kind, ranks):
    both = kind == "skips-unproved"  # each MPI buffers in its own way what is left over
    in_turn(ranks // 4 if both else list(BROKEN).index(kind), python)
    act, unproved, says = BROKEN[kind]
    mine, folder = tmp_path / "mine.py", tmp_path / "run"
    mine.write_text(MINE.format(name="mine", act=act, only="ME == 2", unproved=unproved))
    options = ["--sizes", 60, "-a", f"{mine},ring", "--launches", 1, "--seed", 3, "--no-reference-times"]
    result = bench(python, "run", "-n", ranks, *options, *TIMEOUT, "-o", folder)
    assert result.returncode == 1 and re.search(says, result.stderr), result.stderr
    nobody_is_left(folder)
    assert "hung" in result.stdout
    if both or FULL:
        resumed = bench(python, "run", "--resume", "--skip-hung", *TIMEOUT, "-o", folder)
        assert resumed.returncode == 0, resumed.stderr
        assert [algorithm for _, algorithm, _ in done(folder)] == ["ring"]


def test_algorithms_that_one_rank_breaks_are_refused_by_all(python, tmp_path):
    in_turn(1, python)
    impure, raising, folder = tmp_path / "impure.py", tmp_path / "raising.py", tmp_path / "run"
    impure.write_text(MINE.format(name="impure", act="continue", only="ME == 2", unproved=False))
    raising.write_text(MINE.format(name="raising", act="raise OSError('a reason')", only="ME == 2", unproved=False))
    options = ["--sizes", 60, "-a", f"{impure},{raising},ring", "--launches", 1, "--no-reference-times"]
    result = bench(python, "run", "-n", 3, *options, "-o", folder)
    assert result.returncode == 1
    assert "refused: impure 60 B: rank 2 made other steps than were verified" in result.stdout, result.stdout
    assert re.search(r"refused: raising 60 B: raising: .*rank 2 of 3, 15 elements", result.stdout), result.stdout
    assert [algorithm for _, algorithm, _ in done(folder)] == ["ring"]


def test_a_launcher_that_dies_ends_in_a_sentence_and_takes_stopped_ranks_along(python, tmp_path):
    in_turn(0, python)
    folder = tmp_path / "run"
    process = start([str(python), "-m", "allreduce_bench", *words(3, folder)])
    victims = wait_for_ranks(process, folder, 3)
    wait_for_cells(process, folder, 2)
    os.kill(victims[1], signal.SIGSTOP)
    os.kill(int(subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()[0]), 9)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 1 and "finished cells" in said.splitlines()[-1], said
    if sys.platform == "linux":
        nobody_is_left(folder)


def test_a_starter_that_is_asked_to_end_says_what_is_kept(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    process = start([str(python), "-m", "allreduce_bench", *words(3, folder)])
    wait_for_cells(process, folder, 2)
    process.terminate()
    table, said = process.communicate(timeout=240)
    assert process.returncode == 130 and "cells done" in table
    assert "error: interrupted; finished" in said.splitlines()[-1] and "kept; to continue" in said.splitlines()[-1]
    nobody_is_left(folder)


def test_a_rank_that_never_starts_ends_in_a_sentence(python, tmp_path):
    in_turn(1, python)
    late = tmp_path / "late"
    late.write_text('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && exec sleep 300\nexec "$@"\n')
    late.chmod(0o755)
    options = ["--sizes", "8", "-a", "ring", "--timeout", "1s", "-o"]
    by_hand = [*launch(python, 3), late, python, "-m", "allreduce_bench", "run", *options, tmp_path / "by_hand"]
    template = " ".join([*launch(python, 3), str(late)]).replace("-n 3", "-n {ranks}")
    started = ["-n", 3, "--launches", 1, "--launcher", template, *options, tmp_path / "started"]
    # both at the same time, since they do nothing but wait
    waiting = [start([*map(str, by_hand)]), start(impatient(python, "run", *started))]
    for process, says in zip(
        waiting,
        (
            "error: start: the ranks were not ready in 5 s (5 times --timeout)",
            "start of 3 ranks: no progress for 5 s (5 times --timeout); rank 1 never connected",
        ),
    ):
        _, said = process.communicate(timeout=240)
        assert process.returncode and says in said, said


def test_a_launcher_that_calls_the_death_of_a_rank_a_success_is_not_believed(python, tmp_path):
    """Open MPI's does so when it loses a node."""
    in_turn(0, python)
    folder, careless = tmp_path / "run", tmp_path / "careless"
    free = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    careless.write_text(f'#!/bin/bash\n{free} "{launch(python, 2)[0]}" "$@"\nexit 0\n')
    careless.chmod(0o755)
    patient = [word for word in words(2, folder) if word not in TIMEOUT]
    command = [str(python), "-m", "allreduce_bench", *patient, "--launcher", f"{careless} -n {{ranks}}"]
    status, said = strike(command, folder, 1, signal.SIGKILL)
    assert status == 1 and "launcher reported" in said.splitlines()[-1], said

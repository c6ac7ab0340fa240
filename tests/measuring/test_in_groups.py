"""All-reduces of several groups at the same time, and of one alone: who measures, who sleeps, who is checked."""

import csv
import json
import subprocess
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from measured_runs import bench, mpirun, nobody_is_left
from virtual_hosts import virtual_hosts

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.folder import RunFolder, key_of
from allreduce_bench.runs.groups import groups_of, parse_group_times

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
QUICK = ["--launches", 1, "--iters", 5, "--warmups", 2, "--no-reference-times"]

LEAK = """
import numpy as np
from mpi4py import MPI
from allreduce_bench.executing import Place, sendrecv
from allreduce_bench.algorithms import builtin
from allreduce_bench.measuring.repeat import Checks
from allreduce_bench.schedule.algorithm import Topology

world = MPI.COMM_WORLD
own = world.Split(world.rank * 2 // world.size, world.rank)
other = world.Split(world.rank % 2, world.rank)
found = []
for dtype, op in (("float32", "sum"), ("float16", "sum"), ("int64", "prod"), ("float32", "max")):
    for comm in (own, other):
        sendbuf, recvbuf = np.empty(40, dtype), np.empty(40, dtype)
        steps = builtin()["ring"].schedule(comm.rank, comm.size, Topology.one_node(comm.size), 40, 1)
        call = sendrecv(steps, sendbuf, recvbuf, comm, op)
        checks = Checks(own, op, world.rank * 2 // world.size, Place(call, sendbuf, recvbuf))
        checks.call()
        found.append(world.allreduce(checks.wrong) > 0)
if world.rank == 0:
    print(found == [False, True] * 4, found, flush=True)
"""

ASLEEP = """import time
from allreduce_bench.algorithms import Cost, algorithm, find
from allreduce_bench.measuring import in_groups
inner = in_groups.wait_quietly
def wait_quietly(comm, pause_s):
    wall, busy = time.perf_counter(), time.process_time()
    inner(comm, pause_s)
    with open({kept!r} + str(comm.rank), "a") as file:
        print(time.perf_counter() - wall, time.process_time() - busy, file=file)
in_groups.wait_quietly = wait_quietly
@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def mine(rank, size, topology, count, segment):
    yield from find(["ring"])["ring"].generate(rank, size, topology, count, segment)
"""

HANGS = """import os, sys, time
from allreduce_bench.algorithms import Cost, algorithm, find
from allreduce_bench.schedule import Step
ME = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or -1)
if "allreduce_bench.measuring.schedules" in sys.modules:
    sys.modules["allreduce_bench.measuring.schedules"].PROVED_UP_TO = 0
@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def mine(rank, size, topology, count, segment):
    for number, step in enumerate(find(["ring"])["ring"].generate(rank, size, topology, count, segment)):
        if ME == {victim} and number == 1 {when}:
            continue
        yield step
"""


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def calls(folder: Path) -> list[dict]:
    found = []
    for path in folder.glob("launches/*.csv"):
        if not path.name.endswith(".cells.csv"):
            with open(path, newline="") as file:
                found += csv.DictReader(file)
    return found


@needs_mpi
@pytest.mark.parametrize(("groups", "ranks"), [("2", 4), ("mod:2", 4), ("div:2", 8), *[("2", 8)] * FULL])
def test_every_group_is_timed_beside_the_others_and_one_alone(python, tmp_path, groups, ranks):
    in_turn(ranks // 4 + groups.startswith(("mod", "div")), python)
    folder = tmp_path / "run"
    words = ["-n", ranks, "--sizes", "8,12K", "-a", "native,ring,tree", "--groups", groups, *QUICK, "-o", folder]
    result = bench(python, "run", *words, "--back-to-back", 2, "--check", "bits")
    assert result.returncode == 0, result.stderr
    members = groups_of(groups, ranks)
    assert f"{len(members)} groups of {len(members[0])} ranks" in result.stdout
    assert "12 of 12 cells done, 0 wrong elements." in result.stdout
    told = json.loads((folder / "launches" / f"{ranks}r-1.1.json").read_text())["groups"]
    assert told == {"ranks": [list(of) for of in members], "alone": [0] * len(members)}
    for row in calls(folder):
        times, time_s = parse_group_times(row["group_times_s"]), float(row["time_s"])
        assert len(times) == len(members)
        if row["groups"] == "alone":
            assert times[1:] == [None] * (len(members) - 1) and int(row["slowest_rank"]) in members[0]
        known = [value for value in times if value is not None]
        assert max(known) == pytest.approx(time_s, rel=1e-3)
        slowest = next(number for number, of in enumerate(members) if int(row["slowest_rank"]) in of)
        assert times[slowest] == pytest.approx(time_s, rel=1e-3)
    for mark in RunFolder(folder).marks():
        assert mark["state"] == "done" and mark["wrong"] == "0" and mark["same_bits"] == "1"
        assert (mark["competitor"] == "native") == (mark["steps"] == "")


@needs_mpi
def test_together_competes_and_alone_is_what_it_is_held_against(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-n", 4, "--sizes", "64K", "-a", "native,ring", "--groups", "2", *QUICK, "--min-busbw", "64K:0.000001"]
    result = bench(python, "run", *words, "-o", folder, "--format", "nccl")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("Avg bus bandwidth") == 2  # of each algorithm one table
    rows = {(row["competitor"], row["groups"]): row for row in summarise(RunFolder(folder))}
    ring, alone = rows["ring", "together"], rows["ring", "alone"]
    assert alone["standing"] is None
    assert ring["busbw_bytes_per_s"] == pytest.approx(65536 / ring["time_s"])  # 2 (g - 1) / g of groups of 2
    times, other = parse_group_times(ring["group_times_s"]), parse_group_times(alone["group_times_s"])
    assert other[1] is None and parse_group_times(ring["group_loss"]) == pytest.approx(
        [time / other[0] for time in times], rel=2e-3
    )
    assert ring["group_ranks"] == "2 2" and "group_loss" not in alone
    page = tmp_path / "report.html"
    assert bench(python, "report", folder, "-o", page).returncode == 0
    text = page.read_text()
    assert "<h2>Groups</h2>" in text and "several groups" in text and "2 groups of 2 ranks (consecutive)" in text


@needs_mpi
def test_a_message_in_the_wrong_group_is_a_wrong_result(python):
    in_turn(1, python)
    leaked = mpirun_python(python, 4, LEAK)
    assert leaked.stdout.startswith("True "), leaked.stdout + leaked.stderr


def mpirun_python(python: Path, ranks: int, program: str) -> subprocess.CompletedProcess:
    command = mpirun(python, ranks)
    return subprocess.run(
        [*command[: command.index("-m")], "-c", program], capture_output=True, text=True, timeout=120, check=False
    )


@needs_mpi
def test_who_is_silent_sleeps(python, tmp_path):
    in_turn(1, python)
    mine, kept = tmp_path / "mine.py", str(tmp_path / "asleep.")
    mine.write_text(ASLEEP.format(kept=kept))
    words = [
        "-n",
        4,
        "--sizes",
        "64K",
        "-a",
        f"native,{mine}",
        "--groups",
        "2",
        "--launches",
        1,
        "--no-reference-times",
    ]
    result = bench(python, "run", *words, "--min-time", "300ms", "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    for rank in (2, 3):
        slept = [tuple(map(float, line.split())) for line in Path(f"{kept}{rank}").read_text().splitlines()]
        assert len(slept) == 2 and sum(wall for wall, _ in slept) > 0.5
        assert sum(busy for _, busy in slept) < 0.2 * sum(wall for wall, _ in slept)


@needs_mpi
@pytest.mark.parametrize("victim", [2, 1] if FULL else [2])
def test_a_hang_in_a_group_names_the_rank_among_all(python, tmp_path, victim):
    in_turn(victim + 1, python)
    mine, folder = tmp_path / "mine.py", tmp_path / "run"
    mine.write_text(HANGS.format(victim=victim, when=""))
    words = ["-n", 4, "--sizes", "60", "-a", mine, "--groups", "2", *QUICK, "--timeout", "2s", "-o", folder]
    result = bench(python, "run", *words)
    assert result.returncode == 1
    assert "finished cells" in result.stderr, result.stderr
    partner = {2: 3, 1: 0}[victim]
    assert f"{partner} waits" in result.stderr and f"{victim} in step 2" in result.stderr, result.stderr
    nobody_is_left(folder)


@pytest.mark.slow
@needs_mpi
def test_resuming_measures_what_is_missing_of_either_kind(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["run", "-n", 4, "--sizes", "8,64", "-a", "native,ring", "--groups", "mod:2", *QUICK, "-o", folder]
    assert bench(python, *words).returncode == 0
    marks = folder / "launches" / "4r-1.1.cells.csv"
    lines = marks.read_text().splitlines(keepends=True)
    marks.write_text("".join(lines[:4]))
    assert bench(python, "run", "--resume", "-o", folder).returncode == 0
    keys = [key_of(mark) for mark in RunFolder(folder).marks()]
    assert (
        len(keys) == len(set(keys)) == 8
        and len((folder / "launches" / "4r-1.2.cells.csv").read_text().splitlines()) == 6
    )


@pytest.mark.slow
@needs_mpi
def test_groups_of_other_layout_are_proved_and_measured_alone_each(python, tmp_path):
    """Of nodes 0-2, 3-5, 6-7 the halves are 3+1 and 2+2."""
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-n", 8, "--sizes", "4K", "-a", "hierarchical_ring,ring", "--groups", "2", "--pretend-ranks-per-node", 3]
    result = bench(python, "run", *words, *QUICK, "--record", "all", "-o", folder)
    assert result.returncode == 0, result.stderr
    told = json.loads((folder / "launches" / "8r-1.1.json").read_text())["groups"]
    assert told["alone"] == [0, 1]
    alone = [row for row in calls(folder) if row["groups"] == "alone" and row["competitor"] == "ring"]
    assert [row["warmup"] for row in alone] == ["1"] * 4 + ["0"] * 10
    assert [int(row["call"]) for row in alone] == list(range(14))
    silent = [row["group_times_s"].split().index("-") for row in alone]
    assert silent == [1, 1, 0, 0] + [1] * 5 + [0] * 5
    row = next(row for row in summarise(RunFolder(folder)) if (row["competitor"], row["groups"]) == ("ring", "alone"))
    assert row["repetitions"] == 5 and None not in parse_group_times(row["group_times_s"])


@pytest.mark.slow
@needs_mpi
def test_groups_may_span_nodes(python, tmp_path):
    """`mod` spans the nodes, `div` does not: the schedules know, and so do the wires."""
    in_turn(1, python)
    with virtual_hosts(2) as hosts:
        found = {}
        for groups in ("mod:2", "div:2"):
            folder = tmp_path / groups.replace(":", "")
            words = ["-m", "allreduce_bench", "run", "-n", 4, "--hosts", "h1:2,h2:2", "--remote-shell", hosts.agent]
            words += ["--sizes", "64K", "-a", "ring", "--groups", groups, *QUICK, "-o", folder]
            result = hosts.run(0, [python, *words])
            assert result.returncode == 0, result.stderr
            found[groups] = {mark["groups"]: int(mark["internode_nbytes"]) for mark in RunFolder(folder).marks()}
    assert found == {"mod:2": {"together": 4 * 65536, "alone": 2 * 65536}, "div:2": {"together": 0, "alone": 0}}

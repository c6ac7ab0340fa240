"""Runs over the real MPIs know which algorithms the library ran."""

import subprocess
from operator import attrgetter
from pathlib import Path

import pytest
from interpreters import in_turn, interpreters
from made_runs import build_run, identified
from measured_runs import done, mpirun, with_package

from allreduce_bench.identifying.of_run import NEAR, asked_of, identify
from allreduce_bench.launching.launcher import Launcher
from allreduce_bench.launching.this_start import Run, ThisStart
from allreduce_bench.runs.control import Control
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.identified import identified_of, keep_identified
from allreduce_bench.runs.plan import Plan

by_size = attrgetter("size_bytes")
every_mpi = pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
FEW = ["--sizes", "4,8,4K", "--launches", "1", "--iters", "3", "--no-reference-times", "--timeout", "200s"]
PATIENT = """from allreduce_bench.identifying import of_run
of_run.BISECTING_S = 200.0  # busy cores need longer than 2 s
from allreduce_bench.__main__ import program
program()
"""


def ended(command: list[str], folder: Path, *words: str) -> str:
    command = [*command, *FEW, *words, "-o", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=with_package())
    assert result.returncode == 0, result.stderr
    return result.stderr


@every_mpi
def test_a_run_knows_what_ran_and_that_what_it_asked_for_did(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    run = [str(python), "-c", PATIENT, "run", "-n", "3", "-a", "native,native:ring,native:rabenseifner"]
    said = ended(run, folder)
    assert {(launch, name) for launch, name, _ in done(folder)} == {
        ("3r-1", "native"),
        *(("3r-1-forced", f"native:{name}") for name in ("default", "ring", "rabenseifner")),
    }
    marks = {(mark["competitor"], mark["size_bytes"]): mark for mark in RunFolder(folder).marks()}
    short = marks["native:rabenseifner", "4"]
    assert short["state"] == "skipped"
    assert "would take another" in short["reason"] or "fewer elements" in short["reason"]
    (found,) = identified_of(RunFolder(folder), (3,)).values()
    ring, native = found.at("native:ring", 4096), found.at("native", 8)
    assert "ring" in ring.names and ring.asked in ("yes", "open") and "recursive_doubling" in native.names
    assert ring.by_messages == native.by_messages == found.library.startswith("Open MPI")
    assert (found.ranks, found.nodes, found.dtype, found.op, native.asked) == (3, 1, "float32", "sum", None)
    assert "not identified" not in said
    if found.library.startswith("Open MPI"):  # from 4 KiB on it takes its ring over 3 ranks
        last = max((ran for ran in found.ran if ran.algorithm == "native" and ran.size_bytes < 4096), key=by_size)
        assert last.size_bytes >= 4096 * (1 - NEAR) and last.names == ("recursive_doubling",)


@every_mpi
def test_ranks_that_were_started_measure_all_in_their_one_start_and_look_themselves_once(python, tmp_path):
    in_turn(2, python)
    folder = tmp_path / "run"
    assert "algorithms take" in ended(mpirun(python, 3, "run", "-a", "native:ring"), folder)
    assert {(launch, name) for launch, name, _ in done(folder)} == {("3r-1", "native"), ("3r-1", "native:ring")}
    (found,) = identified_of(RunFolder(folder), (3,)).values()
    assert "ring" in found.at("native:ring", 4096).names and not any(ran.by_messages for ran in found.ran)


def made(path: Path, warned: bool = False, **limits: float) -> tuple[ThisStart, Run]:
    """A run that cannot be started, and a start of it."""
    folder = build_run(path / "run", launches=1)
    run = Run(folder, folder.plan(), Launcher(str(path / "no_mpirun"), "Open MPI 5.0.11", "openmpi"))
    control = Control(timeout_s=5.0, identify="always", **limits)
    start = ThisStart(control=control, runs=[run], launches=run.plan.planned_launches())
    start.warning.is_set = warned
    return start, run


def test_what_is_not_identified_is_one_sentence(tmp_path):
    late = made(tmp_path / "late", within_s=0.0)
    assert identify(*late) == ["which algorithm the library ran on 2, 4 ranks is not identified: no time was left"]
    (failed,) = identify(*made(tmp_path / "failed"))
    assert "no_mpirun" in failed and "library ran" in failed and "2, 4 ranks is not" in failed


def test_nothing_is_started_near_the_end_of_a_job_after_failures_and_for_what_is_known(tmp_path):
    assert identify(*made(tmp_path / "warned", warned=True)) == []
    start, run = made(tmp_path / "failed")
    run.failed = dict.fromkeys(start.launches, "rank 1 died")
    assert identify(start, run) == []
    start, run = made(tmp_path / "known")
    for ranks in (2, 4):
        keep_identified(run.folder, identified(ranks, {}))
    assert identify(start, run) == []


def test_sizes_of_whole_elements_over_several_ranks_are_looked_at():
    plan = Plan(
        competitors=("native", "native:ring", "native:reduce+bcast", "ring"), sizes=(0, 4, 64), ranks=(1, 2, 65)
    )
    asked = asked_of(plan, 2, 5.0)
    assert (asked.sizes, asked.forced, asked.within_s, asked.counts) == ([4, 64], ("native:ring",), 5.0, False)
    assert asked_of(plan, 65, 5.0).sizes == [64] and asked_of(plan, 1, 5.0) is None
    assert asked.bisects and 0 < asked.share < 0.02 and 0 < asked.bisecting_s <= 2


@pytest.mark.parametrize("choices", [{"competitors": ("ring",)}, {"groups": "2"}])
def test_runs_without_native_and_in_groups_are_not_looked_at(choices):
    assert asked_of(Plan(**{"competitors": ("native",), "sizes": (64,), "ranks": (4,), **choices}), 4, 5.0) is None

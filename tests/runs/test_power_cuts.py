"""Power cuts: a sample of tests/studies/power_cuts.py, on runs that the recorder writes here, without MPI."""

import random
from pathlib import Path

import pytest
from made_runs import build_run
from power_cut import ALL, CERTAIN, Disk, Fate, drawn, tree
from power_cuts import MARKS, RUN, Tally, examine, times_of
from recorded_operations import Operation, from_lines, log_to, recording

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.recorder import Recorder


class WithStamps(Recorder):
    """A recorder that keeps a file of stamps for each cell."""

    def cell(self, facts, repetitions):
        super().cell({**facts, "stamps": self.keep_stamps(b"stamps")}, repetitions)


@pytest.fixture
def operations(request, tmp_path, monkeypatch) -> list[Operation]:
    """What the recorder does to `tmp_path`/disk for a run of two launches, or of as many as asked for, of two cells."""
    launches = getattr(request, "param", 2)
    monkeypatch.setattr("made_runs.Recorder", lambda folder, launch, facts, sync: WithStamps(folder, launch, facts))
    kept: list[Operation] = []
    (tmp_path / "disk").mkdir()
    with recording(tmp_path / "disk", kept.append):  # other made runs wait for no disk
        build_run(tmp_path / "disk" / RUN, algorithms=("native", "ring"), sizes=(8,), ranks=(2,), launches=launches)
    return kept


def tally_of(operations: list[Operation], place: Path, draws: int) -> Tally:
    truth = times_of(RunFolder(place / "disk" / RUN))
    (place / "states").mkdir()
    return examine(operations, truth, draws=draws, seed=1, place=place / "states")


def test_the_recording_misses_nothing(operations, tmp_path):
    disk = Disk()
    for operation in operations:
        disk.do(operation)
    assert disk.after_cut(ALL) == tree(tmp_path / "disk")


def test_a_power_cut_loses_no_cell_that_was_waited_for_and_makes_none(operations, tmp_path):
    tally = tally_of(operations, tmp_path, draws=2)
    assert tally.states > 100 and tally.waited_for > tally.states
    assert (tally.lost, tally.false, dict(tally.faults)) == (0, 0, {})


@pytest.mark.parametrize("operations", [1], indirect=True, ids=["a launch"])
@pytest.mark.parametrize("what", ["folders", "raw times"])
def test_who_does_not_wait_for_the_disk_is_found_out(operations, tmp_path, what):
    folders = {step.path for step in operations if step.kind == "mkdir"} | {str(RUN), str(RUN / "launches")}
    is_meant = {
        "folders": folders.__contains__,
        "raw times": lambda path: path.endswith(".csv") and not path.endswith(MARKS),
    }[what]
    hasty = [step for step in operations if step.kind != "sync" or not is_meant(step.path)]
    tally = tally_of(hasty, tmp_path, draws=0)
    assert len(hasty) < len(operations) and tally.lost + tally.false


def fates(*operations: Operation, names: bool = False) -> set[bytes | None]:
    """What may be in file `f` after these."""
    disk, draw = Disk(), random.Random(1)
    for operation in operations:
        disk.do(operation)
    some: list[Fate] = [*CERTAIN, *(drawn(draw) for _ in range(200))]
    return {disk.after_cut(fate).get("f") for fate in some}


CREATE, SYNC, SYNC_NAMES = Operation("create", "f"), Operation("sync", "f"), Operation("sync", "")
AB, CD = Operation("write", "f", data=b"ab"), Operation("write", "f", offset=2, data=b"cd")


def test_what_was_not_waited_for_may_be_there_torn_zero_or_absent():
    assert fates(CREATE, AB, SYNC, SYNC_NAMES) == {b"ab"}
    assert fates(CREATE, SYNC, SYNC_NAMES, AB) == {b"", b"a", b"ab", b"a\0", b"\0\0"}
    assert fates(CREATE, AB, SYNC) == {b"ab", None}
    assert fates(CREATE, AB, SYNC, SYNC_NAMES, CD) == {b"ab", b"abc", b"abcd", b"abc\0", b"ab\0\0"}
    assert b"\0\0cd" in fates(CREATE, SYNC, SYNC_NAMES, AB, CD)


def test_a_rename_happens_as_a_whole_or_not():
    old, new = Operation("write", "f", data=b"old"), Operation("write", "f.tmp", data=b"new")
    write_new = (Operation("create", "f.tmp"), new, Operation("sync", "f.tmp"))
    whole = (CREATE, old, SYNC, SYNC_NAMES, *write_new, Operation("rename", "f.tmp", target="f"))
    assert fates(*whole) == {b"old", b"new"}
    assert fates(*whole, SYNC_NAMES) == {b"new"}


def test_what_is_logged_is_read_back(tmp_path):
    operations = [Operation("write", "f", offset=3, data=b"\0\xff\n"), Operation("rename", "f", target="g")]
    keep = log_to(tmp_path / "log")
    for operation in operations:
        keep(operation)
    assert from_lines(tmp_path / "log") == operations

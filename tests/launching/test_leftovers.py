"""What launchers that were killed leave behind goes at the next start, and nothing of others."""

import os
import signal
import subprocess
import sys

import pytest

from allreduce_bench.launching import leftovers
from allreduce_bench.launching.leftovers import has_ended, mark_process, note_launcher, remove_ended, remove_leftovers


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A folder for temporary files, and one in place of shared memory."""
    shared = tmp_path / "shm"
    shared.mkdir()
    monkeypatch.setattr(leftovers.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(leftovers, "SHARED_MEMORY", shared)
    monkeypatch.setattr(leftovers.socket, "gethostname", lambda: "vm")
    monkeypatch.delenv(leftovers.LAB_VARIABLE, raising=False)
    return tmp_path, shared


def make_leftovers(places, pid: int) -> list:
    """What mpirun of Open MPI makes."""
    temporary, shared = places
    session = temporary / f"ompi.{pid}"
    session.mkdir()
    segments = [shared / f"sm_segment.vm.{os.getuid()}.{leftovers._job_of(pid):x}.{rank}" for rank in range(2)]
    for path in (session / "hwloc.sm", *segments):
        path.touch()
    return [session, *segments]


def test_what_a_killed_launcher_left_goes_and_what_others_have_stays(places):
    killed, alive = (subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) for _ in range(2))
    of_killed, of_alive = make_leftovers(places, killed.pid), make_leftovers(places, alive.pid)
    never_noted = make_leftovers(places, 4_000_000)
    for process in (killed, alive):
        note_launcher(process.pid)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    remove_leftovers()
    assert not any(path.exists() for path in of_killed)
    assert all(path.exists() for path in (*of_alive, *never_noted))
    (note,) = places[0].glob(f"{leftovers.NOTE}*")
    assert f"-{alive.pid}-" in note.name
    alive.kill()
    alive.communicate()


def test_the_number_of_a_job_is_that_of_open_mpi(places):
    assert [f"{leftovers._job_of(pid):x}" for pid in (15311, 15397)] == ["401a0001", "fc5d0001"]


def test_a_folder_goes_with_its_process_and_one_of_another_host_stays(places):
    folder, mine = places[0], mark_process(os.getpid())
    assert not has_ended(mine) and has_ended(mine[:-1]) and not has_ended("elsewhere-1-2-3")
    for mark in (mine, mine[:-1], "elsewhere-1-2-3"):
        (folder / f"survive-{mark}-x1y2").mkdir()
    (folder / "survive-").mkdir()
    remove_ended(folder, "survive-")
    assert sorted(path.name for path in folder.glob("survive-*")) == sorted(
        ["survive-", f"survive-{mine}-x1y2", "survive-elsewhere-1-2-3-x1y2"]
    )

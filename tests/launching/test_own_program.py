"""Programs of users under the watch: what is passed through, who is named, which status is handed on."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from interpreters import contract, in_turn, interpreters
from measured_runs import impatient, with_package
from places import RANK_PROGRAMS
from played_ranks import until

from allreduce_bench.launching import wrapped_rank
from allreduce_bench.launching.own_program import FirstToEnd, Place, WatchedProgram
from allreduce_bench.watching import lifeline
from allreduce_bench.watching.lifeline import MONITOR_VARIABLE


def executed(python, *words: object) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of `exec` with these words; fails where it waits for ranks that sleep."""
    command = [str(python), "-m", "allreduce_bench", "exec", *map(str, words)]
    result = subprocess.run(command, env=with_package(), capture_output=True, text=True, timeout=240, check=False)
    return result.returncode, result.stdout, result.stderr


# MPICH's launcher may end the others before it says who aborted
ABORTED = r"error: (rank 1 called MPI_Abort; it ended all ranks|the launcher .* of MPI_Abort|rank \d on .* died;.*)$"
ENDINGS = {
    "kill": (137, r"error: rank 1 on \S+ was killed by SIGKILL; the other ranks were ended$"),
    "exit": (3, r"error: rank 1 on \S+ ended with status 3; the other ranks were ended$"),
    "raise": (1, r"error: rank 1 on \S+ ended with status 1; the other ranks were ended$"),
    "error": (None, ABORTED),
    "abort": (7, ABORTED),
}


@contract
@pytest.mark.parametrize("how", ENDINGS)
def test_the_rank_that_ends_badly_is_named_and_its_status_handed_on(python, how):
    if how == "kill" and python == Path(sys.executable):
        pytest.skip("the rank that is killed beside what it started has it")
    status, sentence = ENDINGS[how]
    found, _, err = executed(python, "-n", 3, "--", python, RANK_PROGRAMS / "ending_badly.py", how)
    assert re.search(sentence, err.strip().splitlines()[-1]), err
    assert found == status or (status is None and found), err
    assert ("nobody catches this" in err) == (how in ("raise", "error"))


def test_where_mpi4py_does_not_end_the_others_that_is_told():
    python = interpreters()[0]
    program = "echo 'Traceback (most recent call last):' >&2; exec sleep 600"
    command = impatient(python, "exec", "-n", 1, "--timeout", "2s", "--", "bash", "-c", program)
    with subprocess.Popen(command, env=with_package(), stderr=subprocess.PIPE, text=True) as process:
        told = next(line for line in process.stderr if line.startswith("warning: a traceback was printed 2 s ago"))
        process.terminate()
        process.communicate(timeout=240)
    assert told and process.returncode


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_all_output_and_words_are_passed_through(python):
    status, out, err = executed(python, "-n", 3, "--", python, RANK_PROGRAMS / "ending_badly.py", "well", "--n", "a  b")
    assert status == 0 and "error" not in err
    said = re.findall(r"rank (\d) of 3 --n a  b", out.replace("\n", " ")) or out
    assert sorted(re.sub(r"\s+", "", out)) == sorted("".join(f"rank{rank}of3--nab" for rank in range(3))), said


LOUD = "head -c 400000 /dev/zero | tr '\\0' x >&2"


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("stderr", ["/dev/full", "a reader that is gone"])
def test_a_program_ends_though_its_stderr_cannot_be_written(python, stderr):
    in_turn(int(stderr == "/dev/full"), python)
    reading, writing = os.pipe()
    os.close(reading)
    with open("/dev/full", "wb") as full, open(writing, "wb") as gone:
        command = [str(python), "-m", "allreduce_bench", "exec", "-n", "2", "--", "sh", "-c", LOUD]
        into = full if stderr == "/dev/full" else gone
        result = subprocess.run(command, env=with_package(), stderr=into, timeout=240, check=False)
    assert result.returncode == 0


def test_stderr_is_forwarded_as_it_comes_and_its_lines_are_read(monkeypatch):
    program = WatchedProgram.__new__(WatchedProgram)
    program._aborted, program._lost_nodes, program._error_at = None, set(), 0.0
    program._supervisor = SimpleNamespace(patience=SimpleNamespace(may_be_absent=False))
    (reading, writing), (forwarded, into) = os.pipe(), os.pipe()
    with open(reading, "rb") as source, open(into, "wb") as sink:
        monkeypatch.setattr(sys, "stderr", SimpleNamespace(buffer=sink))
        thread = threading.Thread(target=program._forward, args=(SimpleNamespace(stderr=source),))
        thread.start()
        for part in (b"\r 10%", b"\r 20%\0", b"\nMPI_ABORT was in", b"voked on rank 3"):
            os.write(writing, part)
            assert os.read(forwarded, 99) == part.rstrip(b"\0")
        os.close(writing)
        thread.join(240)
    os.close(forwarded)
    assert program._aborted == 3


def test_a_program_that_cannot_be_started_is_said():
    status, _, err = executed(interpreters()[0], "-n", 1, "--", "./absent/program")
    assert status == 127 and "rank 0" in err and "cannot be started: ./absent/program: No such file" in err


def test_where_a_rank_leaves_early_the_launchers_word_for_success_is_not_taken():
    python = interpreters()[-1]
    status, _, err = executed(python, "-n", 2, "--", python, RANK_PROGRAMS / "ending_badly.py", "leave")
    assert status and err.splitlines()[-1].startswith("error:"), err


FORKING = """from mpi4py import MPI
import os, pathlib, re, signal, subprocess, sys
maps = pathlib.Path("/proc/self/maps").read_text()
left = subprocess.Popen(["sleep", "300"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
segments = re.findall(r"/dev/shm/\\S+$", maps, re.MULTILINE)
pathlib.Path(sys.argv[1], f"{left.pid}.pid").write_text("\\n".join(segments))
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_of_a_killed_rank_neither_what_it_started_nor_shared_memory_is_left(python, tmp_path):
    (tmp_path / "forking.py").write_text(FORKING)
    status, _, err = executed(python, "-n", 2, "--", python, tmp_path / "forking.py", tmp_path)
    left = [*tmp_path.glob("*.pid")]
    assert status == ENDINGS["kill"][0] and re.search(ENDINGS["kill"][1], err.strip().splitlines()[-1]), err
    assert len(left) == 2, err
    assert not [path for path in left if Path(f"/proc/{path.stem}").exists()]
    assert not [word for path in left for word in path.read_text().split() if Path(word).exists()]


@pytest.mark.parametrize(
    ("status", "is_lost"), [(0, False), (3, False), (128, False), (137, True), (139, True), (255, False)]
)
def test_only_what_a_signal_ended_is_lost(status, is_lost):
    assert FirstToEnd(Place(1, "n1"), "", status).is_lost is is_lost


FAILED, KILLED = FirstToEnd(Place(0, "n1"), "", 1, 10.0), FirstToEnd(Place(1, "n1"), "", 137, 10.1)


@pytest.mark.parametrize(
    ("ended", "named"),
    [
        ([FAILED, KILLED], KILLED),
        ([KILLED, FAILED], KILLED),
        ([FAILED, KILLED._replace(reported_at=20.0)], FAILED),
        ([FAILED], FAILED),
        ([], None),
    ],
)
def test_a_killed_rank_is_named_also_where_one_that_missed_it_fails_before_it_is_reported(ended, named):
    program = WatchedProgram.__new__(WatchedProgram)
    program._ended = ended
    assert program._first is named


def test_a_rank_whose_exec_is_gone_before_it_connects_ends():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # and does not listen
        environ = {**with_package(), MONITOR_VARIABLE: f"secret@127.0.0.1:{deaf.getsockname()[1]}"}
        command = [sys.executable, "-m", wrapped_rank.__name__, "sleep", "600"]
        result = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 1 and "gone" in result.stderr


KILLED_WHEN_ASKED_TO_END = """import os, re, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
caught = "0"
while not int(caught, 16) >> signal.SIGTERM - 1 & 1:  # the rank passes signals on
    caught = re.search(r"SigCgt:\\s*(\\w+)", open(f"/proc/{os.getppid()}/status").read())[1]
os.kill(os.getppid(), signal.SIGTERM)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc here")
def test_a_killed_program_is_reported_though_its_rank_was_asked_to_end_before(supervise):
    supervisor = supervise(1, 60.0)
    environ = {**with_package(), MONITOR_VARIABLE: supervisor.address([])}
    command = [sys.executable, "-m", wrapped_rank.__name__, sys.executable, "-c", KILLED_WHEN_ASKED_TO_END]
    assert subprocess.run(command, env=environ, timeout=240, check=False).returncode == 137
    until(lambda: supervisor.patience.failure == "rank 0: was killed by SIGKILL")


@pytest.mark.skipif(sys.platform != "linux", reason="no signal at the death of a parent")
def test_a_process_whose_parent_has_died_before_it_is_tied_ends_at_once():
    program = f"import os; from {lifeline.__name__} import end_with_parent; end_with_parent(9, os.getpid())"
    assert (
        subprocess.run([sys.executable, "-c", program], env=with_package(), timeout=240, check=False).returncode == -9
    )


STOPPED = {  # whom a signal stops -> what is said
    "launcher": r"error: the launcher was stopped by a signal for 2 s \(--timeout\); all ranks were ended",
    "wrapper": r"error: rank \d (?:on \S+ does not respond .*|never connected) for 2 s \(--timeout\); the other",
    "program": r"error: rank \d on \S+ was stopped by a signal for 2 s \(--timeout\); all ranks were ended",
}


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
@pytest.mark.parametrize("who", STOPPED)
def test_what_is_stopped_ends_after_the_timeout_and_nothing_is_left(python, tmp_path, who):
    in_turn([*STOPPED].index(who) + 1, python)
    program = ["sh", "-c", 'touch "$0/$$.pid"; exec sleep 300', tmp_path]
    process = subprocess.Popen(
        impatient(python, "exec", "-n", 2, "--timeout", "2s", "--", *program),
        env=with_package(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while len(pids := [int(path.stem) for path in tmp_path.glob("*.pid")]) < 2:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    wrapper = parent_of(pids[1])
    victim = {"launcher": children_of(process.pid)[0], "wrapper": wrapper, "program": pids[1]}[who]
    os.kill(victim, signal.SIGSTOP)
    _, err = process.communicate(timeout=240)
    assert process.returncode and re.search(STOPPED[who], err.strip().splitlines()[-1]), err
    deadline = time.monotonic() + 240
    while any(Path(f"/proc/{pid}").exists() for pid in (*pids, wrapper)):
        assert time.monotonic() < deadline, "ranks were left"
        time.sleep(0.05)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def no_child(kind: int, pid: int, options: int):
    """As `os.waitid` where the status of `pid` has been read."""
    raise ChildProcessError


class Silent:
    """A watch that tells nobody."""

    rank = 0

    def __init__(self, *where: object, **calls: object):
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize("waited", ["not by this system", "by a signal that is passed on"])
def test_a_program_whose_stops_cannot_be_told_ends_with_its_status(monkeypatch, waited):
    monkeypatch.setattr(wrapped_rank, "Watch", Silent)
    monkeypatch.setattr(wrapped_rank, "end_with_parent", lambda number, parent=None: None)
    monkeypatch.setattr(wrapped_rank, "adopt_orphans", lambda: None)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.setenv(MONITOR_VARIABLE, "")
    if waited == "not by this system":
        monkeypatch.delattr(os, "waitid")
    else:
        monkeypatch.setattr(os, "waitid", no_child)
    assert wrapped_rank.run([sys.executable, "-c", ""]) == 0

"""The process of a launcher, and interrupts at its start."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from interpreters import interpreters
from measured_runs import with_package

from allreduce_bench.launching import tied_process
from allreduce_bench.launching.tied_process import (
    INTERRUPTS,
    end_process,
    interrupt_when_asked_to_end,
    interrupts_put_off,
    start_tied,
    with_mpi4py,
)

STRUCK_AFTER_FORK = """
import os, signal, sys
from allreduce_bench.cli import main
from allreduce_bench.launching import watched_launch

def strike():
    if is_starting:
        is_starting.clear()
        os.kill(os.getpid(), signal.SIGINT)

def start(*arguments):
    is_starting.append(True)
    return start_tied(*arguments)

is_starting, start_tied, watched_launch.start_tied = [], watched_launch.start_tied, start
os.register_at_fork(after_in_parent=strike)
main()
"""


def test_it_says_everything_in_one_pipe_and_hears_nothing():
    process = start_tied(["sh", "-c", 'cat; echo out; echo "$WORD" >&2'], {**os.environ, "WORD": "err"})
    said, _ = process.communicate(timeout=240)
    assert said == "out\nerr\n" and process.returncode == 0


@pytest.mark.parametrize("number", INTERRUPTS)
def test_an_interrupt_takes_effect_after_the_block(number):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    former, steps = signal.signal(number, interrupt), []
    try:
        with pytest.raises(KeyboardInterrupt), interrupts_put_off():
            signal.raise_signal(number)
            steps.append("went on")
        assert steps == ["went on"] and signal.getsignal(number) is interrupt
    finally:
        signal.signal(number, former)


def test_what_was_ignored_stays_so_and_other_threads_are_let_alone():
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts_put_off():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, former)
    entered = []

    def enter():
        with interrupts_put_off():
            entered.append(True)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_an_interrupt_in_the_moment_of_the_fork_ends_the_run(tmp_path):
    words = ["run", "-n", "2", "-a", "ring", "--sizes", "8", "--launches", "1", "-o", str(tmp_path / "run")]
    command = [sys.executable, "-c", STRUCK_AFTER_FORK, *words]
    struck = subprocess.run(command, env=with_package(), capture_output=True, text=True, timeout=240, check=False)
    assert struck.returncode == 130 and struck.stderr.splitlines()[-1].startswith("error: interrupted"), struck.stderr
    assert "Traceback" not in struck.stderr


@pytest.mark.parametrize("heeds, ended_by", [(True, signal.SIGTERM), (False, signal.SIGKILL)])
def test_a_process_that_does_not_heed_is_killed(monkeypatch, heeds, ended_by):
    monkeypatch.setattr(tied_process, "ENDING_S", 60.0 if heeds else 0.5)
    ignore = "" if heeds else "signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    program = f"import signal, time; {ignore}print('there', flush=True); time.sleep(600)"
    with start_tied([sys.executable, "-c", program], os.environ) as process:
        assert process.stdout.readline() == "there\n"
        end_process(process)
        assert process.returncode == -ended_by


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_asked_to_end_is_interrupted_unless_it_ignores_that(number):
    former = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        signal.signal(number, signal.SIG_DFL)  # below nohup it is ignored
        interrupt_when_asked_to_end()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        signal.signal(number, signal.SIG_IGN)
        interrupt_when_asked_to_end()
        signal.raise_signal(number)
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


@pytest.mark.parametrize(
    ("words", "started"),
    [
        ("{python} x.py -m y", "{python} -m mpi4py x.py -m y"),
        ("{python} -m solve --n 3", "{python} -m mpi4py -m solve --n 3"),
        ("{python} -uB -X dev -Wignore -c pass", "{python} -uB -X dev -Wignore -m mpi4py -c pass"),
        ("{python} -", "{python} -m mpi4py -"),
        ("env A=b.py {python} x.py", "env A=b.py {python} -m mpi4py x.py"),
        ("{script} --python", "/usr/bin/env {python} -u -m mpi4py {script} --python"),
        ("{python}", None),
        ("{python} -V", None),
        ("{python} -cpass", None),
        ("{python} -m mpi4py x.py", None),
        ("{python} -m mpi4py.futures x.py", None),
        ("{python} -S x.py", None),  # there it has no mpi4py
        ("bash x.py", None),
        ("env A=b", None),
        ("/nonexistent/program x.py", None),
    ],
)
def test_programs_in_python_start_as_by_mpi4py(tmp_path, words, started):
    script = tmp_path / "solve"
    script.write_text(f"#!/usr/bin/env {sys.executable} -u\n")
    script.chmod(0o755)
    given = words.format(python=sys.executable, script=script)
    assert with_mpi4py(given.split()) == (started or given).format(python=sys.executable, script=script).split()


def test_orphans_that_have_ended_are_read_and_those_that_run_are_let_alone(monkeypatch):
    ended, running = subprocess.Popen(["true"]), subprocess.Popen(["sleep", "60"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    monkeypatch.setattr(tied_process, "orphans", lambda but: [1, running.pid, ended.pid])
    tied_process.read_ends(0)
    with pytest.raises(ChildProcessError):
        os.waitpid(ended.pid, os.WNOHANG)
    assert running.poll() is None
    running.kill()
    running.wait()

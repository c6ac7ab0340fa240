"""A rank's end of the line, and what it does when the other end is gone."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading

from played_ranks import CELL, until

from allreduce_bench.watching.watch import HIGH_NUMBER, Watch

RANK = """import signal, sys, time
from allreduce_bench.watching.watch import Watch
watch = Watch(sys.argv[1], 0, lambda reason: print(reason, flush=True))
watch.connected.wait(240)
signal.signal(signal.SIGTERM, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # so that it interrupts the watch's read
print('here', flush=True)
time.sleep(60)
"""


def rank_process(address: str) -> subprocess.Popen:
    """A process that is rank 0, once it is connected."""
    process = subprocess.Popen([sys.executable, "-c", RANK, address], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "here\n"
    return process


def test_what_is_said_before_and_after_it_is_connected_arrives_in_order(supervise):
    heard = []
    supervisor = supervise(1, 60.0, on_message=heard.append)
    watch = Watch(supervisor.address([]), 0)
    watch.say(**CELL)
    watch.connected.wait(240)
    watch.say("result", done=1)
    watch.close()
    until(lambda: supervisor.patience.all_over)
    assert [message["kind"] for message in heard] == ["cell", "result", "bye"]
    (rank,) = supervisor.patience.ranks
    assert (rank.rank, rank.host, rank.pid) == (0, socket.gethostname(), os.getpid())


def test_a_rank_that_was_dropped_before_it_was_heard_comes_again_with_all_that_it_said():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        watch = Watch(f"secret@127.0.0.1:{listener.getsockname()[1]}", 0)
        dropped, _ = listener.accept()
        watch.connected.wait(240)
        watch.say(**CELL)
        dropped.close()  # as a crowded supervisor does, which read nothing
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            assert [json.loads(lines.readline())["kind"] for _ in range(2)] == ["hello", "cell"]
            connection.sendall(b'{"kind": "welcome", "silence_s": null}\n')
            watch.close()
            assert json.loads(lines.readline())["kind"] == "bye"


def test_a_rank_says_that_there_is_no_way_to_the_supervisor():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # and does not listen
        unreached = threading.Event()
        Watch(f"secret@127.0.0.1:{deaf.getsockname()[1]}", 0, on_unreached=unreached.set)
        assert unreached.wait(240)


def test_a_warning_reaches_the_rank(supervise):
    supervisor, warned = supervise(1, 60.0), threading.Event()
    watch = Watch(supervisor.address([]), 0, on_warning=warned.set)
    supervisor.warn()
    assert warned.wait(240)
    watch.close()
    until(lambda: supervisor.patience.all_over)


def test_a_question_is_answered_while_the_main_thread_does_something_else(supervise):
    supervisor = supervise(1, 60.0)
    watch = Watch(supervisor.address([]), 0)
    watch.connected.wait(240)
    until(lambda: supervisor.patience.ranks)
    supervisor.ask_now()
    (rank,) = supervisor.patience.ranks
    until(lambda: rank.answered)
    # the supervisor asks from the same thread, which may not have left its function yet
    assert rank.answer["doing"] in ("starting", "in ask_now") and rank.answer["call"] is None
    watch.close()
    until(lambda: supervisor.patience.all_over)


def test_a_rank_that_is_told_to_end_ends_with_status_1(supervise):
    supervisor = supervise(1, 60.0)
    process = rank_process(supervisor.address([]))
    until(lambda: supervisor.patience.ranks)
    supervisor.end_ranks()
    assert process.wait(240) == 1


def test_without_its_supervisor_a_rank_says_why_and_ends(supervise):
    supervisor = supervise(1, 60.0)
    process = rank_process(supervisor.address([]))
    until(lambda: supervisor.patience.ranks)
    supervisor.close()
    assert process.communicate(timeout=240)[0] == "closed its connection\n" and process.returncode == 1


def test_a_supervisor_that_promised_to_be_heard_and_is_silent_is_gone(supervise):
    supervisor = supervise(1, 1.0, in_rank_0=True)
    supervisor.patience.judge = lambda now: None
    process = rank_process(supervisor.address([]))
    supervisor._tell_all = lambda **message: None
    assert process.communicate(timeout=240)[0] == "does not respond\n" and process.returncode == 1


def test_the_line_has_a_high_number_so_that_it_breaks_first(supervise):
    supervisor = supervise(1, 60.0)
    process = rank_process(supervisor.address([]))
    numbers = [int(number) for number in os.listdir(f"/proc/{process.pid}/fd")]
    assert max(numbers) >= HIGH_NUMBER
    process.send_signal(signal.SIGKILL)
    process.wait()

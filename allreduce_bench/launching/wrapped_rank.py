"""Wrapper of one rank of a user's program: starts it, and reports to the supervisor how it ended.

    python -m allreduce_bench.launching.wrapped_rank COMMAND …

The program has the environment, the files and the output of this process, which returns its exit status.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial

from ..measuring.startup import rank_of
from ..watching.lifeline import KILL, MONITOR_VARIABLE, adopt_orphans, end_with_parent
from ..watching.watch import Watch, is_local
from .tied_process import end_orphans, how_it_ended, read_ends, shell_status, with_mpi4py

LAST_WORDS_S = 0.3  # seconds for the report to be read before the launcher notices the end and kills the other ranks
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
UNWATCHED = "is not watched: it cannot connect to the node of exec"
CANNOT_RUN = 127  # as in shells


def run(words: Sequence[str]) -> int:
    """Run the command `words` as this rank; return its exit status, 128 plus the number of a signal."""
    end_with_parent(KILL)  # a stopped rank would defer any other signal
    adopt_orphans()
    # where the starter is gone, all that the program started ends with it
    address, rank = os.environ[MONITOR_VARIABLE], rank_of(os.environ)
    on_unreached = partial(_end_unwatched if is_local(address) else _tell_unwatched, rank)
    watch = Watch(address, rank, on_loss=lambda reason: end_orphans(), on_unreached=on_unreached)
    try:
        # PMI uses inherited files; the program must not outlive this process
        process = subprocess.Popen(
            with_mpi4py(words), close_fds=False, preexec_fn=partial(end_with_parent, KILL, os.getpid())
        )
    except OSError as error:
        return _ended(watch, f"cannot be started: {words[0]}: {error.strerror}", CANNOT_RUN)
    asked_to_end: list[int] = []

    def forward(number: int, frame: object) -> None:
        if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asked_to_end.append(number)
        with contextlib.suppress(OSError):
            process.send_signal(number)

    for number in FORWARDED:
        signal.signal(number, forward)
    signal.signal(signal.SIGCHLD, lambda number, frame: read_ends(process.pid))
    if hasattr(os, "waitid"):  # not on macOS before Python 3.13
        with contextlib.suppress(ChildProcessError):  # the program had ended when a signal was forwarded
            _tell_stops(watch, process.pid)
    status = process.wait()
    # SIGKILL is not forwarded: it came before whatever the launcher did, since other ranks missed this one
    if status == -signal.SIGKILL or status and not asked_to_end:
        return _ended(watch, how_it_ended(status), shell_status(status))
    if status:
        end_orphans()
    watch.close()
    return shell_status(status)


def _tell_unwatched(rank: int) -> None:
    print(f"warning: rank {rank} on {socket.gethostname()} {UNWATCHED}", file=sys.stderr, flush=True)


def _end_unwatched(rank: int) -> None:
    """End this rank: it is of the node of `exec`, which therefore was killed before this process could notice."""
    print(f"error: rank {rank} on {socket.gethostname()} cannot connect to exec, which is gone", file=sys.stderr)
    end_orphans()
    os._exit(1)


def _tell_stops(watch: Watch, pid: int) -> None:
    """Report every stop and continuation of the program until it ends; leaves its exit status to be read."""
    while True:
        found = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED | os.WEXITED | os.WNOWAIT)
        if found is None or found.si_code not in (os.CLD_STOPPED, os.CLD_CONTINUED):
            return
        kind = "stopped" if found.si_code == os.CLD_STOPPED else "continued"
        watch.say(kind, rank=watch.rank, host=socket.gethostname())
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)  # consume it, or it would be reported again


def _ended(watch: Watch, how: str, status: int) -> int:
    """Report how the program ended, and end what it left running; return its exit status.

    The report comes first: where other ranks miss this one and call MPI_Abort, the launcher kills this process.
    """
    watch.connected.wait(1)
    watch.say("failed", why=how, pause_s=0.0, status=status)
    end_orphans()
    time.sleep(LAST_WORDS_S)
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

"""Ranks that wait for functions of `tests/ranks`: one mpirun for many tests. As a program: what each rank runs.

A function goes by its name: modules that ask MPI for its types cannot be imported where MPI is not started. Each call
has a communicator of its own. Between calls the ranks sleep at their sockets, and take no core from others.
"""

import faulthandler
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing.connection import Client, Connection, wait
from pathlib import Path
from pkgutil import resolve_name

RANKS = 8
START_S, LIMIT_S, END_S = 300.0, 120.0, 60.0
GRACE_S = 1.0  # for the answers of others, after a failure, and for where they are
CALLS = 200  # MPICH has 2,048 communicators; what functions leave behind is gone with the pool


class Pool:
    """Ranks of one mpirun; after a call that failed there are none."""

    def __init__(self, python: Path):
        from places import ROOT, SUPPORT
        from rank_programs import launch

        from allreduce_bench.watching.lifeline import end_with_parent

        self._folder = tempfile.TemporaryDirectory(prefix="pool.", ignore_cleanup_errors=True)
        self._place = Path(self._folder.name)
        paths = map(str, (ROOT, SUPPORT, *(SUPPORT.with_name(name) for name in ("ranks", "studies"))))
        variables = {"PYTHONPATH": os.pathsep.join(paths), "PRTE_MCA_prte_tmpdir_base": str(self._place)}
        self._connections: list[Connection] = []
        self._processes: list[int] = []  # descriptors, which know no other process later
        self._segments: set[Path] = set()
        self._calls = self._begun = 0
        with socket.socket(socket.AF_UNIX) as door, open(self._place / "said", "wb") as said:
            door.bind(str(self._place / "door"))
            door.listen(RANKS)
            door.settimeout(START_S)
            self._mpirun = subprocess.Popen(
                [*launch(python, RANKS), str(python), __file__, str(self._place)],
                cwd=self._place,
                env=os.environ | variables,
                preexec_fn=end_with_parent,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
            try:
                found = [Connection(door.accept()[0].detach()) for _ in range(RANKS)]
                told = {rank: (pid, each) for each in found for rank, pid in [each.recv()]}
            except TimeoutError:
                said_so_far = self._said()
                self.end(is_good=False)
                raise AssertionError(f"no ranks within {START_S:g} s{said_so_far}") from None
        pids, self._connections = map(list, zip(*(told[rank] for rank in range(RANKS))))
        self._processes = [os.pidfd_open(pid) for pid in pids]
        self._segments = set().union(*map(segments_of, pids))

    @property
    def is_there(self) -> bool:
        """Whether it takes another call."""
        return bool(self._connections) and self._calls < CALLS

    def call(self, ranks: int, function: str, *words: object, limit_s: float = LIMIT_S, **options: object) -> list:
        """Return what `function(comm, *words, **options)` of tests/ranks returned on each of so many ranks.

        Raises AssertionError with the traceback of the lowest rank that raised, or with the ranks that died or gave no
        answer within the limit; nothing of the pool is then left.
        """
        self._calls += 1
        self._begun = (self._place / "said").stat().st_size
        try:
            answers = self._answers(pickle.dumps((ranks, function, words, options)), ranks, limit_s)
            failures = [f"rank {rank}: {answer}" for rank, (is_good, answer) in answers.items() if not is_good]
            silent = sorted({*range(ranks)} - {*answers})
            if silent:
                limit = "" if failures else f" within {limit_s:g} s"
                failures.append(f"no answer{limit} from ranks {silent}, which are here:\n{self._where(silent)}")
            if any(answer == "died" for _, answer in answers.values()):
                with suppress(subprocess.TimeoutExpired):  # mpirun ends, and has handed on their last words by then
                    self._mpirun.wait(GRACE_S)
            if failures:
                raise AssertionError("\n".join(failures) + self._said())
        except BaseException:
            self.end(is_good=False)
            raise
        return [answers[rank][1] for rank in range(ranks)]

    def _answers(self, task: bytes, ranks: int, limit_s: float) -> dict[int, tuple[bool, object]]:
        """Return rank -> whether it is well, and what it returned or how it failed; without those that are silent."""
        rank_of = {connection: rank for rank, connection in enumerate(self._connections[:ranks])}
        for connection in rank_of:
            connection.send_bytes(task)
        answers: dict[int, tuple[bool, object]] = {}
        end_s = time.monotonic() + limit_s
        while rank_of and (ready := wait([*rank_of], max(0.0, end_s - time.monotonic()))):
            for connection in ready:
                rank = rank_of.pop(connection)
                try:
                    answers[rank] = connection.recv()
                except (EOFError, ConnectionError):
                    answers[rank] = False, "died"
                if not answers[rank][0]:
                    end_s = min(end_s, time.monotonic() + GRACE_S)
        return dict(sorted(answers.items()))

    def _where(self, ranks: Iterable[int]) -> str:
        """Return the lines of code at which these ranks are."""
        for rank in ranks:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._processes[rank], signal.SIGUSR1)
        stacks, end_s = [self._place / str(rank) for rank in ranks], time.monotonic() + GRACE_S
        while time.monotonic() < end_s and not all(stack.stat().st_size for stack in stacks):
            time.sleep(0.05)
        time.sleep(0.2)  # until each is whole
        return "\n".join(f"rank {stack.name}: {stack.read_text()}" for stack in stacks)

    def _said(self) -> str:
        """Return what the ranks and mpirun said since the call."""
        words = (self._place / "said").read_bytes()[self._begun :].decode(errors="replace").strip()
        return f"\n{words}" if words else ""

    def end(self, is_good: bool = True) -> None:
        """Let the ranks end, or kill them."""
        for connection in self._connections:
            connection.close()
        if not is_good:
            for process in self._processes:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
            self._mpirun.terminate()
        try:
            self._mpirun.wait(END_S)
        except subprocess.TimeoutExpired:
            self._mpirun.kill()
            self._mpirun.wait()
        for process in self._processes:
            wait([process], END_S)
            os.close(process)
        for segment in self._segments:  # ranks that are killed leave them behind, with MPICH
            segment.unlink(missing_ok=True)
        self._connections, self._processes = [], []
        self._folder.cleanup()


def segments_of(pid: int) -> set[Path]:
    """Return the files of shared memory that a rank has."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {Path(line.split()[5]) for line in lines if "/dev/shm/" in line}


def serve(place: Path) -> None:
    """Run what is asked for, until nobody asks any more."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    with open(place / str(world.rank), "w") as stacks, Client(str(place / "door")) as connection:
        faulthandler.register(signal.SIGUSR1, stacks)
        connection.send((world.rank, os.getpid()))
        while True:
            try:
                task = connection.recv_bytes()
            except EOFError:
                return
            connection.send(_answer(world, task))


def _answer(world, task: bytes) -> tuple[bool, object]:
    """Return whether the function returned, and what, or its traceback."""
    try:
        ranks, function, words, options = pickle.loads(task)
        group = world.group.Range_incl([(0, ranks - 1, 1)])
        comm = world.Create_group(group)
        result = resolve_name(function)(comm, *words, **options)
        comm.Free()
        group.Free()
    except BaseException:
        return False, traceback.format_exc()
    return True, result


if __name__ == "__main__":
    serve(Path(sys.argv[1]))

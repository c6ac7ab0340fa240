"""Finds the processes of one command by a variable that they inherit, strikes them, and ends those that are left.

They are seen in every namespace of this machine: on virtual hosts, and in the jobs of a private Slurm.
"""

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from allreduce_bench.watching.lifeline import LAB_VARIABLE

MARK = "ALLREDUCE_BENCH_KILL"  # the variable by which the processes of one run are found
LAUNCHERS = ("mpirun", "prterun", "mpiexec", "mpiexec.hydra")
DAEMONS = ("prted", "hydra_pmi_proxy")
SHARED_MEMORY = "/dev/shm/"


class Way(NamedTuple):
    """A way to strike."""

    victim: str  # starter, group: that of the starter's processes, as a terminal strikes; or as in `victims`
    number: signal.Signals

    @property
    def name(self) -> str:
        """`rank-kill`."""
        return f"{self.victim}-{self.number.name.removeprefix('SIG').lower()}"


def processes(mark: str) -> dict[int, dict[str, str]]:
    """Process id -> environment of all that were started with `mark`, zombies left out.

    Those that were started from one virtual host on another do not inherit it: they are in the same room.
    """
    environs = {int(path.parent.name): _environ(path) for path in Path("/proc").glob("[0-9]*/environ")}
    marked = {pid for pid, environ in environs.items() if environ.get(MARK) == mark}
    rooms = {_room(pid) for pid in marked} - {_room(os.getpid()), ""}
    return {
        pid: environ
        for pid, environ in environs.items()
        if pid in marked or (LAB_VARIABLE in environ and _room(pid) in rooms)
    }


def _environ(path: Path) -> dict[str, str]:
    """The variables of a process; none where it has ended, or is somebody else's."""
    try:
        words = path.read_bytes().split(b"\0")
    except OSError:
        return {}
    pairs = (word.decode(errors="replace").partition("=") for word in words)
    return {name: value for name, _, value in pairs}


def _room(pid: int) -> str:
    """The name space of its process numbers; empty where it is gone."""
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/pid")
    return ""


def words_of(pid: int) -> list[str]:
    """Its command line; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def parent(pid: int) -> int:
    """The process that started it, or 0 where it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def rank_of(environ: dict[str, str]) -> int:
    """The rank that a process is, by what its launcher told it; -1: none."""
    return int(environ.get("OMPI_COMM_WORLD_RANK") or environ.get("PMI_RANK") or -1)


def victims(victim: str, mark: str, rank: int) -> list[int]:
    """The marked processes that are the rank, mpirun, or the daemon that started the rank on its node, newest last.

    room: what holds virtual hosts. inner: what started mpirun, on a virtual host or in a job. submit, collect: the
    command of this name.
    """
    there = dict(sorted(processes(mark).items()))
    if victim == "rank":
        return [pid for pid, environ in there.items() if rank_of(environ) == rank]
    if victim == "daemon":
        above = [parent(pid) for pid, environ in there.items() if rank_of(environ) == rank]
        return [pid for pid in above if _name(pid) in (*DAEMONS, *LAUNCHERS)]
    if victim == "room":
        return [pid for pid in there if _name(pid) == "unshare"]
    if victim in ("submit", "collect"):
        return [pid for pid in there if _name(pid).startswith("python") and victim in words_of(pid)]
    launchers = [pid for pid in there if _name(pid) in LAUNCHERS and _name(parent(pid)) not in LAUNCHERS]
    return launchers if victim == "mpirun" else list(map(parent, launchers))


def _name(pid: int) -> str:
    return Path((words_of(pid) or [""])[0]).name


def strike(pid: int, number: int) -> bool:
    """Send a signal to a process, or to a group by its negative number; whether it was there."""
    try:
        os.killpg(-pid, number) if pid < 0 else os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def left_behind(mark: str, patience_s: float) -> int:
    """How many are still there after so long; they are ended then."""
    deadline = time.monotonic() + patience_s
    while (left := processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(left)


def shared_memory(pids: Collection[int]) -> set[str]:
    """The files in the machine's shared memory that these processes have mapped, those of virtual hosts left out."""
    found: set[str] = set()
    for pid in pids:
        with suppress(OSError):
            if os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt"):
                lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
                found |= {line.split(maxsplit=5)[5] for line in lines if SHARED_MEMORY in line}
    return found

"""What launchers that were killed leave behind, in the folder for temporary files and in shared memory.

Each launcher that this suite starts is noted by an empty file, named by a mark of its process, until it has ended. The
next start removes what those that have ended left: folders and files whose names hold the number of the launcher.
"""

import os
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

from ..machine import kernel
from ..watching.lifeline import LAB_VARIABLE

NOTE = "allreduce-bench-launcher-"
SHARED_MEMORY = Path("/dev/shm")


def mark_process(pid: int) -> str | None:
    """Return a name that no other process has: host, namespace, number, begin; None: it has ended."""
    state, *facts = ((kernel.read(f"proc/{pid}/stat") or "").rpartition(")")[2] or "Z").split()
    return f"{_here()}-{pid}-{facts[18]}" if state != "Z" else None


def has_ended(mark: str) -> bool:
    """Return whether the process of a mark has ended; False where another host or namespace knows."""
    here, pid, _ = mark.rsplit("-", 2)
    return here == _here() and pid.isdigit() and mark_process(int(pid)) != mark


def note_launcher(pid: int) -> None:
    """Note a launcher, so that a later start removes what it leaves behind if it is killed."""
    mark = mark_process(pid)
    if mark and LAB_VARIABLE not in os.environ:  # hosts of a lab go, and with them who knows
        with suppress(OSError):
            Path(tempfile.gettempdir(), f"{NOTE}{mark}").touch(0o600, exist_ok=False)


def remove_leftovers() -> None:
    """Remove what noted launchers that have ended left behind."""
    for note in Path(tempfile.gettempdir()).glob(f"{NOTE}*"):
        mark = note.name.removeprefix(NOTE)
        with suppress(OSError, ValueError):
            if note.lstat().st_uid == os.getuid() and has_ended(mark):
                _remove_of(int(mark.split("-")[-2]))
                note.unlink()


def remove_ended(folder: Path, prefix: str) -> None:
    """Remove the folders in `folder` named by a prefix and the mark of a process that has ended."""
    for path in folder.glob(f"{prefix}*"):
        with suppress(OSError, ValueError):
            if path.lstat().st_uid == os.getuid() and has_ended(path.name.removeprefix(prefix).rpartition("-")[0]):
                shutil.rmtree(path, ignore_errors=True)


def _remove_of(pid: int) -> None:
    """Remove what an mpirun of Open MPI of this number left, unless another process has the number by now."""
    if mark_process(pid) is not None:
        return
    session = Path(tempfile.gettempdir(), f"ompi.{pid}")
    segments = SHARED_MEMORY.glob(f"sm_segment.{socket.gethostname()}.{os.getuid()}.{_job_of(pid):x}.*")
    for path in (session, *segments):
        with suppress(OSError):
            if path.lstat().st_uid == os.getuid():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _job_of(pid: int) -> int:
    """Return the number by which Open MPI names the first job of an mpirun: a hash of its name, by Bob Jenkins."""
    value = 0
    for letter in f"prterun-{socket.gethostname()}-{pid}".encode():
        value = (value + letter) * 1025 & 0xFFFFFFFF
        value ^= value >> 6
    value = value * 9 & 0xFFFFFFFF
    value = (value ^ value >> 11) * 32769 & 0xFFFFFFFF
    return (value >> 16 ^ value & 0xFFFF) << 16 | 1


def _here() -> str:
    """Return the host and the namespace in which numbers of processes are known."""
    with suppress(OSError):
        return f"{socket.gethostname()}-{os.readlink('/proc/self/ns/pid')[5:-1]}"
    return f"{socket.gethostname()}-0"

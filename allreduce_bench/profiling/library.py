"""The library that counts all-reduces in C: built by the mpicc of the MPI in use, once, into a cache."""

import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from ..launching.launcher import Launcher
from ..message import Refused
from ..runs.files import unique_name

SOURCE = Path(__file__).with_name("count_allreduces.c")
FLAGS = (
    *("-O2", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec", "-pthread"),
    "-Wl,--as-needed",  # not linked to MPI: see the source
)
BUILD_S = 60  # most seconds


class NoLibrary(Refused, RuntimeError):
    """The library cannot be built or loaded here, in words."""


def counting_library(launcher: Launcher, otherwise: Path) -> Path:
    """Return the library for this MPI, from the cache, or built into it; `otherwise`: a folder, if that is read-only.

    Raises NoLibrary.
    """
    if not sys.platform.startswith("linux"):
        raise NoLibrary("profiling.only_linux")
    mpicc = _mpicc(launcher)
    source = SOURCE.read_bytes()
    words = [mpicc, *FLAGS, f"-DEXPECTED_OPEN_MPI={int(launcher.library.startswith('Open MPI'))}"]
    digest = sha256(b"\0".join([source, launcher.library.encode(), *map(os.fsencode, words)])).hexdigest()
    folder = _writable(_cache()) or otherwise
    path = folder / f"count_allreduces-{digest[:16]}.so"
    if re.search(r"[\s:]", str(path)):
        raise NoLibrary("profiling.blank_in_path", path=path)
    if not path.exists():
        _build(words, path)
    return path


def _mpicc(launcher: Launcher) -> str:
    """Return the compiler of this MPI: beside its launcher, beside this interpreter, or in PATH."""
    folders = [os.path.dirname(launcher.program), os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]
    found = shutil.which("mpicc", path=os.pathsep.join(folders))
    if not found:
        raise NoLibrary("profiling.no_mpicc")
    return found


def _cache() -> Path | None:
    """Return the folder of this program among the user's caches; None: the user has no home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "allreduce-bench"
    except RuntimeError:
        return None


def _writable(folder: Path | None) -> Path | None:
    """Return the folder, created if need be; None if nothing can be written there."""
    try:
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder.absolute() if folder is not None and os.access(folder, os.W_OK) else None


def _build(words: list[str], path: Path) -> None:
    """Compile into `path`, which is whole or absent; several commands may do so at once. Raises NoLibrary."""
    temporary = path.with_name(f"{path.name}.{unique_name()}.tmp")
    try:
        built = subprocess.run(
            [*words, "-o", str(temporary), str(SOURCE), "-ldl"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_S,
            check=False,
        )
        if built.returncode:
            lines = [line.strip() for line in built.stderr.splitlines() if re.search(r"\w", line)]
            lines = [line for line in lines if "error" in line] or lines
            why = lines[0] if lines else f"exit status {built.returncode}"
            raise NoLibrary("profiling.mpicc_failed", mpicc=words[0], why=why)
        temporary.replace(path)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoLibrary("profiling.mpicc_failed", mpicc=words[0], why=error) from error
    finally:
        temporary.unlink(missing_ok=True)

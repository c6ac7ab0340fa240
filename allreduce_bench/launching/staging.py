"""`run --stage DIR`: the Python environment, unpacked once per node, so that ranks start without a shared file system.

With thousands of ranks the start of Python is a storm of file-system calls (see `measuring.startup`). With --stage this
environment is packed into one archive in `.staged` beside the run folder, where later jobs find it. Each node of the
Slurm job, or this node outside a job, unpacks it into DIR/allreduce-bench-UID-JOB-RANDOM, which only its user may
enter. Nodes that share DIR unpack it once. The ranks are started with the interpreter there, and read their libraries,
including an MPI from PyPI, from there, too.

The archive holds everything below sys.prefix, of a virtual environment or one of conda, and this package, wherever it
is imported from: the folder of an editable install becomes part of site-packages, and the lines of .pth files that led
there are left out. The base interpreter of a virtual environment stays a link, as on disk.

A shell on each node, reading from this process, holds the folder. When its input ends, for whatever reason, the shell
removes the folder. If Slurm kills the shell, too, the next staging below DIR on that node removes the folder, because
nobody holds its lock any more.

Not staged: mpirun and its daemons; the base interpreter of a virtual environment with its standard library (of conda
everything is staged); what modules of the site added to PYTHONPATH; a user's own algorithm files; and the run folder,
which only rank 0 touches. Nothing is fetched from a network.
"""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from ..message import Refused, say
from ..runs.start import Start
from ..units import format_size
from ..watching.lifeline import STAGE_VARIABLE
from .find import other_hosts
from .layout import SCHEDULERS

# Archive
PACKAGE = Path(__file__).parents[1]
INSTALLATION_RECORDS = ("*.dist-info", "*.egg-info", "*.pth")  # in site-packages: what is installed, and since when
VERSION = "1"  # of the archive's contents; archives of another version are not reused
STORE = ".staged"  # beside the run folder; hidden, since it is no run


# Nodes
PATIENCE_S = 900.0  # seconds, for the slowest node
REMOVING_S = 60.0  # seconds, for the folder's removal
# A colon separates the folders in a variable, and env takes a word with = for a variable:
FORBIDDEN = re.compile(r"[\x00-\x1f\x7f:=]")
# Shell that holds the folder on a node; arguments: DIR, folder's name, bytes, interpreter, path of the archive
HOLD = r"""
umask 077
parent=$1 folder=$1/$2 nbytes=$3 need=$(($3 / 1024 + 1)) python=$1/$2/$4 archive=$5
node=$(uname -n)
fail() { printf 'failed %s: %s\n' "$node" "$(printf '%s' "$1" | head -n 1)"; exit 1; }
ours() { [ "$(stat -c '%u %F' -- "$1" 2> /dev/null)" = "$(id -u) directory" ]; }
trap '' USR1 USR2
[ -d "$parent" ] || fail "no such folder: $parent"
case $(stat -L -c %A -- "$parent") in
d???????w[!tT]*) fail "$parent is world-writable without a sticky bit, which is unsafe; use another folder" ;;
esac
for old in "$parent/allreduce-bench-$(id -u)"-*; do
    ours "$old" && [ "$(cat "$old/.held" 2> /dev/null)" = "$node" ] && flock -n "$old/.held" rm -rf -- "$old"
done
if why=$(mkdir -- "$folder" 2>&1); then
    trap 'rm -rf -- "$folder"' EXIT
    trap 'exit 1' HUP INT TERM
    exec 9> "$folder/.new" && printf '%s' "$node" >&9 && flock 9 && mv "$folder/.new" "$folder/.held"
    room=$(df -Pk -- "$folder" | awk 'END {print $(NF - 2)}')
    [ "${room:-$need}" -ge "$need" ] ||
        fail "not enough space in $parent: needs $((need / 1024)) MiB, found $((room / 1024)) MiB"
    found=$(stat -L -c %s -- "$archive" 2>&1) || fail "$found"
    [ "$found" = "$nbytes" ] || fail "$archive is incomplete: $found of $nbytes bytes; remove it"
    why=$(tar -xof - -C "$folder" 2>&1 < "$archive") || fail "$why (unpacking needs $((need / 1024)) MiB in $parent)"
    printf '#!/bin/sh\n' > "$folder/.try" && chmod u+x "$folder/.try"
    "$folder/.try" 2> /dev/null || fail "programs cannot be executed in $parent (mounted noexec?); use another folder"
    [ -x "$python" ] || fail "the interpreter of the environment is missing on this node: $(readlink -- "$python")"
    : > "$folder/.whole" || fail "not enough space in $parent"
else
    ours "$folder" || fail "$why"
    until [ -e "$folder/.whole" ]; do
        [ -d "$folder" ] || fail "unpacking into $parent, which is shared with another node, failed on that node"
        sleep 0.1
    done
fi
printf 'ready %s\n' "$node"
cat > /dev/null
"""


class PackError(Refused, RuntimeError):
    """Error: the environment cannot be packed."""


class StageError(Refused, RuntimeError):
    """Error: nodes cannot be staged; nothing is left on them."""


class Archive(NamedTuple):
    """Complete archive, and the seconds that packing it took; None: reused."""

    path: Path
    nbytes: int
    pack_s: float | None


class PackedEnvironment(NamedTuple):
    """Folder of the environment, and the places inside it of what starts a rank."""

    prefix: Path
    python: Path
    package: Path  # where this package is packed

    @property
    def digest(self) -> str:
        """Return a hash of the installed packages, the interpreter, and every file of this package."""
        site = self.prefix / self.package.parent
        records = [path for pattern in INSTALLATION_RECORDS for path in site.glob(pattern)]
        records += (self.prefix / "conda-meta").glob("*.json")
        sources = [path for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts and path.is_file()]
        parts = [VERSION, str(self.prefix), sys.version]
        for path in sorted(records + sources):
            status = path.stat()
            parts.append(f"{path} {status.st_mtime_ns} {status.st_size if path.is_file() else ''}")
        return sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def stage(parent: str, run: Path, start: Start) -> "Stage | None":
    """Unpack this environment below the folder `parent` for the ranks of run folder `run`; None if `parent` is empty.

    Raises StageError before anything is started on a node, or with nothing left there.
    """
    if not parent:
        return None
    if FORBIDDEN.search(parent):
        raise StageError("launching.stage_name_not_contain", parent=parent)
    job = os.environ.get("SLURM_JOB_ID")
    if not job:
        _refuse_other_nodes(start)
    elif not shutil.which("srun"):
        raise StageError("launching.stage_needs_srun_reach")
    try:
        packed = environment()
        archive = archive_of(packed, run.absolute().parent / STORE)
    except PackError as error:
        raise StageError("launching.stage", error=error) from error
    return Stage(Path(parent).absolute(), archive, packed)


def _refuse_other_nodes(start: Start) -> None:
    """Raise StageError if ranks would start on other nodes: only in a Slurm job can those be staged."""
    scheduler = next((name for name in SCHEDULERS.values() if os.environ.get(name)), None)
    if scheduler or other_hosts(start):
        evidence = f"{scheduler} is set" if scheduler else f"--hosts names {other_hosts(start)[0]}"
        raise StageError("launching.stage_works_node_slurm", evidence=evidence)


def environment() -> PackedEnvironment:
    """Return this interpreter's environment. Raises PackError if it is the system's, or partly outside its prefix."""
    prefix = Path(sys.prefix)
    if sys.prefix == sys.base_prefix and not (prefix / "conda-meta").is_dir():
        raise PackError("launching.system_python_expected_virtual", prefix=prefix)
    try:
        python = Path(sys.executable).relative_to(prefix)
        package = Path(sysconfig.get_path("purelib")).relative_to(prefix) / PACKAGE.name
    except ValueError as error:
        raise PackError("launching.interpreter_packages_outside_environment", prefix=prefix, error=error) from error
    return PackedEnvironment(prefix, python, package)


def archive_of(packed: PackedEnvironment, folder: Path) -> Archive:
    """Return the archive of the environment in `folder`, packed now unless it exists.

    Safe for concurrent processes: each writes a file of its own and renames it when complete. The name contains a
    digest of the contents and the size, so that a damaged archive is not used. Raises PackError.
    """
    stem = f"environment-{packed.digest}"
    path = _trusted_archive(folder, stem)
    if path:
        return Archive(path, path.stat().st_size, None)
    temporary = folder / f"{stem}.{os.uname().nodename}.{os.getpid()}.tmp"
    began = time.perf_counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _pack(packed, temporary)
            nbytes = temporary.stat().st_size
            path = _trusted_archive(folder, stem) or temporary.replace(folder / f"{stem}-{nbytes}.tar")
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise PackError(
            "launching.cannot_pack_into", prefix=packed.prefix, folder=folder, strerror=error.strerror, where=where
        ) from error
    return Archive(path, path.stat().st_size, round(time.perf_counter() - began, 3))


def _trusted_archive(folder: Path, stem: str) -> Path | None:
    """Return the archive of that name and of the size in its name that only this user could have written, or None."""
    for path in sorted(folder.glob(f"{stem}-*.tar")):
        with suppress(FileNotFoundError):
            status = path.lstat()
            is_own = status.st_uid == os.geteuid() and not status.st_mode & 0o022
            if is_own and not path.is_symlink() and path.name == f"{stem}-{status.st_size}.tar":
                return path
    return None


def _pack(packed: PackedEnvironment, path: Path) -> None:
    """Write the archive in GNU format: it keeps whole seconds, like the source times in compiled files."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for source, name in _files(packed):
                with suppress(FileNotFoundError):  # the environment may change meanwhile, e.g. by compiling
                    _add(archive, source, name)
        file.flush()
        os.fsync(file.fileno())


def _files(packed: PackedEnvironment) -> Iterator[tuple[Path, Path]]:
    """Yield every file, link and folder, and its name in the archive; this package replaces an installed copy."""
    site = packed.package.parent
    for root, folders, names in os.walk(packed.prefix):
        inside = Path(root).relative_to(packed.prefix)
        if inside == site:
            folders[:] = [name for name in folders if name != PACKAGE.name]
        for name in (*folders, *names):
            yield Path(root) / name, inside / name
    yield PACKAGE, packed.package
    for root, folders, names in os.walk(PACKAGE):
        for name in (*folders, *names):
            yield Path(root) / name, packed.package / Path(root).relative_to(PACKAGE) / name


def _add(archive: tarfile.TarFile, source: Path, name: Path) -> None:
    """Add one file, link or folder to the archive."""
    if name.suffix != ".pth" or not source.is_file():
        archive.add(source, name, recursive=False)
        return
    lines = _without_this_package(source.read_text(encoding="utf-8", errors="surrogateescape"))
    content = lines.encode("utf-8", "surrogateescape")
    member = archive.gettarinfo(source, str(name))
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _without_this_package(pth: str) -> str:
    """Return a .pth file without the lines that lead to an editable install of this package."""
    checkout = str(PACKAGE.parent)
    lines = pth.splitlines(keepends=True)
    return "".join(line for line in lines if PACKAGE.name not in line and line.strip() != checkout)


class Stage:
    """Environment on every node, until it is closed or this process ends."""

    def __init__(self, parent: Path, archive: Archive, packed: PackedEnvironment):
        """Unpack the archive below `parent`, an absolute path, on every node of the job. Raises StageError."""
        job = os.environ.get("SLURM_JOB_ID")
        parts = ["allreduce-bench", os.geteuid(), job or os.getpid(), token_hex(4)]  # an unguessable name
        self.folder = parent / "-".join(map(str, parts))
        self.packed = packed
        nodes = int(os.environ.get("SLURM_JOB_NUM_NODES", "1")) if job else 1
        arguments = map(str, (parent, self.folder.name, archive.nbytes, packed.python, archive.path.absolute()))
        command = [*(_on_every_node(nodes) if job else []), "sh", "-c", HOLD, "stage", *arguments]
        began = time.perf_counter()
        self._holder = subprocess.Popen(  # own session: the terminal's signals do not reach it
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            self._wait(nodes)
        except BaseException:
            self.close()
            raise
        unpack_s = time.perf_counter() - began
        self.facts: dict[str, Any] = {"folder": str(self.folder), "archive_nbytes": archive.nbytes}
        self.facts |= {"pack_s": archive.pack_s, "unpack_s": round(unpack_s, 3)}

    @property
    def words(self) -> str:
        """Return `staged in /tmp/allreduce-bench-0-12-…: 545 MiB, packed in 6.1 s, unpacked in 5.4 s`."""
        packing = "reused archive" if self.facts["pack_s"] is None else f"packed in {self.facts['pack_s']:.1f} s"
        size = format_size(self.facts["archive_nbytes"])
        return say(
            "launching.staged_unpacked", folder=self.folder, size=size, packing=packing, unpack_s=self.facts["unpack_s"]
        )

    @property
    def program(self) -> list[str]:
        """Return the words that start a rank with the staged interpreter."""
        settings = [f"{name}={value}" for name, value in self._variables(os.environ).items()]
        program = [str(self.folder / self.packed.python), str(self.folder / self.packed.package / "__main__.py")]
        return ["env", *settings, *program]

    def close(self) -> None:
        """Remove the folder on every node."""
        with suppress(OSError):
            self._holder.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        try:
            self._holder.wait(REMOVING_S)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._holder.wait()

    def _variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of a staged rank.

        They pass the facts of the staging to rank 0, hide this package elsewhere, and point an Open MPI from PyPI,
        whose mpirun sets its own folder, to the staged copy.
        """
        variables = {STAGE_VARIABLE: json.dumps(self.facts)}
        paths = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        others = [path for path in paths if not (Path(path) / PACKAGE.name).is_dir()]
        if others != paths:
            variables["PYTHONPATH"] = os.pathsep.join(others)
        if any((self.packed.prefix / "lib").glob("libopen-pal.*")):
            variables |= {"OPAL_PREFIX": str(self.folder), "PMIX_PREFIX": str(self.folder)}
            library_folders = [str(self.folder / "lib"), environ.get("LD_LIBRARY_PATH")]
            variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, library_folders))
        return variables

    def _wait(self, nodes: int) -> None:
        """Wait until all nodes are ready. Raises StageError with the first failure, or with how many became ready."""
        ready, last_line = 0, ""
        timer = threading.Timer(PATIENCE_S, self._signal, [signal.SIGTERM])
        timer.start()
        try:
            for line in self._holder.stdout or ():
                kind, _, message = line.strip().partition(" ")
                if kind == "failed":
                    raise StageError("launching.stage", error=message)
                ready += kind == "ready"
                last_line = last_line if kind == "ready" else line.strip() or last_line
                if ready == nodes:
                    return
        finally:
            timer.cancel()
        raise StageError(
            "launching.stage_nodes_became_ready",
            ready=ready,
            nodes=nodes,
            last_line=f"; {last_line}" if last_line else "",
        )

    def _signal(self, number: int) -> None:
        with suppress(OSError):
            os.killpg(self._holder.pid, number)


def _on_every_node(nodes: int) -> list[str]:
    """Return the words that start one process on each node of the job, beside other job steps."""
    usage = subprocess.run(["srun", "--help"], capture_output=True, text=True, check=False)
    overlap = ["--overlap"] if "--overlap" in usage.stdout + usage.stderr else []  # before 20.11 steps share by default
    return ["srun", *overlap, f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--mpi=none"]
